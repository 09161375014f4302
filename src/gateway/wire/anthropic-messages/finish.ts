import type { Chunk, FinishReason } from '../../model/canonical-request.ts'

type Finish = Extract<Chunk, { type: 'finish' }>

const reasons: Record<string, FinishReason> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  compaction: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
}

/** Unknown reasons are normal ends. */
export function readFinish(native: string, stopSequence: unknown, calls: boolean): Finish {
  const reason = reasons[native] ?? 'stop'
  return {
    type: 'finish',
    reason: calls && native === 'end_turn' ? 'tool_calls' : reason,
    native,
    ...(typeof stopSequence === 'string' && { stop_sequence: stopSequence }),
  }
}

export interface Stop {
  stop_reason: string
  stop_sequence: string | null
  stop_details: { type: 'refusal'; category: null; explanation: null } | null
}

export function writeFinish({
  reason,
  native,
  stop_sequence,
}: {
  reason: FinishReason
  native: string | null
  stop_sequence?: string | null
}): Stop {
  const plain = { stop_sequence: null, stop_details: null }
  switch (reason) {
    case 'tool_calls':
      return { stop_reason: 'tool_use', ...plain }
    case 'length':
      return { stop_reason: native === 'model_context_window_exceeded' ? native : 'max_tokens', ...plain }
    case 'content_filter':
      return {
        stop_reason: 'refusal',
        stop_sequence: null,
        stop_details: { type: 'refusal', category: null, explanation: null },
      }
    case 'stop':
    case 'error':
      return stop_sequence == null
        ? { stop_reason: 'end_turn', ...plain }
        : { stop_reason: 'stop_sequence', stop_sequence, stop_details: null }
  }
}
