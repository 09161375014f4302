import { type Versions, fenced, quoted } from './documents.ts'
import { canvasCall } from './chatgpt-canvas.ts'
import { withLinks } from './chatgpt-citations.ts'
import { type Exported, type Node, conversationOf, isObject, millisecondsOf, textOr } from './conversation.ts'
import { leaveChatsOfOthers } from './source.ts'

/**
 * Reads ChatGPT's data export: `conversations.json` (or `conversations-000.json`, …), a list of chats with a `mapping`
 * of nodes `{id, parent, children, message}` and a `current_node`. OpenAI doesn't document it; unknown content is
 * skipped, named and counted.
 */
export function readChatGpt(chats: readonly unknown[], exported: Exported): void {
  for (const chat of chats) {
    if (!isObject(chat) || !isObject(chat.mapping)) {
      leaveChatsOfOthers(chat, 'chatgpt', exported)
      continue
    }
    const id = textOr(chat.conversation_id, null) ?? textOr(chat.id, null)
    if (id === null) {
      exported.leave('chats without an ID')
      continue
    }
    const about = {
      external_id: id,
      title: textOr(chat.title, ''),
      at: millisecondsOf(chat.create_time),
      head: textOr(chat.current_node, null),
    }
    conversationOf(about, nodesOf(chat.mapping, exported), exported)
  }
}

type Entry = Record<string, unknown>

/** Nodes in parent-first order, since a document depends on the calls above it. Iterative: a chat may be deep. */
function nodesOf(mapping: Entry, exported: Exported): Node[] {
  const entries = new Map<string, Entry>()
  for (const [id, entry] of Object.entries(mapping))
    if (isObject(entry)) entries.set(id, entry)
    else exported.leave("entries that aren't messages")
  const parentOf = (id: string): string | null => {
    const parent = textOr(entries.get(id)!.parent, null)
    return parent !== null && entries.has(parent) ? parent : null
  }
  const below = Map.groupBy(entries.keys(), parentOf)
  const versions = new Map<string, Versions | null>()
  const nodes = new Map<string, Node>()
  const read = (id: string, above: Versions | null): void => {
    const textdocId = (below.get(id) ?? []).map((child) => textdocIn(entries.get(child)!)).find((one) => one !== null)
    const { node, after } = nodeOf(id, entries.get(id)!, { textdocId: textdocId ?? null, versions: above, exported })
    nodes.set(id, node)
    versions.set(id, after)
  }
  const waiting = [...(below.get(null) ?? [])].toReversed()
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    if (nodes.has(id)) continue
    const parent = parentOf(id)
    read(id, parent === null ? null : (versions.get(parent) ?? null))
    waiting.push(...(below.get(id) ?? []).toReversed())
  }
  // Nodes in a cycle have no root.
  for (const id of entries.keys()) if (!nodes.has(id)) read(id, null)
  return [...entries.keys()].map((id) => nodes.get(id)!)
}

const textdocIn = ({ message }: Entry): string | null => {
  const metadata = isObject(message) && isObject(message.metadata) ? message.metadata : {}
  return isObject(metadata.canvas) ? textOr(metadata.canvas.textdoc_id, null) : null
}

interface Place {
  textdocId: string | null
  versions: Versions | null
  exported: Exported
}

function nodeOf(id: string, { parent, message }: Entry, place: Place): { node: Node; after: Versions | null } {
  const { exported, versions } = place
  const bare: Node = { id, parent: textOr(parent, null), role: 'assistant', text: '', at: null, model: null }
  const only = (node: Node) => ({ node, after: versions })
  if (!isObject(message)) return only(bare)
  const role = isObject(message.author) ? textOr(message.author.role, null) : null
  const metadata = isObject(message.metadata) ? message.metadata : {}
  const base: Node = {
    ...bare,
    role: role === 'user' ? 'user' : 'assistant',
    at: millisecondsOf(message.create_time),
    model: textOr(metadata.model_slug, null),
  }
  const hidden = message.weight === 0 || metadata.is_visually_hidden_from_conversation === true
  if (hidden || role === 'system') return only(bare)
  const files = exported.filesOf([...pointersIn(message.content), ...attachedTo(metadata)])
  if (role !== 'user' && role !== 'assistant') {
    // Images made by a tool and research reports were shown as part of the answer.
    const report = reportIn(metadata, exported)
    if (files.length > 0 || report !== '') return only({ ...base, text: report, files })
    exported.leave('tool results')
    return only(bare)
  }
  // Messages not addressed to `all` are tool calls.
  if (textOr(message.recipient, 'all') !== 'all') {
    const call = canvasCall(message, place)
    if (call !== null) return { node: { ...base, text: call.text, files }, after: call.versions }
    exported.leave('tool calls')
    return only(bare)
  }
  const words = wordsOf(message.content, exported)
  const text = role === 'assistant' ? withLinks(words, metadata, exported) : words
  const reply = textOr(metadata.targeted_reply, '').trim()
  return only({ ...base, text: reply === '' ? text : `${quoted(reply)}\n\n${text}`, files })
}

/** Deep research keeps its report in a widget's JSON state. */
function reportIn({ chatgpt_sdk: widget }: Entry, exported: Exported): string {
  if (!isObject(widget) || typeof widget.widget_state !== 'string') return ''
  try {
    const state: unknown = JSON.parse(widget.widget_state)
    const report = isObject(state) && isObject(state.report_message) ? state.report_message : null
    if (report === null) return ''
    return withLinks(wordsOf(report.content, exported), isObject(report.metadata) ? report.metadata : {}, exported)
  } catch {
    return ''
  }
}

const POINTER = /^(?:file-service|sediment):\/\/([\w-]+)/

/** IDs of images and audio in the parts, including nested ones (video with audio). */
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

const THOUGHTS: ReadonlySet<unknown> = new Set(['thoughts', 'reasoning_recap'])
/** Custom instructions and memories: sent with a chat but not shown in it. */
const CONTEXTS: ReadonlySet<unknown> = new Set(['user_editable_context', 'model_editable_context'])

function wordsOf(content: unknown, exported: Exported): string {
  if (!isObject(content)) return ''
  const { content_type: type, parts } = content
  if (type === 'text' || type === 'multimodal_text') return Array.isArray(parts) ? wordsOfParts(parts, exported) : ''
  if (type === 'code') return codeOf(content)
  if (type === 'tether_quote')
    return quoted([textOr(content.title, ''), textOr(content.text, '')].filter(Boolean).join('\n\n'))
  if (THOUGHTS.has(type)) exported.leave('model thoughts')
  else if (CONTEXTS.has(type)) exported.leave('custom instructions and memories')
  else exported.leaveType(type)
  return ''
}

function codeOf({ text, language }: Entry): string {
  const code = textOr(text, '')
  return code.trim() === '' ? '' : fenced(code, language === 'unknown' ? '' : textOr(language, ''))
}

function wordsOfParts(parts: readonly unknown[], exported: Exported): string {
  const words: string[] = []
  for (const part of parts) {
    if (typeof part === 'string') words.push(part)
    else if (isObject(part) && part.content_type === 'audio_transcription') words.push(textOr(part.text, ''))
    else if ([...pointersIn({ parts: [part] })].length === 0)
      exported.leaveType(isObject(part) ? part.content_type : null)
  }
  return words.filter((word) => word !== '').join('\n\n')
}
