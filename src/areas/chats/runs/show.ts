import type { z } from 'zod'
import { type Event, type EventBatch, encodeEvent } from '#kernel/answers.ts'
import type { Id } from '#kernel/ids.ts'
import { toUsd, usdOrNull } from '#kernel/money.ts'
import type { Principal } from '#kernel/principal.ts'
import { iso, isoOrNull } from '#kernel/time.ts'
import { keptUsage } from '#kernel/usage.ts'
import type { Answered, Run } from '../contract-runs.ts'
import type { MessageRow } from '../messages/message-store.ts'
import { showMessage } from '../messages/show.ts'
import type { Logged } from './event-store.ts'
import type { RunRow } from './run-store.ts'

/**
 * The run as this reader is told of it. Why it was refused is told in full to whoever sent it, by the key that they sent
 * it with or signed in: another key of theirs need not know of their balance. Nor is the server told on their behalf:
 * what an agent's tool is told, others read too.
 */
export function visibleTo({ accountId, credential }: Principal, row: RunRow): RunRow {
  if (row.payer_error === null || row.account_id !== accountId) return row
  const sent = credential.kind === 'session' || (credential.kind === 'key' && credential.id === row.key_id)
  return sent ? { ...row, error: row.payer_error } : row
}

/** The run, as all who read the chat are told of it. */
export const showRun = (row: RunRow): z.output<typeof Run> => ({
  id: row.id,
  chat_id: row.chat_id,
  workspace_id: row.workspace_id,
  created_by: row.account_id,
  agent_id: row.agent_id,
  goal_id: row.goal_id,
  parent_run_id: row.parent_run_id,
  status: row.status,
  status_reason: row.status_reason,
  on_busy: row.on_busy,
  attempt: row.attempt,
  model: row.model,
  input_message_id: row.input_message_id,
  output_message_id: row.output_message_id,
  pending_actions: row.pending_actions.map(
    ({ id, kind, tool, arguments: given, can_remember = false, expires_at }) => ({
      id,
      kind,
      tool,
      arguments: given,
      can_remember,
      expires_at,
    }),
  ),
  error: row.error,
  usage: keptUsage(row.usage),
  max_cost_usd: usdOrNull(row.budget_nano),
  cost_usd: usdOrNull(row.cost_nano),
  children_cost_usd: toUsd(row.children_nano),
  queued_at: iso(row.queued_at),
  started_at: isoOrNull(row.started_at),
  completed_at: isoOrNull(row.completed_at),
  cancel_requested_at: isoOrNull(row.cancel_requested_at),
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

export const showAnswered = (message: MessageRow, run: RunRow): z.output<typeof Answered> => ({
  ...showMessage(message),
  run: showRun(run),
})

/** Events of a run's log, as its readers get them. */
export class RunEventBatch implements EventBatch {
  readonly #runId: Id
  readonly #logged: readonly Logged[]
  #bytes: Buffer | null = null

  constructor(runId: Id, logged: readonly Logged[]) {
    this.#runId = runId
    this.#logged = logged
  }

  get bytes(): Buffer {
    return (this.#bytes ??= Buffer.from(this.events().map(encodeEvent).join('')))
  }

  events(): Event[] {
    return this.#logged.map(({ seq, type, at, data }) => ({
      id: String(seq),
      event: type,
      data: { seq, run_id: this.#runId, at: iso(at), ...data },
    }))
  }
}
