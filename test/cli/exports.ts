/** Exports of other programs as small as a test needs them, and what a reader makes of them. */
import { Exported } from '#interfaces/cli/commands/import/formats/conversation.ts'

export type Json = Record<string, unknown>

/** One chat of ChatGPT, each message the answer to the one before. */
export function chatgptChat(messages: readonly Json[]): { mapping: Json }[] {
  const mapping: Json = { root: { id: 'root', parent: null, message: null } }
  for (const [i, message] of messages.entries())
    mapping[`m${i}`] = {
      id: `m${i}`,
      parent: i === 0 ? 'root' : `m${i - 1}`,
      message: { author: { role: 'assistant' }, create_time: 1, metadata: {}, ...message },
    }
  const chat = { conversation_id: 'c', title: 'T', current_node: `m${messages.length - 1}`, mapping }
  return [chat]
}

export const said = (text: string, metadata: Json = {}): Json => ({
  content: { content_type: 'text', parts: [text] },
  metadata,
})

export const claudeChat = (messages: readonly Json[]): unknown[] => [
  {
    uuid: 'c',
    name: 'T',
    chat_messages: messages.map((message, i) => ({ uuid: `m${i}`, sender: 'assistant', ...message })),
  },
]

/** The messages of all chats, and the report of what is left out. */
export function readExport(
  reader: (chats: readonly unknown[], exported: Exported) => void,
  chats: readonly unknown[],
): { texts: string[]; left: Record<string, number> } {
  const exported = new Exported()
  reader(chats, exported)
  const texts = exported.conversations.flatMap((chat) => chat.messages.map(({ text }) => text))
  return { texts, left: Object.fromEntries(exported.left) }
}
