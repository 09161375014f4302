import type { CanonicalMessage, CanonicalPart } from '../../model/canonical-request.ts'
import { compact, type Json } from '../../model/json.ts'
import { argumentsOf } from '../parts/arguments.ts'
import { Losses } from '../shared/losses.ts'
import { fileName, pictureUrl, urlOf } from '../shared/media.ts'
import type { ToolNames } from '../shared/tools/tool-names.ts'
import { isOwn, writeReasoning } from './sealed.ts'
import { askToGoOn } from '../shared/prefill.ts'

export interface ItemRules {
  names: ToolNames
  ids: (id: string) => string
  losses: Losses
}

export function encodeInput(messages: CanonicalMessage[], rules: ItemRules): Json[] {
  if (messages.at(-1)?.role === 'assistant') rules.losses.add('messages.prefill')
  const items = askToGoOn(messages).flatMap(({ role, content }) => {
    if (content.some((part) => 'cache' in part && part.cache !== undefined)) rules.losses.add('cache_control')
    if (role === 'tool') return content.flatMap((part) => resultOf(part, rules))
    if (role === 'assistant') return assistantItems(content, rules)
    const parts = content.flatMap(partOf)
    return parts.length === 0 ? [] : [{ type: 'message', role, content: parts }]
  })
  return items.length > 0 ? items : [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: '…' }] }]
}

/** The parts of an answer are separate items; consecutive texts form one message. */
function assistantItems(content: CanonicalPart[], { names, ids, losses }: ItemRules): Json[] {
  const items: Json[] = []
  let texts: Json[] | null = null
  for (const part of content) {
    if (part.type === 'text') {
      if (texts === null) items.push({ type: 'message', role: 'assistant', content: (texts = []) })
      texts.push({ type: 'output_text', text: part.text, annotations: [] })
      continue
    }
    texts = null
    if (part.type === 'tool_call') {
      const words = argumentsOf(part.arguments)
      items.push({ type: 'function_call', call_id: ids(part.id), name: names.sent(part.name), arguments: words })
    } else if (part.type === 'reasoning') {
      if (isOwn(part)) items.push(writeReasoning(part))
      else losses.add('messages.reasoning')
    } else losses.add('messages.assistant.media')
  }
  return items
}

function resultOf(part: CanonicalPart, { ids }: ItemRules): Json[] {
  if (part.type !== 'tool_result') return []
  const error = part.is_error ? 'Error: ' : ''
  const plain = part.content.every(({ type }) => type === 'text')
  const text = part.content.flatMap((inner) => (inner.type === 'text' ? [inner.text] : [])).join('\n')
  const output = plain
    ? error + text
    : [...(part.is_error ? [{ type: 'input_text', text: 'Error:' }] : []), ...part.content.flatMap(partOf)]
  return [{ type: 'function_call_output', call_id: ids(part.id), output }]
}

function partOf(part: CanonicalPart): Json[] {
  if (part.type === 'text') return [{ type: 'input_text', text: part.text }]
  if (part.type === 'image')
    return [{ type: 'input_image', image_url: pictureUrl(part.source), detail: part.detail ?? 'auto' }]
  if (part.type !== 'file') return []
  if (part.source.kind === 'url') return [{ type: 'input_file', file_url: part.source.url }]
  return [compact({ type: 'input_file', filename: fileName(part), file_data: urlOf(part.source) })]
}
