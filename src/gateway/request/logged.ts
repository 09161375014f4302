import type { Payer } from '#infra/ledger/ledger.ts'
import type { LoggedRequest } from '#infra/request-log/request-log.ts'
import { Refusal } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { UpstreamFault } from '../model/canonical-request.ts'
import { refusalOf } from '../model/refusal.ts'

export interface RequestFacts {
  /** Null: an internal call, for example by a run. */
  path: string | null
  model: string | null
  bytes: number | null
}

export interface Asker {
  readonly id: Id
  readonly payer: Payer
  readonly surface: string
  readonly startedAt: number
  asked(): RequestFacts
}

export function askerOf(asker: Asker) {
  const { id, payer, surface, startedAt } = asker
  const { path, model, bytes } = asker.asked()
  const duration_ms = Math.round(performance.now() - startedAt)
  return {
    id,
    account_id: payer.accountId,
    workspace_id: payer.workspaceId,
    key_id: payer.key?.id ?? null,
    chat_id: payer.chatId ?? null,
    run_id: payer.runId ?? null,
    surface,
    path,
    asked_model: model,
    request_bytes: bytes,
    duration_ms,
    created_at: new Date(Date.now() - duration_ms),
  }
}

export function refusedEntry(asker: Asker, failure: unknown, status: number): LoggedRequest {
  const { code, message } = faultWords(failure)
  return {
    ...askerOf(asker),
    streamed: false,
    model: null,
    provider: null,
    status: 'failed',
    http_status: status,
    error_code: code,
    error_message: message,
    losses: [],
    tried: [],
  }
}

export interface FaultWords {
  code: string
  message: string
  answered: number
  status: number | null
}

/** Only messages meant for callers. */
export function faultWords(failure: unknown): FaultWords {
  if (failure instanceof Refusal)
    return { code: failure.code, message: failure.message, answered: failure.status, status: null }
  if (failure instanceof Error || typeof failure !== 'object' || failure === null)
    return {
      code: 'internal_error',
      message: 'The server failed. Its log has the details.',
      answered: 500,
      status: null,
    }
  const fault = failure as UpstreamFault
  const { code, message, status: answerStatus } = refusalOf(fault)
  return { code, message, answered: answerStatus, status: fault.status ?? null }
}
