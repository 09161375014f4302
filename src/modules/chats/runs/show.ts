import type { z } from 'zod'
import type { Engine } from '#infra/context.ts'
import { type Event, type EventBatch, encodeEvent } from '#core/answers.ts'
import type { Id } from '#core/ids.ts'
import { toUsd, usdOrNull } from '#core/money.ts'
import type { Principal } from '#core/principal.ts'
import { iso, isoOrNull } from '#core/time.ts'
import { keptUsage } from '#core/usage.ts'
import type { Answered, Run } from '../contract-runs.ts'
import type { MessageRow } from '../messages/message-store.ts'
import { showMessage } from '../messages/show.ts'
import type { Logged } from './event-store.ts'
import { chatStore } from '../store.ts'
import { type RunRow, runStore } from './run-store.ts'

/**
 * Shows the full error only to the account that sent the message, signed in or with the same API key: other keys
 * shouldn't reveal the account's balance.
 * The server acting for the sender doesn't see it either, because an agent's tool results have other readers.
 */
export function visibleTo({ accountId, credential }: Principal, row: RunRow): RunRow {
  if (row.payer_error === null || row.account_id !== accountId) return row
  const isSender = credential.kind === 'session' || (credential.kind === 'key' && credential.id === row.key_id)
  return isSender ? { ...row, error: row.payer_error } : row
}

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

/**
 * Returns the run as notifications describe it, or null if it was deleted. `seconds` counts from its start, or from
 * queueing.
 */
export async function runToReport(
  postgres: Engine['postgres'],
  id: Id,
): Promise<{
  accountId: Id
  chatId: Id
  workspaceId: Id
  title: string
  seconds: number
  status: RunRow['status']
  error: string | null
  automated: boolean
  delegated: boolean
  status_reason: string | null
} | null> {
  const [run] = await runStore.byIds(postgres.db, [id])
  const chat = run && (await chatStore.get(postgres.db, run.chat_id))
  if (!run || !chat) return null
  const endedAt = run.completed_at ?? new Date()
  return {
    accountId: run.account_id,
    chatId: run.chat_id,
    workspaceId: run.workspace_id,
    // Notifications outlive a temporary chat, so they must not contain its title.
    title: chat.temporary ? 'a temporary chat' : chat.title,
    seconds: (endedAt.getTime() - (run.started_at ?? run.queued_at).getTime()) / 1000,
    status: run.status,
    error: run.error?.message ?? null,
    automated: run.automation_run_id !== null,
    delegated: run.parent_call !== null,
    status_reason: run.status_reason,
  }
}
