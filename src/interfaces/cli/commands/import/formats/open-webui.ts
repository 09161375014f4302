import { type Exported, type Node, conversationOf, isObject, millisecondsOf, textOr } from './conversation.ts'
import { leaveChatsOfOthers } from './source.ts'

/**
 * Reads an Open WebUI export: a list of `{id, title, chat: {history: {messages, currentId}}, created_at}`, or the same
 * rows of the `chat` table in its `webui.db`. A message is `{id, parentId, role, content, timestamp, model}`.
 */
export function readOpenWebUi(chats: readonly unknown[], exported: Exported): void {
  for (const row of chats) {
    // A single-chat export may be the chat itself.
    const chat = isObject(row) && isObject(row.chat) ? row.chat : row
    const history = isObject(chat) && isObject(chat.history) ? chat.history : null
    if (!isObject(row) || !isObject(chat) || history === null || !isObject(history.messages)) {
      leaveChatsOfOthers(row, 'open-webui', exported)
      continue
    }
    const id = textOr(row.id, '') || textOr(chat.id, '')
    if (id === '') {
      exported.leave('chats without an ID')
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
  const messageRole = role === 'user' || role === 'assistant' || role === 'system' ? role : null
  if (messageRole === null) exported.leave('tool results')
  return {
    id,
    parent: textOr(parentId, null),
    role: messageRole ?? 'assistant',
    text: messageRole === null ? '' : wordsOf(content, exported),
    at: millisecondsOf(timestamp),
    model: role === 'assistant' ? textOr(message.model, null) : null,
    files: messageRole === null ? [] : exported.filesOf([...refsOf(files), ...picturesIn(content)]),
  }
}

/** File IDs, or whole images as `data:` URLs. Knowledge collections aren't files. */
function* refsOf(files: unknown): Generator<string> {
  for (const one of Array.isArray(files) ? files : []) {
    if (!isObject(one) || one.type === 'collection') continue
    const url = textOr(one.url, '')
    if (url.startsWith('data:')) yield url
    else yield textOr(one.id, '') || (isObject(one.file) ? textOr(one.file.id, '') : '') || idIn(url)
  }
}

/** Accepts `/api/v1/files/{id}/content` or a bare ID. */
const idIn = (url: string): string => /\/files\/([\w-]+)/.exec(url)?.[1] ?? url

function* picturesIn(content: unknown): Generator<string> {
  for (const part of Array.isArray(content) ? content : [])
    if (isObject(part) && isObject(part.image_url)) {
      const url = textOr(part.image_url.url, '')
      yield url.startsWith('data:') ? url : idIn(url)
    }
}

const DETAILS = '<details type="'
const END = '</details>'

/** Text, or parts. Thoughts and tool calls are embedded as `<details type="…">` blocks. */
function wordsOf(content: unknown, exported: Exported): string {
  if (Array.isArray(content))
    return content
      .map((part) => {
        if (isObject(part) && part.type === 'text') return textOr(part.text, '')
        if (!isObject(part) || part.image_url === undefined) exported.leaveType(isObject(part) ? part.type : null)
        return ''
      })
      .join('')
  let rest = textOr(content, '')
  let words = ''
  for (let at = rest.indexOf(DETAILS); at >= 0; at = rest.indexOf(DETAILS)) {
    const end = rest.indexOf(END, at)
    if (end < 0) break
    exported.leave(rest.startsWith(`${DETAILS}reasoning`, at) ? 'model thoughts' : 'tool calls')
    words += rest.slice(0, at)
    rest = rest.slice(end + END.length)
  }
  return (words + rest).trim()
}
