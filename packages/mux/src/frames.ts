/**
 * The frames of a link: `u8 type · u8 flags · u32 stream · u64 offset · payload`, numbers in network byte order.
 *
 * | type | stream | offset | payload |
 * |---|---|---|---|
 * | HELLO | 0 | 0 | JSON; each end's first frame, once |
 * | OPEN | new, odd or even by the opening end | 0 | JSON |
 * | DATA, flags: channel, `FINISHED` | live | of the first byte in its channel | bytes, ≤ 64 KiB |
 * | EVENT | live | 0 | JSON |
 * | CREDIT | live | 0 | u32: additional bytes the peer may send |
 * | END | live | 0 | JSON, from the answering end |
 * | RESET, flags: `LOST` | live | 0 | reason as text |
 * | PING, PONG | 0 | set by the PING, echoed by the PONG | none |
 */
export const FRAME = { hello: 1, open: 2, data: 3, event: 4, credit: 5, end: 6, reset: 7, ping: 8, pong: 9 } as const
export type FrameType = (typeof FRAME)[keyof typeof FRAME]

/** A flag of DATA: the sender's last bytes on this stream. The other bits are the channel. */
export const FINISHED = 0x80
export const CHANNELS = 8
/** A flag of RESET: a link further along was lost. */
export const LOST = 1

export const HEAD_BYTES = 14
/** The size limit of received DATA payloads. */
export const LARGEST_DATA = 65_536
/**
 * The size limit of sent DATA payloads. Sockets are read in pieces of 64 KiB: at this size half of the frames need
 * no copy. Frames twice as large caused garbage collection pauses that delayed keystrokes (decision 0089).
 */
export const SENT_DATA = 32_768
/** The size limit of HELLO, OPEN, EVENT and END payloads. */
export const LARGEST_JSON = 65_536
const LARGEST_REASON = 1_024
export const LARGEST_FRAME = HEAD_BYTES + LARGEST_DATA

export interface Frame {
  type: FrameType
  flags: number
  stream: number
  offset: number
  /** A view of the received bytes. */
  payload: Buffer
}

/** A protocol violation by the peer. Its link is closed with 4002. */
export class Violation extends Error {
  override name = 'Violation'
}

/** `room`: a reusable buffer as large as the largest frame. */
export function encodeFrame(
  type: FrameType,
  flags: number,
  stream: number,
  offset: number,
  payload?: Uint8Array,
  room?: Buffer,
): Buffer {
  const size = HEAD_BYTES + (payload?.length ?? 0)
  const bytes = room?.subarray(0, size) ?? Buffer.allocUnsafe(size)
  bytes[0] = type
  bytes[1] = flags
  bytes.writeUInt32BE(stream, 2)
  bytes.writeUInt32BE(Math.floor(offset / 2 ** 32), 6)
  bytes.writeUInt32BE(offset >>> 0, 10)
  if (payload !== undefined) bytes.set(payload, HEAD_BYTES)
  return bytes
}

/** Decodes one frame. Throws `Violation` if it is malformed; its meaning on the link isn't checked. */
export function decodeFrame(bytes: Buffer): Frame {
  if (bytes.length < HEAD_BYTES) throw new Violation('a frame is too short')
  const type = bytes[0]! as FrameType
  const shape = SHAPES[type]
  if (shape === undefined) throw new Violation(`frames of type ${type} are not known`)
  const flags = bytes[1]!
  const stream = bytes.readUInt32BE(2)
  const high = bytes.readUInt32BE(6)
  const offset = high * 2 ** 32 + bytes.readUInt32BE(10)
  const payload = bytes.subarray(HEAD_BYTES)
  if ((flags & ~shape.flags) !== 0) throw new Violation('a frame has flags that are not known')
  if ((stream === 0) === shape.onStream) throw new Violation('a frame names a wrong stream')
  if (high > 0x1f_ffff || (offset !== 0 && !shape.offset)) throw new Violation('a frame has an offset out of range')
  if (payload.length < shape.least || payload.length > shape.most) throw new Violation('a frame has a wrong length')
  return { type, flags, stream, offset, payload }
}

interface Shape {
  onStream: boolean
  flags: number
  offset: boolean
  /** Limits of the payload in bytes. */
  least: number
  most: number
}
const json = (onStream: boolean): Shape => ({ onStream, flags: 0, offset: false, least: 2, most: LARGEST_JSON })
const beat: Shape = { onStream: false, flags: 0, offset: true, least: 0, most: 0 }

const SHAPES: Partial<Record<number, Shape>> = {
  [FRAME.hello]: json(false),
  [FRAME.open]: json(true),
  [FRAME.data]: { onStream: true, flags: FINISHED | (CHANNELS - 1), offset: true, least: 0, most: LARGEST_DATA },
  [FRAME.event]: json(true),
  [FRAME.credit]: { onStream: true, flags: 0, offset: false, least: 4, most: 4 },
  [FRAME.end]: json(true),
  [FRAME.reset]: { onStream: true, flags: LOST, offset: false, least: 0, most: LARGEST_REASON },
  [FRAME.ping]: beat,
  [FRAME.pong]: beat,
}

/** The maximum nesting. Deeper JSON would overflow the stack when serialized again. */
const DEEPEST = 32

const strict = new TextDecoder('utf-8', { fatal: true })

export function readJson(payload: Uint8Array): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(strict.decode(payload))
  } catch {
    throw new Violation('a frame is not JSON')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Violation('a frame is not an object')
  if (payload.length > 2 * DEEPEST && isDeeper(value, DEEPEST)) throw new Violation('a frame is nested too deeply')
  return value as Record<string, unknown>
}

const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1)))

/** Null if larger than a frame allows. */
export function writeJson(value: object): Buffer | null {
  const bytes = Buffer.from(JSON.stringify(value))
  return bytes.length > LARGEST_JSON ? null : bytes
}

/** The reason of a RESET, shortened to its limit. */
export const reasonBytes = (reason: string): Buffer => shortenedBytes(reason, LARGEST_REASON)

/** UTF-8 of up to `most` bytes, without a part of a code point at its end. */
export function shortenedBytes(text: string, most: number): Buffer {
  const bytes = Buffer.from(text)
  if (bytes.length <= most) return bytes
  let end = most
  // Continuation bytes have the form 10xxxxxx.
  while ((bytes[end]! & 0xc0) === 0x80) end--
  return bytes.subarray(0, end)
}
