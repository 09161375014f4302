import { type Exported, type Node, conversationOf, isObject, millisecondsOf, textOr } from './conversation.ts'

/**
 * The data export of Claude: `conversations.json`, a list of chats with `chat_messages` in their order, each `{uuid, sender, content,
 * created_at, attachments, files}`; some have `parent_message_uuid`, which makes branches. Described by those who read it, not by its vendor.
 */
export function readClaude(chats: readonly unknown[], exported: Exported): void {
  for (const chat of chats) {
    if (!isObject(chat) || !Array.isArray(chat.chat_messages) || typeof chat.uuid !== 'string') {
      exported.leave('entries that are not chats')
      continue
    }
    const ids = new Set(chat.chat_messages.map((message) => (isObject(message) ? message.uuid : null)))
    let before: string | null = null
    const nodes: Node[] = []
    for (const message of chat.chat_messages) {
      if (!isObject(message) || typeof message.uuid !== 'string') continue
      const parent = textOr(message.parent_message_uuid, null)
      nodes.push({
        id: message.uuid,
        // The first of a chat has a parent of zeros, which is nobody.
        parent: parent === null ? before : ids.has(parent) ? parent : null,
        role: message.sender === 'human' ? 'user' : 'assistant',
        text: wordsOf(message, exported),
        at: millisecondsOf(message.created_at),
        model: message.sender === 'human' ? null : textOr(chat.model, null),
      })
      before = message.uuid
    }
    const about = {
      external_id: chat.uuid,
      title: textOr(chat.name, ''),
      at: millisecondsOf(chat.created_at),
      head: textOr(chat.current_leaf_message_uuid, null),
    }
    conversationOf(about, nodes, exported)
  }
}

function wordsOf(message: Record<string, unknown>, exported: Exported): string {
  const words: string[] = []
  for (const part of Array.isArray(message.content) ? message.content : []) {
    if (!isObject(part)) continue
    if (part.type === 'text') words.push(textOr(part.text, ''))
    else if (part.type === 'thinking') exported.leave('thoughts of models')
    else if (part.type === 'tool_use') exported.leave('calls of tools')
    else if (part.type === 'tool_result') exported.leave('answers of tools')
    else exported.leave('parts of other kinds')
  }
  if (!Array.isArray(message.content)) words.push(textOr(message.text, ''))
  // What was pasted or attached as text is a part of what was said.
  for (const attached of Array.isArray(message.attachments) ? message.attachments : []) {
    const text = isObject(attached) ? textOr(attached.extracted_content, '') : ''
    if (text === '') exported.leave('pictures, sound and files that are not in the export')
    else words.push(`${textOr((attached as Record<string, unknown>).file_name, '') || 'attachment'}:\n\n${text}`)
  }
  exported.leave(
    'pictures, sound and files that are not in the export',
    Array.isArray(message.files) ? message.files.length : 0,
  )
  return words.filter((word) => word.trim() !== '').join('\n\n')
}
