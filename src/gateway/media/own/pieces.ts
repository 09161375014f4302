import type { Pcm } from '#infra/media/facts.ts'

/** Plain samples of 16 bit, little-endian, mono. */
export interface Piece {
  samples: Buffer
  /** The piece's beginning in the whole. */
  startSeconds: number
  seconds: number
}

/** The longest piece that a model of speech reads at once: Whisper's window is 30 s. */
const MOST_SECONDS = 28
/** A piece ends at the quietest place behind so much of it: between words, if anywhere. */
const LEAST_SECONDS = 18
const QUIET_SECONDS = 0.1

/** Sound in pieces that a model reads one by one, without more of it in memory than one piece. */
export async function* piecesOf({ sampleRate, bytes }: Pcm): AsyncGenerator<Piece> {
  const most = MOST_SECONDS * sampleRate * 2
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
  // Half a sample at its end is nothing.
  if (rest.length >= 2) yield pieceOf(rest.subarray(0, rest.length - (rest.length % 2)))
}

/** The byte in the middle of the quietest moment. */
function quietestIn(sound: Buffer, sampleRate: number): number {
  const moment = Math.round(QUIET_SECONDS * sampleRate) * 2
  let best = sound.length
  let least = Infinity
  for (let at = LEAST_SECONDS * sampleRate * 2; at + moment <= sound.length; at += moment) {
    let loudness = 0
    for (let i = at; i < at + moment; i += 2) loudness += Math.abs(sound.readInt16LE(i))
    if (loudness < least) {
      least = loudness
      best = at + (moment >> 2) * 2
    }
  }
  return best
}
