import { artifactCall, lostEdit, withOldArtifacts } from './claude-artifacts.ts'
import { type Exported, type Node, conversationOf, isObject, millisecondsOf, textOr } from './conversation.ts'
import { type Versions, linkTo, markdownOf } from './documents.ts'
import { leaveChatsOfOthers } from './source.ts'

/**
 * Reads Claude's data export: `conversations.json`, a list of chats with ordered `chat_messages` `{uuid, sender,
 * content, created_at, attachments, files}`; `parent_message_uuid` makes branches. Anthropic doesn't document it.
 */
export function readClaude(chats: readonly unknown[], exported: Exported): void {
  for (const chat of chats) {
    if (!isObject(chat) || !Array.isArray(chat.chat_messages)) {
      leaveChatsOfOthers(chat, 'claude', exported)
      continue
    }
    if (typeof chat.uuid !== 'string') {
      exported.leave('chats without an ID')
      continue
    }
    const about = {
      external_id: chat.uuid,
      title: textOr(chat.name, ''),
      at: millisecondsOf(chat.created_at),
      head: textOr(chat.current_leaf_message_uuid, null),
    }
    conversationOf(about, nodesOf(chat.chat_messages, textOr(chat.model, null), exported), exported)
  }
}

function nodesOf(messages: readonly unknown[], model: string | null, exported: Exported): Node[] {
  const ids = new Set(messages.map((message) => (isObject(message) ? message.uuid : null)))
  const versions = new Map<string, Versions | null>()
  let before: string | null = null
  const nodes: Node[] = []
  for (const message of messages) {
    if (!isObject(message) || typeof message.uuid !== 'string') {
      exported.leave('messages without an ID')
      continue
    }
    const parentId = textOr(message.parent_message_uuid, null)
    // The first message's parent is an all-zero ID.
    const parent: string | null = parentId === null ? before : ids.has(parentId) ? parentId : null
    const { text, after } = wordsOf(message, (parent !== null && versions.get(parent)) || null, exported)
    versions.set(message.uuid, after)
    nodes.push({
      id: message.uuid,
      parent,
      role: message.sender === 'human' ? 'user' : 'assistant',
      text,
      at: millisecondsOf(message.created_at),
      model: message.sender === 'human' ? null : model,
    })
    before = message.uuid
  }
  return nodes
}

const MISSING = 'images, audio and other files missing from the export'
const SILENT: ReadonlySet<unknown> = new Set(['token_budget'])

type Json = Record<string, unknown>

function wordsOf(message: Json, above: Versions | null, exported: Exported): { text: string; after: Versions | null } {
  let versions = above
  const words: { text: string; key: string | null }[] = []
  const say = (text: string, key: string | null = null): void => {
    // A document changed several times in an answer shows its last state in its first place.
    const existing = key === null ? undefined : words.find((one) => one.key === key)
    if (existing) existing.text = text
    else words.push({ text, key })
  }
  const parts = Array.isArray(message.content) ? message.content : []
  for (const part of parts) {
    if (!isObject(part)) exported.leaveType(null)
    else if (part.type === 'text') say(withCitations(part, exported))
    else if (part.type === 'voice_note')
      say([textOr(part.title, ''), textOr(part.text, '')].filter(Boolean).join('\n\n'))
    else if (part.type === 'thinking' || part.type === 'redacted_thinking') exported.leave('model thoughts')
    else if (part.type === 'tool_use') {
      const input = isObject(part.input) ? part.input : {}
      const shown = artifactCall(part.name, input, versions)
      if (shown === null) exported.leave('tool calls')
      else if (shown === 'lost') say(lostEdit(input, exported))
      else {
        versions = { ...shown, before: versions }
        say(markdownOf(shown.document), shown.key)
      }
    } else if (part.type === 'tool_result') exported.leave('tool results')
    else if (!SILENT.has(part.type)) exported.leaveType(part.type)
  }
  // Older exports have the text only here.
  if (parts.length === 0) say(withOldArtifacts(textOr(message.text, ''), markdownOf, exported))
  // Pasted or attached text is part of the message.
  for (const attached of Array.isArray(message.attachments) ? message.attachments : []) {
    const text = isObject(attached) ? textOr(attached.extracted_content, '') : ''
    if (text === '') exported.leave(MISSING)
    else say(`${textOr((attached as Json).file_name, '') || 'attachment'}:\n\n${text}`)
  }
  exported.leave(MISSING, Array.isArray(message.files) ? message.files.length : 0)
  const text = words.map((one) => one.text).filter((one) => one.trim() !== '')
  return { text: text.join('\n\n'), after: versions }
}

function withCitations({ text: given, citations }: Json, exported: Exported): string {
  let text = textOr(given, '')
  const ends = new Map<number, Set<string>>()
  for (const one of Array.isArray(citations) ? citations : []) {
    if (!isObject(one)) continue
    const details = isObject(one.details) ? one.details : {}
    const link = linkTo(details.url ?? one.url, details.title ?? one.title)
    const end = typeof one.end_index === 'number' && Number.isInteger(one.end_index) ? one.end_index : text.length
    const at = Math.max(0, Math.min(text.length, end))
    if (link === null) exported.leave('citations without a URL')
    else ends.set(at, (ends.get(at) ?? new Set()).add(link))
  }
  for (const [at, links] of [...ends].toSorted(([a], [b]) => b - a))
    text = `${text.slice(0, at)} (${[...links].join(', ')})${text.slice(at)}`
  return withOldArtifacts(text, markdownOf, exported)
}
