import { open } from 'node:fs/promises'
import {
  ADTS,
  EncodedPacketSink,
  FLAC,
  FilePathSource,
  Input,
  type InputTrack,
  MATROSKA,
  MP3,
  MP4,
  MPEG_TS,
  OGG,
  QTFF,
  WAVE,
  WEBM,
} from 'mediabunny'
import type { MediaFacts } from '../facts.ts'
import type { Beginning } from './kind.ts'
import { MAX_PIXELS } from './picture.ts'
import { soundLength } from './sound-length.ts'
import { UnreadableMedia } from './unreadable.ts'

/** Supported formats. No playlists, which reference other files. */
const FORMATS = [MP4, QTFF, WEBM, MATROSKA, WAVE, OGG, FLAC, MP3, ADTS, MPEG_TS]
/** The longest recording made or accepted here; a longer claim is wrong. */
const LONGEST_SECONDS = 24 * 3_600
const MAX_TRACKS = 64

export async function readRecording(path: string, start: Beginning): Promise<MediaFacts> {
  if (start.extension === 'wav') await checkWave(path, start.sizeBytes)
  const input = new Input({ formats: FORMATS, source: new FilePathSource(path) })
  try {
    const tracks = await input.getTracks().catch((): never => {
      throw new UnreadableMedia('damaged', cutOff(start))
    })
    if (tracks.length > MAX_TRACKS)
      throw new UnreadableMedia('too_large', `It has ${tracks.length} tracks. The limit is ${MAX_TRACKS}.`)
    const video = await input.getPrimaryVideoTrack()
    const sound = await input.getPrimaryAudioTrack()
    const track = video ?? sound
    if (track === null) throw new UnreadableMedia('damaged', `It’s ${start.type} without any image or audio in it.`)
    await checkEnd(track, path, start)
    const declaredSeconds = durationOf(await input.computeDuration().catch(() => null))
    const durationSeconds =
      declaredSeconds === null || sound === null
        ? declaredSeconds
        : durationOf(await soundLength(sound, declaredSeconds, start.sizeBytes))
    const { type, extension } = nameType(start, video !== null)
    const facts = { type, extension, sizeBytes: start.sizeBytes, durationSeconds }
    if (video === null) return { kind: 'audio', ...facts, width: null, height: null }
    const [width, height] = [await video.getDisplayWidth(), await video.getDisplayHeight()]
    if (width * height > MAX_PIXELS)
      throw new UnreadableMedia('too_large', `It has ${width} × ${height} pixels. The limit is 100 million pixels.`)
    return { kind: 'video', ...facts, width, height }
  } finally {
    input.dispose()
  }
}

/** The index may list a last packet whose bytes are missing, so it is read. */
async function checkEnd(track: InputTrack, path: string, start: Beginning): Promise<void> {
  const sink = new EncodedPacketSink(track)
  const first = await sink.getFirstPacket().catch(() => null)
  if (first === null) throw new UnreadableMedia('damaged', cutOff(start))
  const last = await sink.getPacket(Infinity).catch(() => null)
  if (last !== null && last.data.length >= last.byteLength) return
  // The library finds no packet on an empty last page, which is valid.
  if (start.type.endsWith('/ogg') && (await isWholeOgg(path, start.sizeBytes))) return
  throw new UnreadableMedia('damaged', cutOff(start))
}

/** The last page is marked as last (RFC 3533, 6). */
async function isWholeOgg(path: string, size: number): Promise<boolean> {
  await using file = await open(path)
  const length = Math.min(size, 64 << 10)
  const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length)
  const at = buffer.lastIndexOf('OggS')
  return at >= 0 && ((buffer[at + 5] ?? 0) & 4) !== 0
}

const cutOff = ({ type }: Beginning): string =>
  `It starts as ${type} but is damaged or incomplete: ${/mp4|quicktime|m4a/.test(type) ? 'its index (moov), or data that the index refers to, is missing' : 'its data ends early'}.`

function durationOf(seconds: number | null): number | null {
  if (seconds === null || !Number.isFinite(seconds) || seconds <= 0) return null
  if (seconds > LONGEST_SECONDS)
    throw new UnreadableMedia(
      'too_large',
      `Its duration is ${Math.round(seconds / 3_600)} hours. The limit is 24 hours.`,
    )
  return Math.round(seconds * 1_000) / 1_000
}

/** Room for notes, images, and markers after a WAV file's sound. */
const NOTES_BYTES = 64 << 10

async function checkWave(path: string, size: number): Promise<void> {
  await using file = await open(path)
  const head = Buffer.alloc(64 << 10)
  const { bytesRead } = await file.read(head, 0, head.length, 0)
  for (let at = 12; at + 8 <= bytesRead;) {
    const length = head.readUInt32LE(at + 4)
    if (head.toString('latin1', at, at + 4) === 'data') {
      // Streamed files: 0, or about 2 GiB and more.
      if (length < 0x7fff_0000 && at + 8 + length > size)
        throw new UnreadableMedia('damaged', `It’s incomplete: ${at + 8 + length - size} bytes of audio are missing.`)
      // Players may continue reading: the actual length exceeds the header's.
      const behind = size - at - 8 - length
      if (length > 0 && length < 0x7fff_0000 && behind > length + NOTES_BYTES)
        throw new UnreadableMedia('damaged', `Its header declares ${length} bytes of audio, but ${behind} more follow.`)
      return
    }
    at += 8 + length + (length % 2)
  }
}

/** A container may hold either; audio-only files have a separate type. */
function nameType({ type, extension }: Beginning, pictures: boolean): { type: string; extension: string } {
  const sound: Record<string, { type: string; extension: string }> = {
    'video/mp4': { type: 'audio/mp4', extension: 'm4a' },
    'audio/x-m4a': { type: 'audio/mp4', extension: 'm4a' },
    'video/webm': { type: 'audio/webm', extension: 'webm' },
    'video/matroska': { type: 'audio/matroska', extension: 'mka' },
    'application/ogg': { type: 'audio/ogg', extension: 'ogg' },
  }
  if (!pictures) return sound[type] ?? { type: type.replace('audio/x-', 'audio/'), extension }
  if (type === 'audio/x-m4a' || type === 'audio/mp4' || type === 'video/x-m4v')
    return { type: 'video/mp4', extension: 'mp4' }
  return { type: type.replace(/^(audio|application)\//, 'video/'), extension }
}
