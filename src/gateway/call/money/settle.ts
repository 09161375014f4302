import { type Usage, usageOf } from '#core/usage.ts'
import type { Reading } from '../../model/in-progress.ts'

/** The usage of an attempt, and whether that is a guess: four characters a token. */
interface Used {
  usage: Usage
  estimated: boolean
}

/**
 * The usage that is paid for. An answer that came to no end has told its input and the beginning of its output at most: what was
 * written counts, where that is more. `characters` that came, about.
 */
export function billedUsage(
  reading: Reading,
  complete: boolean,
  characters: number,
  asked: { guessInput(): number },
): Used {
  const { usage } = reading
  if (reading.unpriced) return { usage: usageOf({}), estimated: usage === null }
  const written = Math.ceil(characters / 4)
  if (usage === null)
    return {
      usage: usageOf({ input_tokens: asked.guessInput(), output_tokens: written, images: reading.pictures ?? 0 }),
      estimated: true,
    }
  const output = complete || reading.finishReason !== null ? 0 : written - usage.reasoning_tokens
  return output > usage.output_tokens
    ? { usage: usageOf({ ...usage, output_tokens: output }), estimated: true }
    : { usage, estimated: false }
}
