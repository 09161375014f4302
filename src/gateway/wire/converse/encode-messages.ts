import { refuse } from '#core/errors.ts'
import type { MediaSource, CanonicalMessage, CanonicalPart } from '../../model/canonical-request.ts'
import { compact, type Json } from '../../model/json.ts'
import { argumentsObject } from '../parts/arguments.ts'
import type { Losses } from '../shared/losses.ts'
import { fieldOf, pictureType, typeOf } from '../shared/media.ts'
import type { ToolNames } from '../shared/tools/tool-names.ts'
import { shorten } from '#core/text/shorten.ts'

export const CONVERSE_FORMAT = 'amazon-bedrock-v1'

export interface MessageRules {
  names: ToolNames
  ids: (id: string) => string
  losses: Losses
  documents: Map<string, number>
}

/**
 * Leading system messages apart, alternating roles that start with the user, nothing empty. Later system messages
 * become part of the user's turn, in a tag.
 */
export function encodeMessages(
  messages: CanonicalMessage[],
  rules: MessageRules,
): { system: Json[]; messages: Json[] } {
  const first = messages.findIndex(({ role }) => role !== 'system')
  const leading = first === -1 ? messages : messages.slice(0, first)
  const turns: { role: 'user' | 'assistant'; content: Json[] }[] = []
  for (const message of messages.slice(leading.length)) {
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const blocks = message.content.flatMap((part) => block(part, rules))
    const content = message.role === 'system' ? blocks.map(wrapInTag) : blocks
    const last = turns.at(-1)
    if (content.length === 0) continue
    if (last?.role === role) last.content.push(...content)
    else turns.push({ role, content })
  }
  // A message with a document needs a text (Bedrock API, Message).
  for (const { content } of turns)
    if (content.some((one) => 'document' in one) && !content.some((one) => 'text' in one))
      content.push({ text: 'See the document.' })
  if (turns[0]?.role !== 'user') turns.unshift({ role: 'user', content: [{ text: '…' }] })
  return { system: leading.flatMap(({ content }) => content.flatMap((part) => block(part, rules))), messages: turns }
}

const wrapInTag = (one: Json): Json => ('text' in one ? { text: `<system>\n${String(one['text'])}\n</system>` } : one)

function block(part: CanonicalPart, rules: MessageRules): Json[] {
  const { names, ids, losses } = rules
  if ('cache' in part && part.cache !== undefined) losses.add('cache_control')
  switch (part.type) {
    case 'text':
      return part.text.trim() === '' ? [] : [{ text: part.text }]
    case 'image':
      return [{ image: { format: imageFormat(part.source), source: bytesOf(part.source) } }]
    case 'file':
      return [{ document: documentOf(part, rules.documents) }]
    case 'reasoning': {
      const { text, signature, redacted, format } = part
      if (format !== CONVERSE_FORMAT) {
        if (signature !== undefined || redacted !== undefined) losses.add('messages.reasoning')
        return []
      }
      const reasoningText = compact({ text, signature })
      return [{ reasoningContent: redacted === undefined ? { reasoningText } : { redactedContent: redacted } }]
    }
    case 'tool_call':
      return [
        { toolUse: { toolUseId: ids(part.id), name: names.sent(part.name), input: argumentsObject(part.arguments) } },
      ]
    case 'tool_result': {
      const content = part.content.flatMap((inner) => block(inner, rules))
      return [
        {
          toolResult: {
            toolUseId: ids(part.id),
            content: content.length > 0 ? content : [{ text: '(empty)' }],
            ...(part.is_error && { status: 'error' }),
          },
        },
      ]
    }
  }
}

/** Bedrock only reads remote media from S3. Leaving media out would change the question, so they are refused. */
const bytesOf = (source: MediaSource): Json =>
  source.kind === 'base64'
    ? { bytes: source.data }
    : refuse('unsupported_model', {
        message: `\`${fieldOf(source)}\` is a URL. The model accepts images and files only as bytes.`,
        param: fieldOf(source),
      })

const imageFormat = (source: MediaSource): string =>
  source.kind === 'base64' ? pictureType(source).replace('image/', '') : ''

const formats: Record<string, string> = {
  'application/pdf': 'pdf',
  'text/csv': 'csv',
  'text/html': 'html',
  'text/markdown': 'md',
  'text/plain': 'txt',
  'application/msword': 'doc',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
}

function documentOf(
  { source, name = 'file' }: Extract<CanonicalPart, { type: 'file' }>,
  documents: Map<string, number>,
): Json {
  const type = source.kind === 'base64' ? typeOf(source) : 'application/pdf'
  const format = formats[type] ?? (type.startsWith('text/') ? 'txt' : undefined)
  if (format === undefined)
    return refuse('unsupported_model', {
      message: `\`${fieldOf(source)}\` is ${shorten(type, 100)}. The model accepts files as ${Object.values(formats).join(', ')}.`,
      param: fieldOf(source),
    })
  return { format, name: uniqueName(name, documents), source: bytesOf(source) }
}

const LONGEST_NAME = 200

/**
 * DocumentBlock: letters, digits, single spaces, hyphens, parentheses, and brackets, up to 200 characters, unique in
 * the request. Names that differ only in case count as equal.
 */
function uniqueName(name: string, usedNames: Map<string, number>): string {
  const plain = name.replaceAll(/[^a-zA-Z0-9\-()[\]]+/g, ' ').trim()
  const base = (shorten(plain, LONGEST_NAME).trim() || 'file').toLowerCase()
  for (let count = (usedNames.get(base) ?? 0) + 1; ; count++) {
    const ending = count === 1 ? '' : ` ${count}`
    const unique = (shorten(plain, LONGEST_NAME - ending.length).trim() || 'file') + ending
    if (count > 1 && usedNames.has(unique.toLowerCase())) continue
    usedNames.set(base, count)
    if (count > 1) usedNames.set(unique.toLowerCase(), 1)
    return unique
  }
}
