import { createEncoder } from './h264.ts'
import { samplesOf } from './picture.ts'

export interface SimulatedVideo {
  /** Pixels; both even. */
  width: number
  height: number
  seconds: number
  fps: number
  /** Equal words give equal videos. */
  words: string
}

export const LONGEST_VIDEO_SIDE = 2_048
export const LONGEST_VIDEO_SECONDS = 60

export async function drawVideo({ width, height, seconds, fps, words }: SimulatedVideo): Promise<Uint8Array> {
  // Loaded on demand, because few servers need it.
  const { BufferTarget, EncodedPacket, EncodedVideoPacketSource, Mp4OutputFormat, Output } = await import('mediabunny')
  const encoder = createEncoder(width, height)
  const target = new BufferTarget()
  const output = new Output({ format: new Mp4OutputFormat({ fastStart: 'in-memory' }), target })
  const track = new EncodedVideoPacketSource('avc')
  output.addVideoTrack(track, { frameRate: fps })
  output.setMetadataTags({ title: 'Simulated', comment: 'A simulated video, not made by a model.' })
  await output.start()
  const frames = Math.max(1, Math.round(seconds * fps))
  const { codec, description } = encoder
  let encodedColumns = 0
  for (let i = 0; i < frames; i++) {
    const targetColumn = Math.floor(((i + 1) / frames) * encoder.columns)
    const { type, data } =
      i === 0
        ? await encoder.still(await samplesOf({ width, height, words }))
        : encoder.bar(encodedColumns, targetColumn)
    if (i > 0) encodedColumns = targetColumn
    await track.add(
      new EncodedPacket(data, type, i / fps, 1 / fps),
      i === 0 ? { decoderConfig: { codec, description, codedWidth: width, codedHeight: height } } : undefined,
    )
  }
  await output.finalize()
  return withoutTimes(Buffer.from(target.buffer!))
}

/** Clears creation times (ISO/IEC 14496-12), so equal requests give equal files. */
function withoutTimes(file: Buffer): Buffer {
  const visit = (start: number, end: number): void => {
    for (let at = start; at + 8 <= end;) {
      const length = file.readUInt32BE(at)
      const name = file.toString('latin1', at + 4, at + 8)
      if (length < 8) return
      // After version and flags: two times of 4 or 8 bytes.
      if (/^(mvhd|tkhd|mdhd)$/.test(name)) file.fill(0, at + 12, at + 12 + (file[at + 8] === 1 ? 16 : 8))
      else if (/^(moov|trak|mdia)$/.test(name)) visit(at + 8, at + length)
      at += length
    }
  }
  visit(0, file.length)
  return file
}
