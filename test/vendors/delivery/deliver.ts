// Sends an answer, and damages it if the behavior says so.
import type { ServerResponse } from 'node:http'
import { setImmediate as breath, setTimeout as sleep } from 'node:timers/promises'
import { EventStreamCodec } from '@smithy/eventstream-codec'
import type { Behaviour, Garbage, Json, MidStreamError } from '../vendor.ts'

/** A body: text and bytes are sent unchanged, anything else as JSON. */
export type Whole = {
  status: number
  body: unknown
  headers?: Record<string, string> | undefined
  /** Sent in pieces of this many bytes without a length, like output in progress. */
  pieceBytes?: number | undefined
}

/** A stream of frames, and the frames for a failure. */
export type Flow = {
  /** `aws`: messages of application/vnd.amazon.eventstream. */
  format: 'sse' | 'ndjson' | 'aws'
  /** For SSE; Google ends its lines with CRLF. */
  newline?: '\r\n' | undefined
  frames: Frame[]
  /** The number of frames before and after those with content. */
  opening: number
  closing: number
  /** `sent`: how many frames went before. */
  failure: (error: MidStreamError, sentCount: number) => Frame[]
  /** Called for each sent frame, starting with 0; never if the bytes are cut differently. */
  sent?: ((frame: number) => void) | undefined
  headers?: Record<string, string> | undefined
}

/**
 * An event with its data (text unchanged, else JSON), or a comment line of SSE. `exception`: AWS only, the event's
 * kind.
 */
export type Frame = { event?: string | undefined; exception?: true | undefined; data: unknown } | { comment: string }

export type Answer = Whole | Flow

export type Line = { signal: AbortSignal; headers: Record<string, string>; breakOff: () => void }

const MAX_PIECES = 10_000
const PIECE_BYTES = 16_384

export async function deliver(
  response: ServerResponse,
  answer: Answer,
  behaviour: Behaviour,
  line: Line,
): Promise<void> {
  if (behaviour.delayMs) await pause(behaviour.delayMs, line.signal)
  if (line.signal.aborted || behaviour.hang === true) return
  if (behaviour.garbage === 'no answer') return line.breakOff()

  const pieces = 'body' in answer ? [bodyBytes(answer, behaviour.garbage)] : flowBytes(answer, behaviour)
  const pieceBytes = behaviour.chunking ?? ('body' in answer ? answer.pieceBytes : undefined)
  const total = pieces.reduce((sum, piece) => sum + piece.length, 0)
  // A network delivers many frames of a long answer at once.
  const many = pieces.length > MAX_PIECES && !behaviour.perChunkDelayMs
  const chunks = rechunk(cutPieces(pieces, behaviour), pieceBytes ?? (many ? PIECE_BYTES : undefined))
  const length = behaviour.garbage === 'truncated' ? chunks.reduce((sum, piece) => sum + piece.length, 0) : total
  response.writeHead('body' in answer ? answer.status : 200, {
    ...('body' in answer ? bodyHeaders(answer, length) : flowHeaders(answer)),
    ...answer.headers,
    ...line.headers,
  })

  const clientGone = new Promise<void>((resolve) =>
    line.signal.addEventListener('abort', () => resolve(), { once: true }),
  )
  const ends = !behaviour.hang && behaviour.garbage !== 'closes socket'
  for (const [index, piece] of chunks.entries()) {
    if (index > 0 && behaviour.perChunkDelayMs) await pause(behaviour.perChunkDelayMs, line.signal)
    if (line.signal.aborted) return
    if ('frames' in answer && behaviour.chunking === undefined && !many) answer.sent?.(index)
    // The last piece and the end are sent together, so that a client that disconnects after it has read everything.
    if (ends && index === chunks.length - 1) return void response.end(piece)
    await Promise.race([clientGone, new Promise<void>((resolve) => response.write(piece, () => resolve()))])
    await breath()
  }
  if (ends) response.end()
  else if (!behaviour.hang && !line.signal.aborted) line.breakOff()
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined)
}

function bodyHeaders({ body, pieceBytes }: Whole, length: number): Record<string, string> {
  const type = Buffer.isBuffer(body) ? 'application/octet-stream' : 'application/json'
  return {
    'content-type': typeof body === 'string' ? 'text/plain' : type,
    ...(pieceBytes === undefined ? { 'content-length': String(length) } : {}),
  }
}

function flowHeaders({ format }: Flow): Record<string, string> {
  if (format === 'ndjson') return { 'content-type': 'application/x-ndjson' }
  if (format === 'aws') return { 'content-type': 'application/vnd.amazon.eventstream' }
  return { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }
}

function bodyBytes({ body }: Whole, garbage?: Garbage): Buffer {
  if (garbage === 'not json') return Buffer.from('<html><body>upstream went away</body></html>')
  if (Buffer.isBuffer(body)) return body
  if (typeof body === 'string') return Buffer.from(body)
  return Buffer.from(JSON.stringify(garbage === 'wrong types' ? twist(body) : body))
}

function flowBytes(flow: Flow, { garbage, hang, midStreamError }: Behaviour): Buffer[] {
  const { frames, failure } = flow
  let play = hang === 'mid-stream' ? upTo(flow) : frames
  if (midStreamError) {
    const error = midStreamError === true ? {} : midStreamError
    const before = upTo(flow, error.after)
    play = [...before, ...failure(error, before.length)]
  }
  if (garbage === 'wrong types') play = play.map((frame) => ('data' in frame ? twistFrame(frame) : frame))
  if (garbage === 'not json')
    play = play.with(play.length >> 1, { ...play[play.length >> 1], data: '{"choices": [oops' })
  return play.map((frame) => frameBytes(frame, flow))
}

/** The opening and this many content frames; by default half of them. */
function upTo({ frames, opening, closing }: Flow, after?: number): Frame[] {
  const content = frames.length - opening - closing
  return frames.slice(0, opening + Math.min(after ?? Math.ceil(content / 2), content))
}

function frameBytes(frame: Frame, { format, newline }: Flow): Buffer {
  if (format === 'aws') return awsMessage(frame)
  return Buffer.from(format === 'sse' ? sse(frame).replaceAll('\n', newline ?? '\n') : ndjson(frame))
}

function sse(frame: Frame): string {
  if ('comment' in frame) return `: ${frame.comment}\n\n`
  return `${frame.event ? `event: ${frame.event}\n` : ''}data: ${text(frame.data)}\n\n`
}

const aws = new EventStreamCodec(
  (bytes) => Buffer.from(bytes).toString('utf8'),
  (words) => Buffer.from(words),
)

/** Headers `:message-type`, `:event-type` or `:exception-type`, `:content-type`; the payload is JSON; two CRC-32. */
function awsMessage(frame: Frame): Buffer {
  if ('comment' in frame) return Buffer.alloc(0)
  const header = (value: string) => ({ type: 'string' as const, value })
  const kind = frame.exception ? 'exception' : 'event'
  const headers = {
    [`:${kind}-type`]: header(frame.event ?? 'chunk'),
    ':content-type': header('application/json'),
    ':message-type': header(kind),
  }
  return Buffer.from(aws.encode({ headers, body: Buffer.from(text(frame.data)) }))
}

function ndjson(frame: Frame): string {
  return 'data' in frame ? `${text(frame.data)}\n` : ''
}

function text(data: unknown): string {
  return typeof data === 'string' ? data : JSON.stringify(data)
}

/** Half of the frames and half of the next one; a body is one frame. Streams that hang were cut before. */
function cutPieces(pieces: Buffer[], { garbage, hang }: Behaviour): Buffer[] {
  const hangs = hang === 'mid-stream' && pieces.length === 1
  if (!hangs && garbage !== 'truncated' && garbage !== 'closes socket') return pieces
  const half = pieces.length >> 1
  const brokenPiece = pieces[half]
  return brokenPiece ? [...pieces.slice(0, half), brokenPiece.subarray(0, brokenPiece.length >> 1)] : pieces
}

function rechunk(pieces: Buffer[], size?: number): Buffer[] {
  if (!size) return pieces
  const bytes = Buffer.concat(pieces)
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) => bytes.subarray(n * size, (n + 1) * size))
}

const keptFields = new Set(['id', 'object', 'type', 'model', 'role', 'event', 'index'])

function twistFrame(frame: { event?: string | undefined; data: unknown }): Frame {
  return typeof frame.data === 'string' ? frame : { ...frame, data: twist(frame.data) }
}

/** Keeps the shape but replaces the leaves with wrong types; names and discriminators stay. */
function twist(value: unknown): unknown {
  if (typeof value === 'number') return String(value)
  if (typeof value === 'string') return value.length
  if (Array.isArray(value)) return value.map(twist)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value as Json)
  return Object.fromEntries(entries.map(([key, inner]) => [key, keptFields.has(key) ? inner : twist(inner)]))
}
