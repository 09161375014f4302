import { type Exported, type Node, conversationOf, isObject, millisecondsOf, textOr } from './conversation.ts'

/**
 * What Open WebUI exports: a list of `{id, title, chat: {history: {messages, currentId}}, created_at}`, or the same rows of the table
 * `chat` of its `webui.db`. A message is `{id, parentId, role, content, timestamp, model}`.
 */
export function readOpenWebUi(chats: readonly unknown[], exported: Exported): void {
  for (const row of chats) {
    // An export of one chat may be the chat itself.
    const chat = isObject(row) && isObject(row.chat) ? row.chat : row
    const history = isObject(chat) && isObject(chat.history) ? chat.history : null
    if (!isObject(row) || !isObject(chat) || history === null || !isObject(history.messages)) {
      exported.leave('entries that are not chats')
      continue
    }
    const id = textOr(row.id, '') || textOr(chat.id, '')
    if (id === '') {
      exported.leave('chats without an id')
      continue
    }
    const nodes = Object.entries(history.messages).flatMap(([key, message]): Node[] =>
      isObject(message) ? [nodeOf(key, message, exported)] : [],
    )
    const about = {
      external_id: id,
      title: textOr(row.title, '') || textOr(chat.title, ''),
      at: millisecondsOf(row.created_at) ?? millisecondsOf(chat.timestamp),
      head: textOr(history.currentId, null),
    }
    conversationOf(about, nodes, exported)
  }
}

function nodeOf(id: string, message: Record<string, unknown>, exported: Exported): Node {
  const { role, content, parentId, timestamp, files } = message
  const known = role === 'user' || role === 'assistant' || role === 'system' ? role : null
  if (known === null) exported.leave('answers of tools')
  exported.leave('pictures, sound and files', Array.isArray(files) ? files.length : 0)
  return {
    id,
    parent: textOr(parentId, null),
    role: known ?? 'assistant',
    text: known === null ? '' : wordsOf(content, exported),
    at: millisecondsOf(timestamp),
    model: role === 'assistant' ? textOr(message.model, null) : null,
  }
}

const DETAILS = '<details type="'
const END = '</details>'

/** Text, or parts; thoughts and calls of tools stand within it as blocks of `<details type="…">`. */
function wordsOf(content: unknown, exported: Exported): string {
  if (Array.isArray(content))
    return content
      .map((part) => {
        if (isObject(part) && part.type === 'text') return textOr(part.text, '')
        exported.leave('pictures, sound and files')
        return ''
      })
      .join('')
  let rest = textOr(content, '')
  let words = ''
  for (let at = rest.indexOf(DETAILS); at >= 0; at = rest.indexOf(DETAILS)) {
    const end = rest.indexOf(END, at)
    if (end < 0) break
    exported.leave(rest.startsWith(`${DETAILS}reasoning`, at) ? 'thoughts of models' : 'calls of tools')
    words += rest.slice(0, at)
    rest = rest.slice(end + END.length)
  }
  return (words + rest).trim()
}
