import { type Exported, isObject } from './conversation.ts'

/** The programs whose exports are read, with the shape of a chat in each. */
const shapes = {
  chatgpt: (chat) => isObject(chat.mapping),
  claude: (chat) => Array.isArray(chat.chat_messages),
  'open-webui': (chat) => isObject(chat.history) || (isObject(chat.chat) && isObject(chat.chat.history)),
} satisfies Record<string, (chat: Record<string, unknown>) => boolean>
export type Source = keyof typeof shapes

export const called: Readonly<Record<Source, string>> = {
  chatgpt: 'ChatGPT',
  claude: 'Claude',
  'open-webui': 'Open WebUI',
}

const sources = Object.keys(shapes) as Source[]
const chatsOf = (source: Source): string => `chats of ${called[source]}, for \`uk import ${source}\``
const NO_CHATS = 'entries that are not chats'

/** Counts an entry that is no chat of `expected`, under the program that it comes from. */
export function leaveChatsOfOthers(entry: unknown, expected: Source, exported: Exported): void {
  const other = isObject(entry) ? sources.find((source) => source !== expected && shapes[source](entry)) : undefined
  exported.leave(other === undefined ? NO_CHATS : chatsOf(other))
}

/** The program that an export without a chat of the expected one comes from; null: it isn't known. */
export const otherSource = ({ left }: Exported): Source | null =>
  sources.find((source) => left.has(chatsOf(source))) ?? null

/** Whether there was something, and none of it a chat. */
export const isNoExport = ({ conversations, left }: Exported): boolean =>
  conversations.length === 0 && left.size > 0 && [...left.keys()].every((what) => what === NO_CHATS)
