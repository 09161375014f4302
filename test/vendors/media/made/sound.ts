// Valid audio of any length: a quiet tone for raw samples (WAV, PCM; µ-law is silence), silence in codecs.
import { Bits, crc } from './bits.ts'
import type { MediaFile } from './file.ts'

export type SoundFormat = 'wav' | 'pcm' | 'mp3' | 'opus' | 'aac' | 'flac'

/** `rate`: samples per second of WAV and PCM (16 bit, mono); the others have a fixed rate. */
export function sound(seconds: number, format: SoundFormat, rate = 24_000): MediaFile {
  if (format === 'wav') return { bytes: wav(seconds, rate), type: 'audio/wav' }
  if (format === 'pcm') return { bytes: pcm(seconds, rate), type: 'audio/pcm' }
  if (format === 'mp3') return { bytes: mp3(seconds), type: 'audio/mpeg' }
  if (format === 'opus') return { bytes: opus(seconds), type: 'audio/ogg' }
  if (format === 'aac') return { bytes: aac(seconds), type: 'audio/aac' }
  return { bytes: flac(seconds), type: 'audio/flac' }
}

const TONE_HZ = 220
const LOUDNESS = 1200

/** Samples of 16 bits, the low byte first. */
export function pcm(seconds: number, rate: number): Buffer {
  const count = Math.round(seconds * rate)
  const samples = Buffer.alloc(count * 2)
  for (let n = 0; n < count; n++) {
    samples.writeInt16LE(Math.round(LOUDNESS * Math.sin((2 * Math.PI * TONE_HZ * n) / rate)), n * 2)
  }
  return samples
}

export function wav(seconds: number, rate = 24_000): Buffer {
  const samples = pcm(seconds, rate)
  const head = Buffer.alloc(44)
  head.write('RIFF', 0)
  head.writeUInt32LE(36 + samples.length, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(rate, 24)
  head.writeUInt32LE(rate * 2, 28)
  head.writeUInt16LE(2, 32)
  head.writeUInt16LE(16, 34)
  head.write('data', 36)
  head.writeUInt32LE(samples.length, 40)
  return Buffer.concat([head, samples])
}

/** MPEG 1 layer III, 64 kbit/s, 48 kHz, mono: empty frames of 192 bytes and 24 ms. */
function mp3(seconds: number): Buffer {
  const frame = Buffer.alloc(192)
  frame.set([0xff, 0xfb, 0x54, 0xc4])
  return repeatFrame(frame, seconds / 0.024)
}

/** ADTS with AAC-LC, 48 kHz, mono: frames of 1,024 samples of silence. */
function aac(seconds: number): Buffer {
  const silence = Buffer.from([0x00, 0xc8, 0x00, 0x80, 0x23, 0x80])
  const head = new Bits()
    .put(0xfff1, 16)
    .put(1, 2)
    .put(3, 4)
    .put(0, 1)
    .put(1, 3)
    .put(0, 4)
    .put(7 + silence.length, 13)
    .put(0x7ff, 11)
    .put(0, 2)
  return repeatFrame(Buffer.concat([head.bytes(), silence]), (seconds * 48_000) / 1_024)
}

function repeatFrame(frame: Buffer, times: number): Buffer {
  return Buffer.concat(Array.from({ length: Math.max(1, Math.round(times)) }, () => frame))
}

/** Ogg with Opus (RFC 7845): packets of 20 ms of silence, up to a second of them per page. */
function opus(seconds: number): Buffer {
  const packets = Math.max(1, Math.round(seconds * 50))
  const head = Buffer.from('OpusHead\x01\x01\0\0\x80\xbb\0\0\0\0\0', 'latin1')
  const tags = Buffer.from('OpusTags\x08\0\0\0loopback\0\0\0\0', 'latin1')
  const pages = [page([head], 0, 0, 2), page([tags], 1, 0, 0)]
  for (let doneCount = 0; doneCount < packets;) {
    const now = Math.min(50, packets - doneCount)
    doneCount += now
    const silence = Array.from({ length: now }, () => Buffer.from([0xf8, 0xff, 0xfe]))
    pages.push(page(silence, pages.length, doneCount * 960, doneCount === packets ? 4 : 0))
  }
  return Buffer.concat(pages)
}

/** `flags`: 2 starts a stream, 4 ends it. */
function page(packets: Buffer[], number: number, granule: number, flags: number): Buffer {
  const head = Buffer.alloc(27)
  head.write('OggS', 0)
  head.writeUInt8(flags, 5)
  head.writeBigUInt64LE(BigInt(granule), 6)
  head.writeUInt32LE(0x756b_6979, 14)
  head.writeUInt32LE(number, 18)
  head.writeUInt8(packets.length, 26)
  const whole = Buffer.concat([head, Buffer.from(packets.map(({ length }) => length)), ...packets])
  whole.writeUInt32LE(crc(whole, 0x04c1_1db7, 32), 22)
  return whole
}

const FLAC_RATE = 24_000
const FLAC_BLOCK = 4_096

/** FLAC (RFC 9639), 24 kHz, 16 bit, mono: equal blocks of 4,096 samples. */
function flac(seconds: number): Buffer {
  const samples = Math.max(16, Math.round(seconds * FLAC_RATE))
  const info = new Bits()
    .put(0x80, 8)
    .put(34, 24)
    .put(FLAC_BLOCK, 16)
    .put(FLAC_BLOCK, 16)
    .put(0, 48)
    .put(FLAC_RATE, 20)
    .put(0, 3)
    .put(15, 5)
    .put(samples, 36)
  const frames = Array.from({ length: Math.ceil(samples / FLAC_BLOCK) }, (_, n) =>
    flacFrame(n, Math.min(FLAC_BLOCK, samples - n * FLAC_BLOCK)),
  )
  return Buffer.concat([Buffer.from('fLaC'), info.bytes(), Buffer.alloc(16), ...frames])
}

function flacFrame(number: number, samples: number): Buffer {
  const size = new Bits().put(samples - 1, 16).bytes()
  const head = Buffer.concat([Buffer.from([0xff, 0xf8, 0x77, 0x08]), Buffer.from(String.fromCodePoint(number)), size])
  const header = Buffer.concat([head, Buffer.from([crc(head, 0x07, 8), 0, 0, 0])])
  return Buffer.concat([header, new Bits().put(crc(header, 0x8005, 16), 16).bytes()])
}

/** First bytes of the formats, in hexadecimal. */
const heads: [format: string, magic: RegExp][] = [
  ['wav', /^52494646.{8}57415645/],
  ['flac', /^664c6143/],
  ['ogg', /^4f676753/],
  ['mp4', /^.{8}66747970/],
  ['webm', /^1a45dfa3/],
  ['aac', /^fff[019]/],
  ['mp3', /^494433|^ff[ef]/],
]

/** Detects the audio format by its first bytes. */
export function soundIn(bytes: Buffer): string | undefined {
  const start = bytes.toString('hex', 0, 12)
  return heads.find(([, magic]) => magic.test(start))?.[0]
}

/** The length of received audio: WAV by its header, our own MP3 by its frames, else an estimate. */
export function secondsOf(bytes: Buffer): number {
  const kind = soundIn(bytes)
  if (kind === 'wav') return (bytes.length - 44) / Math.max(1, bytes.readUInt32LE(28))
  return kind === 'mp3' ? bytes.length / 8_000 : bytes.length / 4_000
}
