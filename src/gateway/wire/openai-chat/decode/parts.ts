import { refuse } from '#core/errors.ts'
import type { CanonicalPart } from '../../../model/canonical-request.ts'
import { decodeBlock, lostBlocks } from '../../anthropic-messages/decode/blocks.ts'
import { compact, type Json } from '../../../model/json.ts'
import { list, missing, object, partsOf, string } from '../../shared/request-fields.ts'
import { Losses } from '../../shared/losses.ts'
import { detailOf, mediaPart, sourceOf } from '../../shared/media.ts'
import { decodeAnthropicPart, RESULT } from './anthropic-parts.ts'
import { cacheOf, loseMark } from '../../shared/cache-marks.ts'

/** Audio, video, reasoning among text, and other vendors' blocks that some frameworks send. */
const lostParts: ReadonlySet<string> = new Set(
  `input_audio audio_url video_url input_video input_file thinking redacted_thinking reasoning tool_use tool_result
  document search_result`.split(/\s+/),
)

export function contentOf(content: unknown, at: string, role: string, losses: Losses): CanonicalPart[] {
  if (content === undefined || content === null) return []
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  const parts = list(content, at, 'a string or an array') ?? []
  return partsOf(
    parts.map((part, i) => decodePart(part, `${at}.${i}`, role, losses)),
    at,
    'text, image_url, file or refusal',
  )
}

/** Types that can't be represented are losses. Null: unknown type. */
function decodePart(value: unknown, at: string, role: string, losses: Losses): CanonicalPart[] | null {
  const part = object(value, at) ?? missing(at)
  const type = string(part['type'], `${at}.type`) ?? missing(`${at}.type`)
  const cache = cacheOf(part)
  if (type === 'text' || type === 'input_text' || type === 'output_text') {
    const text = string(part['text'], `${at}.text`) ?? missing(`${at}.text`)
    if (text === '' && cache !== undefined) losses.add('cache_control')
    return text === '' ? [] : [compact({ type: 'text', text, cache })]
  }
  if (type === 'refusal')
    return [compact({ type: 'text', text: string(part['refusal'], `${at}.refusal`) ?? '', cache })]
  if (type === 'image_url' || type === 'input_image') return [{ ...imageOf(part, at, losses), ...(cache && { cache }) }]
  if (type === 'file') {
    const file = fileOf(part, at, losses)
    return file ? [{ ...file, ...(cache && { cache }) }] : []
  }
  const result = (content: unknown, at: string): CanonicalPart[] => contentOf(content, at, RESULT, losses)
  const foreign = decodeAnthropicPart(role, part, at, losses, result)
  if (foreign !== null) return foreign
  // Images and documents stored at Anthropic.
  if (role === RESULT && (type === 'image' || type === 'document')) return decodeBlock(part, at, losses)
  loseMark(part, losses)
  losses.add(`messages.${type}`)
  return lostParts.has(type) || lostBlocks.has(type) || type.endsWith('_tool_result') ? [] : null
}

type Media = Extract<CanonicalPart, { type: 'image' | 'file' }>

function imageOf(part: Json, at: string, losses: Losses): Media {
  const imageField = part['image_url']
  const image = typeof imageField === 'string' ? { url: imageField } : (object(imageField, `${at}.image_url`) ?? {})
  const param = `${at}.image_url.url`
  const source = sourceOf(string(image['url'], param) ?? missing(param))
  if (!source)
    return refuse('invalid_parameter', { message: `\`${param}\` must be an http(s) or a base64 data URL.`, param })
  const media = mediaPart(source, 'image', param)
  const detail = detailOf(image['detail'], `${at}.image_url.detail`, losses)
  return media.type === 'image' && detail !== undefined ? { type: 'image', source: media.source, detail } : media
}

function fileOf(part: Json, at: string, losses: Losses): Media | null {
  const file = object(part['file'], `${at}.file`) ?? missing(`${at}.file`)
  const param = `${at}.file.file_data`
  const data = string(file['file_data'], param)
  if (data === undefined) {
    losses.add('messages.file_id')
    return null
  }
  const source = sourceOf(data)
  if (!source) return refuse('invalid_parameter', { message: `\`${param}\` must be a base64 data URL.`, param })
  const media = mediaPart(source, 'file', param)
  const name = string(file['filename'], `${at}.file.filename`)
  return media.type === 'file' && name !== undefined ? { ...media, type: 'file', name } : media
}
