import { refuse } from '#core/errors.ts'
import type { CacheMark, CanonicalMessage, CanonicalPart } from '../../../model/canonical-request.ts'
import { compact, type Json } from '../../../model/json.ts'
import { argumentsOf } from '../../parts/arguments.ts'
import { Losses } from '../../shared/losses.ts'
import { fieldOf, fileName, fileText, pictureUrl, urlOf } from '../../shared/media.ts'
import type { ToolNames } from '../../shared/tools/tool-names.ts'
import type { ChatQuirks } from '../../shared/quirks.ts'
import { GEMINI_FORMAT } from '../../parts/gemini-signature.ts'
import { writeCallSignature } from '../call-signature.ts'
import { writePictures } from '../media.ts'
import { writeDetails } from '../reasoning.ts'
import { askToGoOn } from '../../shared/prefill.ts'

export interface MessageRules {
  quirks: ChatQuirks
  names: ToolNames
  ids: (id: string) => string
  losses: Losses
  signsCalls: boolean
}

type Reasoning = Extract<CanonicalPart, { type: 'reasoning' }>

export const marksOf = (ttl: CacheMark | undefined): Json =>
  ttl === undefined ? {} : { cache_control: { type: 'ephemeral', ttl } }

export function encodeMessages(messages: CanonicalMessage[], rules: MessageRules): Json[] {
  if (messages.at(-1)?.role === 'assistant') rules.losses.add('messages.prefill')
  return askToGoOn(messages).flatMap((message) => {
    const { role, content, name } = message
    if (role === 'tool') return toolMessages(content, rules)
    const nameField = compact({ name })
    if (role === 'assistant') return [{ ...assistantMessage(content, rules), ...nameField }]
    return [{ role, content: userContent(content, rules), ...nameField }]
  })
}

/** Every vendor of this shape accepts a string, but few accept parts everywhere. */
function userContent(content: CanonicalPart[], rules: MessageRules): string | Json[] {
  const hasMark = content.some((part) => 'cache' in part && part.cache !== undefined)
  const keepMarks = hasMark && rules.quirks.openrouter
  if (hasMark && !keepMarks) rules.losses.add('cache_control')
  if (!keepMarks && content.every((part) => part.type === 'text')) return content.map(({ text }) => text).join('\n\n')
  return content.flatMap((part) => {
    const one = encodePart(part, rules.quirks)
    if (!one) return []
    const ttl = 'cache' in part ? part.cache : undefined
    return [keepMarks ? { ...one, ...marksOf(ttl) } : one]
  })
}

function encodePart(part: CanonicalPart, { files }: ChatQuirks): Json | null {
  if (part.type === 'text') return { type: 'text', text: part.text }
  if (part.type === 'image') {
    return { type: 'image_url', image_url: compact({ url: pictureUrl(part.source), detail: part.detail }) }
  }
  if (part.type !== 'file') return null
  if (!files) return { type: 'text', text: textOfFile(part) }
  return { type: 'file', file: { file_data: urlOf(part.source), filename: fileName(part) } }
}

/** For vendors that accept no files. Refuses other types with the field. */
function textOfFile({ source, name }: Extract<CanonicalPart, { type: 'file' }>): string {
  const text = source.kind === 'base64' ? fileText(source) : null
  if (text !== null) return name === undefined ? text : `${name}:\n\n${text}`
  const field = fieldOf(source)
  return refuse('unsupported_model', {
    param: field,
    message: `\`${field}\` is a file. The model accepts only images and text.`,
  })
}

function assistantMessage(content: CanonicalPart[], { quirks, names, ids, losses, signsCalls }: MessageRules): Json {
  const text = content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')
  const thoughts = content.filter((part) => part.type === 'reasoning')
  const signatures = new Map(signsCalls ? thoughts.flatMap(signatureOfCall) : [])
  const reasoning = thoughts.filter((part) => !signatures.has(part.id ?? ''))
  const calls = content.filter((part) => part.type === 'tool_call')
  const images = content.flatMap((part) => (part.type === 'image' ? [part.source] : []))
  if (content.some(({ type }) => type === 'file') || (images.length > 0 && !quirks.openrouter))
    losses.add('messages.assistant.media')
  if (content.some((part) => 'cache' in part && part.cache !== undefined)) losses.add('cache_control')
  const message: Json = { role: 'assistant', content: text === '' && calls.length > 0 ? null : text }
  if (images.length > 0 && quirks.openrouter) message['images'] = writePictures(images)
  if (calls.length > 0) {
    message['tool_calls'] = calls.map(({ id, name, arguments: words }) => ({
      id: ids(id),
      type: 'function',
      function: { name: names.sent(name), arguments: argumentsOf(words) },
      ...(signatures.has(id) && writeCallSignature(signatures.get(id)!)),
    }))
  }
  if (reasoning.length === 0) return message
  if (quirks.openrouter) message['reasoning_details'] = reasoning.flatMap(writeDetails)
  else if (quirks.echoesReasoning && reasoning.some(isUnsigned)) {
    message['reasoning_content'] = reasoning
      .filter(isUnsigned)
      .map((part) => part.text)
      .join('')
  } else losses.add('messages.reasoning')
  return message
}

const signatureOfCall = ({ id, format, redacted }: Reasoning): [id: string, signature: string][] =>
  format === GEMINI_FORMAT && id !== undefined && redacted !== undefined ? [[id, redacted]] : []

const isUnsigned = ({ signature, redacted }: Reasoning): boolean => signature === undefined && redacted === undefined

/** Tool messages only hold text, so other content follows all of them as a user message. */
function toolMessages(content: CanonicalPart[], rules: MessageRules): Json[] {
  const media: CanonicalPart[] = []
  const messages = content.flatMap((part): Json[] => {
    if (part.type !== 'tool_result') return []
    const words = part.content.flatMap((inner) => {
      if (inner.type === 'text') return [inner.text]
      if (inner.type !== 'image' && inner.type !== 'file') return []
      media.push({ type: 'text', text: `From the result of tool call ${rules.ids(part.id)}:` }, inner)
      return [`[${inner.type}: see the next user message]`]
    })
    const text = words.join('\n')
    if (part.cache !== undefined && !rules.quirks.openrouter) rules.losses.add('cache_control')
    const body = part.is_error ? `Error: ${text}` : text
    const isMarked = part.cache !== undefined && rules.quirks.openrouter
    const content = isMarked ? [{ type: 'text', text: body, ...marksOf(part.cache) }] : body
    return [{ role: 'tool', tool_call_id: rules.ids(part.id), content }]
  })
  return media.length === 0 ? messages : [...messages, { role: 'user', content: userContent(media, rules) }]
}
