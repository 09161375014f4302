import type { FinishReason } from '../../../model/canonical-request.ts'

const reasons: Record<string, FinishReason> = {
  stop: 'stop',
  length: 'length',
  max_tokens: 'length',
  model_length: 'length',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  content_filter: 'content_filter',
  error: 'error',
}

/**
 * Calls turn a normal end into `tool_calls` (providers say `stop` when a tool was forced) but never hide a `length`. A
 * refusal with a normal end was filtered. Unknown reasons are normal ends.
 */
export function readFinish(native: string, calls: boolean, isRefusal: boolean): FinishReason {
  const reason = reasons[native] ?? 'stop'
  if (reason === 'tool_calls') return calls ? reason : 'stop'
  if (reason !== 'stop') return reason
  if (calls) return 'tool_calls'
  return isRefusal ? 'content_filter' : 'stop'
}
