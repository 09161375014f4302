import { Busy } from '#packages/fair-queue/turns.ts'
import { type ConvertOptions, type Converter, FormatNotMade } from '#packages/media-tools/convert/converter.ts'
import { resample } from '#packages/media-tools/convert/samples.ts'
import { waveSamples } from '#packages/media-tools/convert/wave.ts'
import type { Pcm, SoundFormat } from '#packages/media-tools/facts.ts'
import { ProgramFailed } from '#packages/media-tools/programs.ts'
import { refuse } from '#core/errors.ts'
import { type MadeSound, MediaFault } from './adapter.ts'

export interface ShapedSound extends MadeSound {
  seconds(): number | null
}

/** Default sample rate in Hz: that of OpenAI and Gemini, and for decoding other formats. */
const USUAL_RATE = 24_000

/**
 * Converts while streaming. Refuses (`no_route`) a format whose encoder isn't installed. `rate`: of raw samples, in Hz;
 * absent: unchanged.
 */
export async function soundAs(
  sound: MadeSound,
  target: SoundFormat,
  converter: Converter,
  { rate, ...options }: ConvertOptions & { rate?: number },
): Promise<ShapedSound> {
  const { format, units } = sound
  if (format === target && format !== 'pcm') return { ...sound, seconds: () => null }
  try {
    const samples = await samplesOf(sound, converter, options)
    const { pcm, seconds } = countSeconds(target === 'pcm' && rate !== undefined ? resample(samples, rate) : samples)
    const bytes = explainErrors(converter.fromPcm(pcm, target, options))
    return { format: target, sampleRate: target === 'pcm' ? pcm.sampleRate : null, bytes, units, seconds }
  } catch (error) {
    if (error instanceof FormatNotMade) return refuse('no_route', { param: 'format', message: error.message })
    throw error
  }
}

async function samplesOf(
  { format, sampleRate, bytes }: MadeSound,
  converter: Converter,
  options: ConvertOptions,
): Promise<Pcm> {
  if (format === 'pcm') return { sampleRate: sampleRate ?? USUAL_RATE, bytes }
  if (format !== 'wav') return converter.toPcm(bytes, USUAL_RATE, options)
  const wave = await waveSamples(bytes)
  return 'sampleRate' in wave ? wave : converter.toPcm(wave.bytes, USUAL_RATE, options)
}

function countSeconds({ sampleRate, bytes }: Pcm): { pcm: Pcm; seconds(): number } {
  let size = 0
  return {
    pcm: {
      sampleRate,
      bytes: (async function* () {
        for await (const part of bytes) {
          size += part.length
          yield part
        }
      })(),
    },
    seconds: () => size / 2 / sampleRate,
  }
}

/** Undecodable bytes weren't audio, and a caller that waits too long is informed. */
async function* explainErrors(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* bytes
  } catch (error) {
    if (error instanceof Busy)
      refuse('unavailable', {
        message: 'The server is generating or converting too much speech right now. Try again in a few seconds.',
      })
    if (error instanceof ProgramFailed)
      throw new MediaFault('bad_answer', `The provider’s audio can’t be read: ${error.message}`)
    throw error
  }
}
