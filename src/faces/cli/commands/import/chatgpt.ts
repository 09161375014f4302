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
  const said: Node = {
    ...bare,
    role: role === 'user' ? 'user' : 'assistant',
    at: millisecondsOf(message.create_time),
    model: textOr(metadata.model_slug, null),
  }
  const hidden = message.weight === 0 || metadata.is_visually_hidden_from_conversation === true
  if (hidden || role === 'system') return bare
  const files = exported.filesOf([...pointersIn(message.content), ...attachedTo(metadata)])
  if (role !== 'user' && role !== 'assistant') {
    // Pictures that a tool has made were shown as a part of the answer.
    if (files.length > 0) return { ...said, files }
    exported.leave('answers of tools')
    return bare
  }
  // What is not addressed to all is addressed to a tool.
  const recipient = textOr(message.recipient, 'all')
  if (recipient !== 'all') {
    exported.leave('calls of tools')
    return bare
  }
  return { ...said, text: wordsOf(message.content, exported), files }
}

const POINTER = /^(?:file-service|sediment):\/\/([\w-]+)/

/** The ids of pictures and sound among its parts, nested ones (video with its sound) included. */
function* pointersIn(content: unknown): Generator<string> {
  const parts = isObject(content) && Array.isArray(content.parts) ? content.parts : []
  for (const part of parts) {
    if (!isObject(part)) continue
    for (const one of [
      part,
      part.audio_asset_pointer,
      ...(Array.isArray(part.frames_asset_pointers) ? part.frames_asset_pointers : []),
    ]) {
      const id = POINTER.exec(textOr(isObject(one) ? one.asset_pointer : one, ''))?.[1]
      if (id !== undefined) yield id
    }
  }
}

function* attachedTo({ attachments }: Record<string, unknown>): Generator<string> {
  for (const one of Array.isArray(attachments) ? attachments : [])
    if (isObject(one) && typeof one.id === 'string') yield one.id
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
    else if ([...pointersIn({ parts: [part] })].length === 0) exported.leave('parts of other kinds')
  }
  return words.filter((word) => word !== '').join('\n\n')
}
