import { shortenBytes } from '#core/text/shorten.ts'

/**
 * The frames of a link: `u8 type · u8 flags · u32 stream · u64 offset · payload`, numbers in network order.
 *
 * | type | stream | offset | payload |
 * |---|---|---|---|
 * | HELLO | 0 | 0 | JSON: the first frame of each end, once |
 * | OPEN | new, of the parity of who opens | 0 | JSON |
 * | DATA, flags: channel, `FINISHED` | live | of the first byte within its channel | bytes, ≤ 64 KiB |
 * | EVENT | live | 0 | JSON |
 * | CREDIT | live | 0 | u32: how much more the other end may send |
 * | END | live | 0 | JSON, from the end that was asked |
 * | RESET, flags: `LOST` | live | 0 | text: why |
 * | PING, PONG | 0 | chosen by the PING, repeated by the PONG | none |
 */
export const FRAME = { hello: 1, open: 2, data: 3, event: 4, credit: 5, end: 6, reset: 7, ping: 8, pong: 9 } as const
export type FrameType = (typeof FRAME)[keyof typeof FRAME]

/** A flag of DATA: its sender sends no more bytes on this stream. The other bits name the channel. */
export const FINISHED = 0x80
export const CHANNELS = 8
/** A flag of RESET: the stream is not to blame; a link further on was lost. */
export const LOST = 1

export const HEAD_BYTES = 14
/** The most bytes of DATA that may come. */
export const LARGEST_DATA = 65_536
/**
 * The most bytes of DATA that are sent. Sockets are read by 64 KiB: of these, half of the frames lie in what was read and need
 * no copy. As garbage the copies of frames twice as large set off pauses that keys waited for (decision 0089).
 */
export const SENT_DATA = 32_768
/** The most bytes of HELLO, OPEN, EVENT and END. */
export const LARGEST_JSON = 65_536
const LARGEST_REASON = 1_024
/** The most bytes of any frame. */
export const LARGEST_FRAME = HEAD_BYTES + LARGEST_DATA

export interface Frame {
  type: FrameType
  flags: number
  stream: number
  offset: number
  /** A view of the bytes that came. */
  payload: Buffer
}

/** The other end does not keep to the protocol; its link is closed with 4002. */
export class Violation extends Error {
  override name = 'Violation'
}

/** `room`: bytes of nobody's, as many as any frame has, to be written to. */
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

/** Throws `Violation` for whatever is not a frame by itself; what it means on its link is for the link to judge. */
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
  /** Bytes of the payload. */
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

/**
 * The deepest that objects and lists may lie in each other. Deeper ones would overflow the stack of whoever writes them
 * out again.
 */
const DEEPEST = 32

const strict = new TextDecoder('utf-8', { fatal: true })

/** The JSON object of a frame. */
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

const isDeeper = (value: unknown, left: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (left === 0 || Object.values(value).some((inner) => isDeeper(inner, left - 1)))

/** Null: it is larger than a frame may be. */
export function writeJson(value: object): Buffer | null {
  const bytes = Buffer.from(JSON.stringify(value))
  return bytes.length > LARGEST_JSON ? null : bytes
}

/** The reason that a RESET carries, as bytes. */
export const reasonBytes = (reason: string): Buffer => Buffer.from(shortenBytes(reason, LARGEST_REASON))
