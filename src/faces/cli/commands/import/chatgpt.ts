import { type Exported, type Node, conversationOf, isObject, millisecondsOf, textOr } from './conversation.ts'

/**
 * The data export of ChatGPT: `conversations.json` (or `conversations-000.json`, …), a list of chats, each with a `mapping` of nodes
 * `{id, parent, children, message}` and the `current_node`. Described by those who read it, not by its vendor: what is not known here
 * is left out and counted.
 */
export function readChatGpt(chats: readonly unknown[], exported: Exported): void {
  for (const chat of chats) {
    if (!isObject(chat) || !isObject(chat.mapping)) {
      exported.leave('entries that are not chats')
      continue
    }
    const id = textOr(chat.conversation_id, null) ?? textOr(chat.id, null)
    if (id === null) {
      exported.leave('chats without an id')
      continue
    }
    const nodes = Object.entries(chat.mapping).flatMap(([key, node]): Node[] =>
      isObject(node) ? [nodeOf(key, node, exported)] : [],
    )
    const about = {
      external_id: id,
      title: textOr(chat.title, ''),
      at: millisecondsOf(chat.create_time),
      head: textOr(chat.current_node, null),
    }
    conversationOf(about, nodes, exported)
  }
}

function nodeOf(id: string, { parent, message }: Record<string, unknown>, exported: Exported): Node {
  const bare: Node = { id, parent: textOr(parent, null), role: 'assistant', text: '', at: null, model: null }
  if (!isObject(message)) return bare
  const role = isObject(message.author) ? textOr(message.author.role, null) : null
  const metadata = isObject(message.metadata) ? message.metadata : {}
  const hidden = message.weight === 0 || metadata.is_visually_hidden_from_conversation === true
  if (hidden || role === 'system') return bare
  if (role !== 'user' && role !== 'assistant') {
    exported.leave('answers of tools')
    return bare
  }
  const said: Node = {
    ...bare,
    role,
    at: millisecondsOf(message.create_time),
    model: textOr(metadata.model_slug, null),
  }
  // What is not addressed to all is addressed to a tool.
  const recipient = textOr(message.recipient, 'all')
  if (recipient !== 'all') {
    exported.leave('calls of tools')
    return bare
  }
  return { ...said, text: wordsOf(message.content, exported) }
}

function wordsOf(content: unknown, exported: Exported): string {
  if (!isObject(content)) return ''
  const { content_type: type, parts } = content
  if (type !== 'text' && type !== 'multimodal_text') {
    exported.leave(type === 'thoughts' || type === 'reasoning_recap' ? 'thoughts of models' : 'parts of other kinds')
    return ''
  }
  if (!Array.isArray(parts)) return ''
  const words: string[] = []
  for (const part of parts) {
    if (typeof part === 'string') words.push(part)
    else if (isObject(part) && part.content_type === 'audio_transcription') words.push(textOr(part.text, ''))
    else exported.leave('pictures, sound and files')
  }
  return words.filter((word) => word !== '').join('\n\n')
}
