import type { Pcm } from '../facts.ts'

export class SampleReader {
  #rest: Uint8Array = new Uint8Array()

  read(part: Uint8Array): Int16Array {
    const bytes = this.#rest.length === 0 ? part : Buffer.concat([this.#rest, part])
    const count = bytes.length >> 1
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    const samples = Int16Array.from({ length: count }, (_, i) => view.getInt16(i * 2, true))
    this.#rest = bytes.slice(count * 2)
    return samples
  }
}

/** Resamples by linear interpolation: inaudible for speech, which has weak high frequencies. */
export class Resampler {
  readonly #step: number
  /** The next sample's position: 0 is the last one of the previous part, 1 the first of this one. */
  #at = 1
  #last = 0

  constructor(from: number, to: number) {
    this.#step = from / to
  }

  read(samples: Int16Array): Int16Array {
    if (this.#step === 1 || samples.length === 0) return samples
    const sample = (i: number): number => (i === 0 ? this.#last : samples[i - 1]!)
    const out = new Int16Array(Math.max(0, Math.floor((samples.length - this.#at) / this.#step) + 1))
    for (let i = 0; i < out.length; i++, this.#at += this.#step) {
      const before = Math.floor(this.#at)
      const rest = this.#at - before
      out[i] = rest === 0 ? sample(before) : sample(before) * (1 - rest) + sample(before + 1) * rest
    }
    this.#at -= samples.length
    this.#last = samples.at(-1)!
    return out
  }
}

export function resample({ sampleRate, bytes }: Pcm, rate: number): Pcm {
  if (sampleRate === rate) return { sampleRate, bytes }
  return {
    sampleRate: rate,
    bytes: (async function* () {
      const reader = new SampleReader()
      const resampler = new Resampler(sampleRate, rate)
      for await (const part of bytes) {
        const samples = resampler.read(reader.read(part))
        const out = Buffer.alloc(samples.length * 2)
        for (const [i, sample] of samples.entries()) out.writeInt16LE(sample, i * 2)
        yield out
      }
    })(),
  }
}
