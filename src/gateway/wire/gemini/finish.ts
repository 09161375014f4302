import type { FinishReason } from '../../model/canonical-request.ts'

/**
 * Maps `finishReason` (@google/genai 3.1.0) to ours. Reasons that aren't listed, such as `OTHER`, mean that generation
 * failed.
 */
const reasons: Record<string, FinishReason> = {
  STOP: 'stop',
  CONTINUATION: 'stop',
  MAX_TOKENS: 'length',
  SAFETY: 'content_filter',
  RECITATION: 'content_filter',
  BLOCKLIST: 'content_filter',
  PROHIBITED_CONTENT: 'content_filter',
  SPII: 'content_filter',
  IMAGE_SAFETY: 'content_filter',
  IMAGE_PROHIBITED_CONTENT: 'content_filter',
  IMAGE_RECITATION: 'content_filter',
}

const failureReasons = new Set(
  `MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS MALFORMED_RESPONSE OTHER LANGUAGE NO_IMAGE
  IMAGE_OTHER MISSING_THOUGHT_SIGNATURE`.split(/\s+/),
)

/** Calls, including those of earlier chunks, turn a normal end into `tool_calls`. Unknown reasons are normal ends. */
export function readFinish(native: string, calls: boolean): FinishReason {
  if (failureReasons.has(native)) return 'error'
  const reason = reasons[native] ?? 'stop'
  return reason === 'stop' && calls ? 'tool_calls' : reason
}
