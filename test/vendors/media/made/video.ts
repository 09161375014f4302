// Valid MP4 files of any size and length: plain gray H.264 pictures, 24 per second, without audio (ISO/IEC 14496-10,
// -12, -14).
import { Bits } from './bits.ts'
import type { MediaFile } from './file.ts'
import { sizeOf } from './picture.ts'

const FRAMES_A_SECOND = 24
/** 1 frame = 512 units of the clock. */
const FRAME_UNITS = 512
const CLOCK = FRAMES_A_SECOND * FRAME_UNITS

/** The index follows the pictures, so a truncated file has none. */
export function video(size: string, seconds: number): MediaFile {
  const { width, height } = sizeOf(size)
  const across = Math.ceil(width / 16)
  const down = Math.ceil(height / 16)
  const count = Math.max(1, Math.round(seconds * FRAMES_A_SECOND))
  const frames = Array.from({ length: count }, (_, n) => {
    const unit = n === 0 ? nal(0x65, wholePicture(across * down)) : nal(0x41, samePicture(across * down, n))
    return Buffer.concat([u32(unit.length), unit])
  })
  const head = box('ftyp', Buffer.from('isom\0\0\x02\0isomavc1mp41', 'latin1'))
  const data = box('mdat', ...frames)
  const parameters = { sps: nal(0x67, sequence(width, height)), pps: nal(0x68, pictureParameters()) }
  const index = moov({ width, height, sizes: frames.map(({ length }) => length), at: head.length + 8, ...parameters })
  return { bytes: Buffer.concat([head, data, index]), type: 'video/mp4' }
}

/** Constrained baseline; excess of the 16×16 blocks is cropped. */
function sequence(width: number, height: number): Bits {
  const across = Math.ceil(width / 16)
  const down = Math.ceil(height / 16)
  const bits = new Bits()
    .put(66, 8)
    .put(0xc0, 8)
    .put(levelOf(across * down), 8)
  bits.ue(0).ue(0).ue(2).ue(1).put(0, 1)
  bits
    .ue(across - 1)
    .ue(down - 1)
    .put(0b11, 2)
  const crop = [(across * 16 - width) >> 1, (down * 16 - height) >> 1] as const
  if (crop[0] + crop[1] === 0) bits.put(0, 1)
  else bits.put(1, 1).ue(0).ue(crop[0]).ue(0).ue(crop[1])
  return bits.put(0, 1).stop()
}

function levelOf(blocks: number): number {
  if (blocks <= 3_600) return 31
  return blocks <= 8_192 ? 40 : 51
}

function pictureParameters(): Bits {
  return new Bits().ue(0).ue(0).put(0, 2).ue(0).ue(0).ue(0).put(0, 3).ue(0).ue(0).ue(0).put(0, 3).stop()
}

/** Every block is predicted flat (Intra 16×16 DC) without residue, so all of it is middle gray. */
function wholePicture(blocks: number): Bits {
  const bits = new Bits().ue(0).ue(7).ue(0).put(0, 4).ue(0).put(0, 2).ue(0)
  for (let n = 0; n < blocks; n++) bits.ue(3).ue(0).ue(0).put(1, 1)
  return bits.stop()
}

/** Every block is skipped: repeats the previous picture. */
function samePicture(blocks: number, number: number): Bits {
  return new Bits()
    .ue(0)
    .ue(5)
    .ue(0)
    .put(number % 16, 4)
    .put(0, 3)
    .ue(0)
    .ue(blocks)
    .stop()
}

/** Inserts a 3 wherever the bytes would look like the start of a unit. */
function nal(kind: number, bits: Bits): Buffer {
  const bytes = [kind]
  let zeros = 0
  for (const byte of bits.bytes()) {
    if (zeros === 2 && byte <= 3) {
      bytes.push(3)
      zeros = 0
    }
    bytes.push(byte)
    zeros = byte === 0 ? zeros + 1 : 0
  }
  return Buffer.from(bytes)
}

type Track = { width: number; height: number; sizes: number[]; at: number; sps: Buffer; pps: Buffer }

function moov({ width, height, sizes, at, sps, pps }: Track): Buffer {
  const length = u32(sizes.length * FRAME_UNITS)
  const avcc = Buffer.concat([
    Buffer.from([1, sps[1]!, sps[2]!, sps[3]!, 0xff, 0xe1]),
    u16(sps.length),
    sps,
    Buffer.from([1]),
    u16(pps.length),
    pps,
  ])
  const avc1 = box(
    'avc1',
    Buffer.from([0, 0, 0, 0, 0, 0, 0, 1]),
    Buffer.alloc(16),
    u16(width),
    u16(height),
    u32(0x48_0000, 0x48_0000, 0),
    u16(1),
    Buffer.alloc(32),
    u16(24, 0xffff),
    box('avcC', avcc),
  )
  const table = box(
    'stbl',
    full('stsd', u32(1), avc1),
    full('stts', u32(1, sizes.length, FRAME_UNITS)),
    full('stss', u32(1, 1)),
    full('stsc', u32(1, 1, sizes.length, 1)),
    full('stsz', u32(0, sizes.length, ...sizes)),
    full('stco', u32(1, at)),
  )
  const reference = box('dinf', full('dref', u32(1), flaggedBox('url ', 1)))
  const media = box(
    'mdia',
    full('mdhd', u32(0, 0, CLOCK), length, u16(0x55c4, 0)),
    full('hdlr', u32(0), Buffer.from('vide'), Buffer.alloc(12), Buffer.from('video\0')),
    box('minf', flaggedBox('vmhd', 1, Buffer.alloc(8)), reference, table),
  )
  const rest = [Buffer.alloc(8), u16(0, 0, 0, 0), matrix]
  const track = flaggedBox('tkhd', 3, u32(0, 0, 1, 0), length, ...rest, u32(width * 0x1_0000, height * 0x1_0000))
  const clock = [u32(0, 0, CLOCK), length, u32(0x1_0000), u16(0x100), Buffer.alloc(10)]
  return box('moov', full('mvhd', ...clock, matrix, Buffer.alloc(24), u32(2)), box('trak', track, media))
}

const matrix = u32(0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000)

function box(kind: string, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  return Buffer.concat([u32(body.length + 8), Buffer.from(kind, 'latin1'), body])
}

/** A box with a version and flags, all zero. */
function full(kind: string, ...parts: Buffer[]): Buffer {
  return flaggedBox(kind, 0, ...parts)
}

function flaggedBox(kind: string, flags: number, ...parts: Buffer[]): Buffer {
  return box(kind, u32(flags), ...parts)
}

function u32(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4)
  for (const [n, value] of values.entries()) bytes.writeUInt32BE(value, n * 4)
  return bytes
}

function u16(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2)
  for (const [n, value] of values.entries()) bytes.writeUInt16BE(value, n * 2)
  return bytes
}
