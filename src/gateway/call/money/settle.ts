import { type Usage, usageOf } from '#core/usage.ts'
import type { Reading } from '../../model/in-progress.ts'

interface BilledUsage {
  usage: Usage
  estimated: boolean
}

/**
 * A truncated answer has reported at most the beginning of its output, so the written text counts if it is more (four
 * characters per token).
 */
export function billedUsage(
  reading: Reading,
  complete: boolean,
  characters: number,
  request: { guessInput(): number },
): BilledUsage {
  const { usage } = reading
  if (reading.unpriced) return { usage: usageOf({}), estimated: usage === null }
  const writtenTokens = Math.ceil(characters / 4)
  if (usage === null)
    return {
      usage: usageOf({
        input_tokens: request.guessInput(),
        output_tokens: writtenTokens,
        images: reading.pictures ?? 0,
      }),
      estimated: true,
    }
  const output = complete || reading.finishReason !== null ? 0 : writtenTokens - usage.reasoning_tokens
  return output > usage.output_tokens
    ? { usage: usageOf({ ...usage, output_tokens: output }), estimated: true }
    : { usage, estimated: false }
}
