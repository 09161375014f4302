import { refuse } from '#core/errors.ts'
import type { CanonicalMessage, CanonicalPart } from '../../model/canonical-request.ts'
import { compact, type Json, textOf } from '../../model/json.ts'
import { list, missing, object, partsOf, string, wrong } from '../shared/request-fields.ts'
import { Losses } from '../shared/losses.ts'
import { detailOf, magicType, mediaPart, sourceOf } from '../shared/media.ts'
import { cacheOf, loseMark, withInnerMark, withOuterMark } from '../shared/cache-marks.ts'
import { readReasoning } from './sealed.ts'
import { flatName, wrapText } from './tools.ts'

/** Audio, screenshots, the vendor's encrypted content. */
const lostParts: ReadonlySet<string> = new Set(
  `input_image input_file input_audio output_audio input_video computer_screenshot reasoning_text summary_text
  encrypted_content`.split(/\s+/),
)

/**
 * Reasoning, text, and calls of one model turn become one assistant message. References to items stored at OpenAI are
 * refused: nothing is stored here.
 */
export function decodeInput(input: unknown, losses: Losses): CanonicalMessage[] {
  if (typeof input === 'string') return [{ role: 'user', content: [{ type: 'text', text: input }] }]
  const messages: CanonicalMessage[] = []
  let unread: string | null = null
  const join = (role: 'assistant' | 'tool', parts: CanonicalPart[]): void => {
    const last = messages.at(-1)
    if (last?.role === role) last.content.push(...parts)
    else if (parts.length > 0) messages.push({ role, content: parts })
  }
  for (const [i, value] of (list(input, 'input', 'a string or an array') ?? []).entries()) {
    const at = `input.${i}`
    const item = object(value, at) ?? missing(at)
    const type = string(item['type'], `${at}.type`) ?? (item['role'] === undefined ? missing(`${at}.type`) : 'message')
    switch (type) {
      case 'message': {
        const { role, content } = messageOf(item, at, losses)
        if (role === 'assistant') join(role, content)
        else messages.push({ role, content })
        break
      }
      case 'reasoning':
        loseMark(item, losses)
        join('assistant', [readReasoning(item)])
        break
      case 'image_generation_call':
        join('assistant', pictureOf(item, losses))
        break
      case 'function_call':
      case 'custom_tool_call':
        join('assistant', [callOf(item, at, type === 'custom_tool_call')])
        break
      case 'function_call_output':
      case 'custom_tool_call_output':
        join('tool', [resultOf(item, at, losses)])
        break
      case 'item_reference':
        refuse('not_found', {
          message: `Item with id '${textOf(item['id'])}' not found: it isn’t stored here. Set \`store: false\`, and send the items themselves.`,
          param: at,
        })
        break
      case 'compaction':
        refuse('invalid_parameter', {
          message: 'Only the provider that compacted a conversation can read it. Send the conversation itself.',
          param: at,
        })
        break
      default:
        loseMark(item, losses)
        losses.add(`input.${type}`)
        unread ??= at
    }
  }
  // Agents send item types newer than this code. They are dropped as long as something else remains.
  if (messages.length === 0 && unread !== null)
    wrong(
      `${unread}.type`,
      'message, reasoning, function_call, function_call_output, custom_tool_call or custom_tool_call_output',
    )
  return messages
}

function messageOf(
  item: Json,
  at: string,
  losses: Losses,
): { role: Exclude<CanonicalMessage['role'], 'tool'>; content: CanonicalPart[] } {
  const role = string(item['role'], `${at}.role`) ?? missing(`${at}.role`)
  if (role !== 'assistant' && (item['content'] ?? null) === null) missing(`${at}.content`)
  const content = withOuterMark(contentOf(item['content'], `${at}.content`, losses), cacheOf(item), losses)
  if (role === 'user' || role === 'assistant') return { role, content }
  if (role === 'system' || role === 'developer') return { role: 'system', content }
  return refuse('invalid_parameter', {
    message: `\`${at}.role\` must be user, assistant, system or developer.`,
    param: `${at}.role`,
  })
}

function pictureOf(item: Json, losses: Losses): CanonicalPart[] {
  const data = textOf(item['result'])
  if (data !== '') {
    const source = { kind: 'base64' as const, media_type: magicType(data) ?? 'image/png', data }
    return [compact({ type: 'image', source, cache: cacheOf(item) })]
  }
  loseMark(item, losses)
  losses.add('input.image_generation_call')
  return []
}

function callOf(item: Json, at: string, free: boolean): CanonicalPart {
  const field = free ? 'input' : 'arguments'
  const words = string(item[field], `${at}.${field}`) ?? ''
  const name = string(item['name'], `${at}.name`) ?? missing(`${at}.name`)
  return compact({
    type: 'tool_call',
    id: string(item['call_id'], `${at}.call_id`) ?? missing(`${at}.call_id`),
    name: flatName(name, string(item['namespace'], `${at}.namespace`)),
    arguments: free ? wrapText(words) : words,
    cache: cacheOf(item),
  })
}

const resultOf = (item: Json, at: string, losses: Losses): CanonicalPart =>
  withInnerMark(
    compact({
      type: 'tool_result',
      id: string(item['call_id'], `${at}.call_id`) ?? missing(`${at}.call_id`),
      content: contentOf(item['output'], `${at}.output`, losses),
      is_error: false,
      cache: cacheOf(item),
    }),
  )

function contentOf(content: unknown, at: string, losses: Losses): CanonicalPart[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  const parts = list(content, at, 'a string or an array') ?? []
  return partsOf(
    parts.map((part, i) => partOf(part, `${at}.${i}`, losses)),
    at,
    'input_text, input_image, input_file, output_text or refusal',
  )
}

/** Null: unknown type. */
function partOf(value: unknown, at: string, losses: Losses): CanonicalPart[] | null {
  const part = object(value, at) ?? missing(at)
  const type = string(part['type'], `${at}.type`) ?? missing(`${at}.type`)
  const cache = cacheOf(part)
  if (type === 'input_text' || type === 'output_text' || type === 'text' || type === 'refusal') {
    const text = string(part[type === 'refusal' ? 'refusal' : 'text'], `${at}.text`) ?? ''
    if (text === '' && cache !== undefined) losses.add('cache_control')
    return text === '' ? [] : [compact({ type: 'text', text, cache })]
  }
  if (type === 'input_image' && part['image_url'] !== undefined && part['image_url'] !== null) {
    const image = mediaPart(media(part['image_url'], `${at}.image_url`), 'image', `${at}.image_url`)
    const detail = detailOf(part['detail'], `${at}.detail`, losses)
    const shown = image.type === 'image' && detail !== undefined ? { ...image, type: image.type, detail } : image
    return [compact({ ...shown, cache })]
  }
  const data = part['file_data'] ?? part['file_url']
  if (type === 'input_file' && data !== undefined && data !== null) {
    const field = `${at}.${part['file_data'] ? 'file_data' : 'file_url'}`
    const file = mediaPart(media(data, field), 'file', field)
    const name = string(part['filename'], `${at}.filename`)
    return [compact(file.type === 'file' ? { ...file, type: 'file', name, cache } : { ...file, cache })]
  }
  loseMark(part, losses)
  losses.add(part['file_id'] ? 'input.file_id' : `input.${type}`)
  return lostParts.has(type) ? [] : null
}

function media(value: unknown, param: string) {
  return (
    sourceOf(string(value, param) ?? missing(param)) ??
    refuse('invalid_parameter', { message: `\`${param}\` must be an http(s) or a base64 data URL.`, param })
  )
}
