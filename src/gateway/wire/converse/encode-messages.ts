import { refuse } from '#kernel/errors.ts'
import type { MediaSource, CanonicalMessage, CanonicalPart } from '../../model/canonical-request.ts'
import { compact, type Json } from '../../model/json.ts'
import { argumentsObject } from '../shared/arguments.ts'
import type { Losses } from '../shared/losses.ts'
import { imageType } from '../shared/media.ts'
import type { ToolNames } from '../shared/tool-names.ts'

/** The vendor whose opaque reasoning a part holds. */
export const CONVERSE_FORMAT = 'amazon-bedrock-v1'

export interface MessageRules {
  names: ToolNames
  ids: (id: string) => string
  losses: Losses
}

/**
 * Messages with paired tool results as Bedrock has them: the leading system messages apart, roles that alternate and
 * begin with the user, nothing empty. A system message in between becomes part of the user's turn, in a tag.
 */
export function encodeMessages(
  messages: CanonicalMessage[],
  rules: MessageRules,
): { system: Json[]; messages: Json[] } {
  const first = messages.findIndex(({ role }) => role !== 'system')
  const leading = first === -1 ? messages : messages.slice(0, first)
  const merged: { role: 'user' | 'assistant'; content: Json[] }[] = []
  for (const message of messages.slice(leading.length)) {
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const blocks = message.content.flatMap((part) => block(part, rules))
    const content = message.role === 'system' ? blocks.map(tagged) : blocks
    const last = merged.at(-1)
    if (content.length === 0) continue
    if (last?.role === role) last.content.push(...content)
    else merged.push({ role, content })
  }
  if (merged[0]?.role !== 'user') merged.unshift({ role: 'user', content: [{ text: '…' }] })
  return { system: leading.flatMap(({ content }) => content.flatMap((part) => block(part, rules))), messages: merged }
}

const tagged = (one: Json): Json => ('text' in one ? { text: `<system>\n${String(one['text'])}\n</system>` } : one)

function block(part: CanonicalPart, rules: MessageRules): Json[] {
  const { names, ids, losses } = rules
  if ('cache' in part && part.cache !== undefined) losses.add('cache_control')
  switch (part.type) {
    case 'text':
      return part.text.trim() === '' ? [] : [{ text: part.text }]
    case 'image':
      return [{ image: { format: imageFormat(part.source), source: bytesOf(part.source) } }]
    case 'file':
      return [{ document: documentOf(part) }]
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

/** Media that lie elsewhere are read by Bedrock from S3 only: to leave it out would answer another question. */
const bytesOf = (source: MediaSource): Json =>
  source.kind === 'base64'
    ? { bytes: source.data }
    : refuse('unsupported_model', {
        message: 'The model takes images and files as bytes, not by their address.',
        param: 'messages',
      })

const imageFormat = (source: MediaSource): string =>
  source.kind === 'base64' ? imageType(source).replace('image/', '') : ''

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

function documentOf({ source, name = 'file' }: Extract<CanonicalPart, { type: 'file' }>): Json {
  const type = source.kind === 'base64' ? source.media_type : 'application/pdf'
  const format = formats[type] ?? (type.startsWith('text/') ? 'txt' : undefined)
  if (format === undefined)
    return refuse('unsupported_model', { message: `The model takes no files of the type ${type}.`, param: 'messages' })
  // Only these characters may stand in it, and no two spaces together.
  const named = name
    .replaceAll(/[^a-zA-Z0-9\-()[\]]+/g, ' ')
    .trim()
    .slice(0, 200)
  return { format, name: named === '' ? 'file' : named, source: bytesOf(source) }
}
