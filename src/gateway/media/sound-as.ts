import { Busy } from '#infra/confined/turns.ts'
import { type ConvertOptions, type Converter, FormatNotMade } from '#infra/media/convert/converter.ts'
import { resample } from '#infra/media/convert/samples.ts'
import { waveSamples } from '#infra/media/convert/wave.ts'
import type { Pcm, SoundFormat } from '#infra/media/facts.ts'
import { ProgramFailed } from '#infra/media/programs.ts'
import { refuse } from '#core/errors.ts'
import { type MadeSound, MediaFault } from './adapter.ts'

/** Sound in the format asked, and its length as far as it is known: of samples that went by. */
export interface ShapedSound extends MadeSound {
  /** Null: the vendor made the file, and it was not looked into. */
  seconds(): number | null
}

/** Hz of samples where their maker does not say it, as OpenAI and Gemini make them, and of what is read of other formats. */
const USUAL_RATE = 24_000

/**
 * Made sound as the caller wants it: passed on where it comes so, else converted while it comes. Refuses (`no_route`) a
 * format that needs a program which is not installed. `rate`: of plain samples, in Hz; absent: as they come.
 */
export async function soundAs(
  sound: MadeSound,
  wanted: SoundFormat,
  converter: Converter,
  { rate, ...options }: ConvertOptions & { rate?: number },
): Promise<ShapedSound> {
  const { format, units } = sound
  if (format === wanted && format !== 'pcm') return { ...sound, seconds: () => null }
  try {
    const made = await samplesOf(sound, converter, options)
    const { pcm, seconds } = counted(wanted === 'pcm' && rate !== undefined ? resample(made, rate) : made)
    const bytes = explained(converter.fromPcm(pcm, wanted, options))
    return { format: wanted, sampleRate: wanted === 'pcm' ? pcm.sampleRate : null, bytes, units, seconds }
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
  const found = await waveSamples(bytes)
  return 'sampleRate' in found ? found : converter.toPcm(found.bytes, USUAL_RATE, options)
}

function counted({ sampleRate, bytes }: Pcm): { pcm: Pcm; seconds(): number } {
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

/**
 * Translates a converter's errors: bytes that it cannot read were no sound, and a caller that waits too long is told
 * so.
 */
async function* explained(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
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
