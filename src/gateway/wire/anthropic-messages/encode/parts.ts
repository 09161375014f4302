import { refuse } from '#core/errors.ts'
import type { CanonicalPart } from '../../../model/canonical-request.ts'
import { compact, type Json } from '../../../model/json.ts'
import { argumentsObject } from '../../parts/arguments.ts'
import { Losses } from '../../shared/losses.ts'
import { fieldOf, fileText, pictureType, typeOf } from '../../shared/media.ts'
import type { ToolNames } from '../../shared/tools/tool-names.ts'
import { isAnthropic } from '../signature.ts'
import { shorten } from '#core/text/shorten.ts'

interface PartRules {
  names: ToolNames
  ids: (id: string) => string
  losses: Losses
}

/** Null for parts that the vendor would reject and that change nothing. */
export function encodePart(part: CanonicalPart, rules: PartRules): Json | null {
  switch (part.type) {
    case 'text':
      return part.text.trim() === '' ? null : textBlock(part)
    case 'image':
      return { type: 'image', source: imageSource(part) }
    case 'file':
      return fileBlock(part)
    case 'reasoning':
      return reasoningBlock(part, rules.losses)
    case 'tool_call':
      return {
        type: 'tool_use',
        id: rules.ids(part.id),
        name: rules.names.sent(part.name),
        input: argumentsObject(part.arguments),
      }
    case 'tool_result': {
      const content = part.content.flatMap((inner) => encodePart(inner, rules) ?? [])
      return compact({
        type: 'tool_result',
        tool_use_id: rules.ids(part.id),
        content: content.length > 0 ? content : undefined,
        is_error: part.is_error || undefined,
      })
    }
  }
}

function textBlock({ text, citations = [] }: Extract<CanonicalPart, { type: 'text' }>): Json {
  const native = citations.flatMap((one) => one.native ?? [])
  return native.length === 0 ? { type: 'text', text } : { type: 'text', text, citations: native }
}

const imageSource = ({ source }: Extract<CanonicalPart, { type: 'image' }>): Json =>
  source.kind === 'url'
    ? { type: 'url', url: source.url }
    : { type: 'base64', media_type: pictureType(source), data: source.data }

function fileBlock({ source, name }: Extract<CanonicalPart, { type: 'file' }>): Json {
  const title = name === undefined ? {} : { title: name }
  if (source.kind === 'url') return { type: 'document', source: { type: 'url', url: source.url }, ...title }
  const { data } = source
  const media_type = typeOf(source)
  if (media_type === 'application/pdf')
    return { type: 'document', source: { type: 'base64', media_type, data }, ...title }
  const text = fileText(source)
  if (text !== null)
    return { type: 'document', source: { type: 'text', media_type: 'text/plain', data: text }, ...title }
  return refuse('unsupported_model', {
    message: `\`${fieldOf(source)}\` is ${shorten(media_type, 100)}. The model accepts files as PDF or text.`,
    param: fieldOf(source),
  })
}

/** Thinking signed by Anthropic returns byte for byte; it would reject other vendors'. */
function reasoningBlock(part: Extract<CanonicalPart, { type: 'reasoning' }>, losses: Losses): Json | null {
  if (!isAnthropic(part)) {
    losses.add('messages.reasoning')
    return null
  }
  return part.redacted === undefined
    ? { type: 'thinking', thinking: part.text, signature: part.signature }
    : { type: 'redacted_thinking', data: part.redacted }
}
