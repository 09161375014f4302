import type { FinishReason } from '../../model/canonical-request.ts'

/** `finishReason` (@google/genai 3.1.0) as ours. What is not here, `OTHER` among it, is a generation that broke. */
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

const broken = new Set(
  `MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS MALFORMED_RESPONSE OTHER LANGUAGE NO_IMAGE
  IMAGE_OTHER MISSING_THOUGHT_SIGNATURE`.split(/\s+/),
)

/** Calls that were seen, if in an earlier piece, turn a plain end into `tool_calls`; words that nobody knows end plainly. */
export function readFinish(native: string, calls: boolean): FinishReason {
  if (broken.has(native)) return 'error'
  const reason = reasons[native] ?? 'stop'
  return reason === 'stop' && calls ? 'tool_calls' : reason
}
