import { usageOf } from '#core/usage.ts'
import type { Chunk, FinishReason } from '../../model/canonical-request.ts'
import { ChunkStream, brokenOffChunk } from '../streams/chunk-stream.ts'
import { readStreamFault } from '../faults/faults.ts'
import { countOf, isObject, type Json, listOf, objectOf, parseJson, textOf } from '../../model/json.ts'
import type { SseEvent } from '../streams/sse.ts'
import { lostPart } from '../parts/lost-parts.ts'
import { WholeText } from '../streams/whole-text.ts'
import { CONVERSE_FORMAT } from './encode-messages.ts'

const reasons: Record<string, FinishReason> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  guardrail_intervened: 'content_filter',
  content_filtered: 'content_filter',
  malformed_model_output: 'error',
  malformed_tool_use: 'error',
}

type Open =
  | { kind: 'text'; whole: WholeText }
  | { kind: 'reasoning'; whole: WholeText; signature: string; redacted: string }
  | { kind: 'tool'; whole: WholeText; id: string; spoke: boolean }

/** Content blocks by index. Only tool blocks have a start event; text and reasoning start with their first delta. */
class Blocks {
  readonly #open = new Map<unknown, Open>()
  calls = 0

  start(index: unknown, use: Json): Chunk[] {
    const id = textOf(use['toolUseId'])
    this.calls++
    this.#open.set(index, { kind: 'tool', whole: new WholeText(), id, spoke: false })
    return [{ type: 'tool_call_start', id, name: textOf(use['name']) }]
  }

  delta(index: unknown, delta: Json): Chunk[] {
    const reasoning = delta['reasoningContent']
    if (isObject(reasoning)) return this.#thought(index, reasoning)
    const open = this.#open.get(index)
    if (isObject(delta['toolUse']) && open?.kind === 'tool') {
      const piece = open.whole.push(textOf(delta['toolUse']['input']))
      open.spoke ||= piece !== ''
      return piece === '' ? [] : [{ type: 'tool_call_delta', id: open.id, delta: piece }]
    }
    if (typeof delta['text'] !== 'string') return open?.kind === 'tool' ? [] : Object.keys(delta).flatMap(furtherPart)
    const text = open?.kind === 'text' ? open : { kind: 'text' as const, whole: new WholeText() }
    this.#open.set(index, text)
    return textChunks('text', text.whole.push(delta['text']))
  }

  #thought(index: unknown, reasoning: Json): Chunk[] {
    const existing = this.#open.get(index)
    const open =
      existing?.kind === 'reasoning'
        ? existing
        : { kind: 'reasoning' as const, whole: new WholeText(), signature: '', redacted: '' }
    this.#open.set(index, open)
    open.signature += textOf(reasoning['signature'])
    open.redacted += textOf(reasoning['redactedContent'])
    return textChunks('reasoning', open.whole.push(textOf(reasoning['text'])))
  }

  stop(index: unknown): Chunk[] {
    const open = this.#open.get(index)
    this.#open.delete(index)
    if (open === undefined) return []
    const rest = open.whole.rest()
    if (open.kind === 'text') return textChunks('text', rest)
    if (open.kind === 'tool') {
      const delta = rest || (open.spoke ? '' : '{}')
      const last: Chunk[] = delta === '' ? [] : [{ type: 'tool_call_delta', id: open.id, delta }]
      return [...last, { type: 'tool_call_end', id: open.id }]
    }
    const { signature, redacted } = open
    const opaque = {
      ...(signature !== '' && { signature }),
      ...(redacted !== '' && { redacted }),
      ...((signature !== '' || redacted !== '') && { format: CONVERSE_FORMAT }),
    }
    return [...textChunks('reasoning', rest), { type: 'reasoning_end', ...opaque }]
  }

  stopAll(): Chunk[] {
    return [...this.#open.keys()].flatMap((index) => this.stop(index))
  }
}

/** Positions of citations aren't reported. */
const furtherPart = (kind: string): Chunk => lostPart(kind === 'citation' ? 'citationsContent' : kind)

function pictureIn({ format, source }: Json): Chunk[] {
  const data = textOf(objectOf(source)['bytes'])
  if (data === '') return [lostPart('image')]
  return [{ type: 'image', source: { kind: 'base64', media_type: `image/${textOf(format) || 'png'}`, data } }]
}

const textChunks = (type: 'text' | 'reasoning', text: string): Chunk[] => (text === '' ? [] : [{ type, text }])

/** Input excludes cache reads and writes. `cacheDetails` has the TTL of the writes (API reference, TokenUsage). */
function usedIn(report: unknown): Chunk[] {
  const counts = objectOf(report)
  const cacheWrites = countOf(counts['cacheWriteInputTokens'])
  const hour = listOf(counts['cacheDetails'])
    .map(objectOf)
    .reduce((sum, { ttl, inputTokens }) => sum + (ttl === '1h' ? countOf(inputTokens) : 0), 0)
  const usage = usageOf({
    input_tokens: countOf(counts['inputTokens']),
    cache_read_tokens: countOf(counts['cacheReadInputTokens']),
    cache_write_5m_tokens: Math.max(0, cacheWrites - hour),
    cache_write_1h_tokens: hour,
    output_tokens: countOf(counts['outputTokens']),
  })
  return usage.total_tokens === 0 ? [] : [{ type: 'usage', usage }]
}

function finishChunk(native: string, calls: number): Chunk {
  const reason = reasons[native] ?? 'stop'
  if (reason === 'error')
    return {
      type: 'error',
      error: { kind: 'server_error', message: `The provider failed during the response: ${native}.` },
    }
  return { type: 'finish', reason: reason === 'stop' && calls > 0 ? 'tool_calls' : reason, native }
}

/** Usage follows the stop, so the finish waits for the end. */
export class StreamReader extends ChunkStream {
  readonly #blocks = new Blocks()
  #stop = ''
  #spoke = false

  protected last(): Chunk[] {
    if (this.#stop === '') return [brokenOffChunk(this.#spoke)]
    return [...this.#blocks.stopAll(), finishChunk(this.#stop, this.#blocks.calls)]
  }

  protected event({ event: name, data }: SseEvent): Chunk[] {
    const event = objectOf(parseJson(data))
    const index = event['contentBlockIndex']
    switch (name) {
      case 'messageStart':
        return [{ type: 'start', id: '', model: '' }]
      case 'contentBlockStart': {
        const { toolUse } = objectOf(event['start'])
        this.#spoke = true
        return isObject(toolUse) ? this.#blocks.start(index, toolUse) : []
      }
      case 'contentBlockDelta':
        this.#spoke = true
        return this.#blocks.delta(index, objectOf(event['delta']))
      case 'contentBlockStop':
        return this.#blocks.stop(index)
      case 'messageStop':
        this.#stop = textOf(event['stopReason']) || 'end_turn'
        return this.#blocks.stopAll()
      case 'metadata':
        return usedIn(event['usage'])
      case 'error':
        return [{ type: 'error', error: readStreamFault(event['error']) }]
      default:
        return []
    }
  }
}

export function readAnswer(body: unknown): Chunk[] {
  const message = objectOf(objectOf(objectOf(body)['output'])['message'])
  if (!Array.isArray(message['content'])) {
    const error = { kind: 'garbage' as const, message: 'The provider returned something other than a message.' }
    return [{ type: 'error', error }]
  }
  const blocks = new Blocks()
  const content = listOf(message['content'])
    .map(objectOf)
    .flatMap((block, index): Chunk[] => {
      const { toolUse, reasoningContent: thinking } = block
      if (isObject(toolUse))
        return [
          ...blocks.start(index, toolUse),
          ...blocks.delta(index, { toolUse: { input: JSON.stringify(objectOf(toolUse['input'])) } }),
          ...blocks.stop(index),
        ]
      const { image, citationsContent: citations } = block
      if (isObject(image)) return pictureIn(image)
      if (isObject(citations)) {
        const words = listOf(citations['content'])
          .map((one) => textOf(objectOf(one)['text']))
          .join('')
        return [...blocks.delta(index, { text: words }), ...blocks.stop(index), lostPart('citationsContent')]
      }
      const reasoning = isObject(thinking)
        ? { reasoningContent: { ...thinking, ...objectOf(thinking['reasoningText']) } }
        : block
      return [...blocks.delta(index, reasoning), ...blocks.stop(index)]
    })
  const { usage, stopReason } = objectOf(body)
  return [
    { type: 'start', id: '', model: '' },
    ...content,
    ...usedIn(usage),
    finishChunk(textOf(stopReason) || 'end_turn', blocks.calls),
  ]
}
