import type { MediaSource, CanonicalPart } from '../../../model/canonical-request.ts'
import { readBlockCitation } from '../../shared/citations.ts'
import { compact, type Json, objectOf, textOf } from '../../../model/json.ts'
import { boolean, list, missing, object, partsOf, string } from '../../shared/request-fields.ts'
import { Losses, matters } from '../../shared/losses.ts'
import { cacheOf, loseMark, withInnerMark, withOuterMark } from '../../shared/cache-marks.ts'
import { mediaPart } from '../../shared/media.ts'
import { ANTHROPIC_FORMAT, openSignature } from '../signature.ts'

export const lostBlocks: ReadonlySet<string> = new Set(
  `server_tool_use mcp_tool_use mcp_tool_listing container_upload tool_reference tool_addition tool_removal browser_state
  compaction fallback cache_edits connector_text`.split(/\s+/),
)

export function contentOf(content: unknown, at: string, losses: Losses): CanonicalPart[] {
  if (content === undefined || content === null) return []
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  const blocks = list(content, at, 'a string or an array') ?? []
  const right = 'text, image, document, search_result, thinking, redacted_thinking, tool_use or tool_result'
  return partsOf(
    blocks.map((block, i) => decodeBlock(block, `${at}.${i}`, losses)),
    at,
    right,
  )
}

/** Types that can't be represented, such as results of the vendor's own tools, are losses. Null: unknown type. */
export function decodeBlock(value: unknown, at: string, losses: Losses): CanonicalPart[] | null {
  const block = object(value, at) ?? missing(at)
  const type = string(block['type'], `${at}.type`) ?? missing(`${at}.type`)
  const cache = cacheOf(block)
  switch (type) {
    case 'text': {
      const text = string(block['text'], `${at}.text`) ?? missing(`${at}.text`)
      const citations = (list(block['citations'], `${at}.citations`) ?? []).map((one) =>
        readBlockCitation(one, 0, text.length),
      )
      if (text === '' && cache !== undefined) losses.add('cache_control')
      return text === ''
        ? []
        : [compact({ type, text, cache, citations: citations.length > 0 ? citations : undefined })]
    }
    case 'image': {
      const source = sourceOf(block, at)
      if (source) return [compact({ ...mediaPart(source, type, fieldAt(source, at)), cache })]
      loseMark(block, losses)
      losses.add('messages.image.file_id')
      return []
    }
    case 'document':
      return withOuterMark(documentOf(block, at, losses), cache, losses)
    case 'search_result': {
      const [title, source] = [textOf(block['title']), textOf(block['source'])]
      if (matters(block['citations'])) losses.add('messages.search_result.citations')
      return [
        { type: 'text', text: `${title} (${source}):` },
        ...withOuterMark(contentOf(block['content'], `${at}.content`, losses), cache, losses),
      ]
    }
    case 'thinking': {
      const text = string(block['thinking'], `${at}.thinking`) ?? ''
      const signature = string(block['signature'], `${at}.signature`)
      return [{ type: 'reasoning', text, ...(signature ? openSignature(signature) : {}) }]
    }
    case 'redacted_thinking': {
      const data = string(block['data'], `${at}.data`) ?? missing(`${at}.data`)
      return [{ type: 'reasoning', text: '', redacted: data, format: ANTHROPIC_FORMAT }]
    }
    case 'tool_use': {
      const id = string(block['id'], `${at}.id`) ?? missing(`${at}.id`)
      const name = string(block['name'], `${at}.name`) ?? missing(`${at}.name`)
      const input = object(block['input'], `${at}.input`) ?? {}
      return [compact({ type: 'tool_call', id, name, arguments: JSON.stringify(input), cache })]
    }
    case 'tool_result': {
      const id = string(block['tool_use_id'], `${at}.tool_use_id`) ?? missing(`${at}.tool_use_id`)
      const content = contentOf(block['content'], `${at}.content`, losses)
      const is_error = boolean(block['is_error'], `${at}.is_error`) ?? false
      return [withInnerMark(compact({ type, id, content, is_error, cache }))]
    }
    default:
      loseMark(block, losses)
      losses.add(`messages.${type}`)
      return lostBlocks.has(type) || type.endsWith('_tool_result') ? [] : null
  }
}

function sourceOf(block: Json, at: string): MediaSource | null {
  const source = object(block['source'], `${at}.source`) ?? missing(`${at}.source`)
  const type = string(source['type'], `${at}.source.type`)
  if (type === 'url')
    return { kind: 'url', url: string(source['url'], `${at}.source.url`) ?? missing(`${at}.source.url`) }
  if (type !== 'base64') return null
  return {
    kind: 'base64',
    media_type: string(source['media_type'], `${at}.source.media_type`) ?? missing(`${at}.source.media_type`),
    data: string(source['data'], `${at}.source.data`) ?? missing(`${at}.source.data`),
  }
}

const fieldAt = ({ kind }: MediaSource, at: string): string => `${at}.source.${kind === 'url' ? 'url' : 'data'}`

/** PDFs by bytes or URL are files; documents of plain text or blocks become their content. */
function documentOf(block: Json, at: string, losses: Losses): CanonicalPart[] {
  const title = string(block['title'], `${at}.title`)
  if (objectOf(block['citations'])['enabled'] === true) losses.add('messages.document.citations')
  if (matters(block['context'])) losses.add('messages.document.context')
  const source = object(block['source'], `${at}.source`) ?? missing(`${at}.source`)
  const heading: CanonicalPart[] = title === undefined ? [] : [{ type: 'text', text: `${title}:` }]
  if (source['type'] === 'text') {
    const text = string(source['data'], `${at}.source.data`) ?? ''
    return text === '' ? [] : [...heading, { type: 'text', text }]
  }
  if (source['type'] === 'content') return [...heading, ...contentOf(source['content'], `${at}.source.content`, losses)]
  const found = sourceOf(block, at)
  if (found) {
    const media = mediaPart(found, 'file', fieldAt(found, at))
    return [media.type === 'file' && title !== undefined ? { ...media, type: 'file', name: title } : media]
  }
  losses.add('messages.document.file_id')
  return []
}
