import { type Exported, isObject } from './conversation.ts'

/** Supported apps, with the shape of a chat in their exports. */
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
const chatsOf = (source: Source): string => `${called[source]} chats (import them with \`uk import ${source}\`)`
const NO_CHATS = "entries that aren't chats"

/** Counts an entry that isn't a chat of `expected`, by the app it comes from. */
export function leaveChatsOfOthers(entry: unknown, expected: Source, exported: Exported): void {
  const other = isObject(entry) ? sources.find((source) => source !== expected && shapes[source](entry)) : undefined
  exported.leave(other === undefined ? NO_CHATS : chatsOf(other))
}

/** The app an export without expected chats comes from; null if unknown. */
export const otherSource = ({ left }: Exported): Source | null =>
  sources.find((source) => left.has(chatsOf(source))) ?? null

export const isNoExport = ({ conversations, left }: Exported): boolean =>
  conversations.length === 0 && left.size > 0 && [...left.keys()].every((what) => what === NO_CHATS)
