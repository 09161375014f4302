import type { Pcm } from '#packages/media-tools/facts.ts'

/** Raw samples: 16 bit, little endian, mono. */
export interface Piece {
  samples: Buffer
  startSeconds: number
  seconds: number
}

/** The longest piece that a speech model reads at once: Whisper's window is 30 s. */
const MAX_SECONDS = 28
/** After this length, a piece ends at the quietest place: between words if possible. */
const MIN_SECONDS = 18
const QUIET_SECONDS = 0.1

/** Splits audio into pieces that a model reads one by one, with only one piece in memory. */
export async function* piecesOf({ sampleRate, bytes }: Pcm): AsyncGenerator<Piece> {
  const most = MAX_SECONDS * sampleRate * 2
  let waiting: Uint8Array[] = []
  let size = 0
  let start = 0
  const pieceOf = (samples: Buffer): Piece => {
    const startSeconds = start / sampleRate
    start += samples.length / 2
    return { samples, startSeconds, seconds: samples.length / 2 / sampleRate }
  }
  for await (const part of bytes) {
    waiting.push(part)
    size += part.length
    while (size >= most) {
      const whole = Buffer.concat(waiting)
      const end = quietestIn(whole.subarray(0, most), sampleRate)
      yield pieceOf(whole.subarray(0, end))
      waiting = [whole.subarray(end)]
      size = whole.length - end
    }
  }
  const rest = Buffer.concat(waiting)
  if (rest.length >= 2) yield pieceOf(rest.subarray(0, rest.length - (rest.length % 2)))
}

function quietestIn(sound: Buffer, sampleRate: number): number {
  const moment = Math.round(QUIET_SECONDS * sampleRate) * 2
  let best = sound.length
  let least = Infinity
  for (let at = MIN_SECONDS * sampleRate * 2; at + moment <= sound.length; at += moment) {
    let loudness = 0
    for (let i = at; i < at + moment; i += 2) loudness += Math.abs(sound.readInt16LE(i))
    if (loudness < least) {
      least = loudness
      best = at + (moment >> 2) * 2
    }
  }
  return best
}
