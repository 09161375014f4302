import type { Id } from '#kernel/ids.ts'
import { countedIn, guards } from './holds.ts'
import type { MeteredCall, Outcome } from './ledger.ts'

/** One element of what the SQL function `settle_calls` takes. Money as words, for JSON numbers are not exact. */
export interface Item {
  id: Id
  act: 'settle' | 'release'
  [field: string]: unknown
}

/** The part of a record that is known when a call begins; a reservation keeps it for the case that its process dies. */
export const callFields = (call: MeteredCall): Record<string, unknown> => ({
  guarded: guards(call.payer, call.billing),
  account_id: call.payer.accountId,
  workspace_id: call.payer.workspaceId,
  key_id: call.payer.key?.id,
  chat_id: call.payer.chatId,
  run_id: call.payer.runId,
  message_id: call.payer.messageId,
  surface: call.surface,
  model: storable(call.model),
  provider: storable(call.provider),
  endpoint_id: call.endpointId,
  billing: call.billing,
  started_at: call.startedAt,
  ...countedIn(call),
})

export function settleItem(call: MeteredCall, outcome: Outcome): Item {
  const { usage } = outcome
  return {
    id: call.id,
    act: 'settle',
    ...callFields(call),
    status: outcome.status,
    input_tokens: whole(usage.input_tokens),
    cache_read_tokens: whole(usage.cache_read_tokens),
    cache_write_5m_tokens: whole(usage.cache_write_5m_tokens),
    cache_write_1h_tokens: whole(usage.cache_write_1h_tokens),
    output_tokens: whole(usage.output_tokens),
    reasoning_tokens: whole(usage.reasoning_tokens),
    images: whole(usage.images),
    audio_seconds: Number.isFinite(usage.audio_seconds) ? Math.max(0, usage.audio_seconds) : 0,
    requests: whole(usage.requests),
    total_tokens: whole(usage.total_tokens),
    cost: outcome.cost === null ? null : String(outcome.cost > 0n ? outcome.cost : 0n),
    cost_source: outcome.costSource,
    finish_reason: outcome.finishReason && storable(outcome.finishReason),
    first_token_ms: outcome.firstTokenMs === null ? null : milliseconds(outcome.firstTokenMs),
    duration_ms: milliseconds(outcome.durationMs),
    streamed: outcome.streamed,
  }
}

export const releaseItem = (id: Id): Item => ({ id, act: 'release' })

// Counts and words come from providers: what a column cannot hold must not keep a thousand others from being settled.
const whole = (count: number): number =>
  Number.isFinite(count) ? Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, Math.round(count))) : 0
const milliseconds = (count: number): number => Math.min(2 ** 31 - 1, whole(count))
const storable = (words: string): string => words.replaceAll('\0', '').toWellFormed().slice(0, 512)
