import { type ConvertOptions, type Converter, FormatNotMade } from '#engine/media/convert/converter.ts'
import type { Pcm } from '#engine/media/facts.ts'
import { refuse } from '#kernel/errors.ts'
import type { MadeSound, SpeechRequest } from '../adapter.ts'

/** Samples that were made here, in the format asked. Refuses (`no_route`) a format that needs what is not installed. */
export function soundIn(
  converter: Converter,
  pcm: Pcm,
  { format, input }: SpeechRequest,
  options: ConvertOptions,
): MadeSound {
  try {
    return {
      format,
      sampleRate: pcm.sampleRate,
      bytes: converter.fromPcm(pcm, format, options),
      units: () => ({ characters: [...input].length }),
    }
  } catch (error) {
    if (error instanceof FormatNotMade) return refuse('no_route', { param: 'format', message: error.message })
    throw error
  }
}
