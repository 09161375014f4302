import type { z } from 'zod'
import { type CallRow, usageFrom } from '#infra/ledger/calls/calls.ts'
import type { Id } from '#core/ids.ts'
import { toUsd, usdOrNull } from '#core/money.ts'
import { iso } from '#core/time.ts'
import type { LoggedRequest, RequestTrace } from '../contract-requests.ts'
import type { RequestRow } from './request-store.ts'

export const showRequest = (row: RequestRow): z.output<typeof LoggedRequest> => ({
  id: row.id,
  created_at: iso(row.created_at),
  user_id: row.account_id,
  workspace_id: row.workspace_id,
  key_id: row.key_id,
  key_name: row.key_name,
  chat_id: row.chat_id,
  run_id: row.run_id,
  surface: row.surface,
  path: row.path,
  asked_model: row.asked_model,
  model: row.model,
  provider: row.provider,
  status: row.status,
  http_status: row.http_status,
  error_code: row.error_code,
  streamed: row.streamed,
  duration_ms: row.duration_ms,
  first_token_ms: row.first_token_ms,
  total_tokens: row.total_tokens === null ? null : Number(row.total_tokens),
  cost_usd: usdOrNull(row.cost),
})

/** `own`: includes providers' messages, which may quote the request. */
export function showTrace(
  row: RequestRow,
  calls: ReadonlyMap<Id, CallRow>,
  own: boolean,
): z.output<typeof RequestTrace> {
  const finalAttempt = row.tried.findLast(({ outcome }) => outcome === 'answered') ?? row.tried.at(-1)
  const call = calls.get(finalAttempt?.call_id ?? row.id)
  return {
    ...showRequest(row),
    request_bytes: row.request_bytes,
    error_message: own ? row.error_message : null,
    losses: row.losses,
    tried: row.tried.map((one) => ({
      ...one,
      message: own ? one.message : null,
      cost_usd: usdOrNull(calls.get(one.call_id)?.cost_nano ?? null),
    })),
    usage: call === undefined ? null : usageFrom(call),
    billing: call?.billing ?? null,
    charged_usd: call === undefined ? null : toUsd(call.charged_nano),
    cost_source: call?.cost_source ?? null,
    finish_reason: call?.finish_reason ?? null,
  }
}
