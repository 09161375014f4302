import type { z } from 'zod'
import { showResource } from '#access/resources.ts'
import { encodeEvent } from '#kernel/answers.ts'
import type { Id } from '#kernel/ids.ts'
import { type Nano, toUsd, usdOrNull } from '#kernel/money.ts'
import type { Principal } from '#kernel/principal.ts'
import { iso, isoOrNull } from '#kernel/time.ts'
import type { MessageCost } from './contract-costs.ts'
import type { Goal } from './contract-goals.ts'
import type { Message } from './contract-messages.ts'
import type { Answered, Run } from './contract-runs.ts'
import type { Chat } from './contract.ts'
import type { GoalRow } from './goals/goal-store.ts'
import type { MessageRow } from './messages/message-store.ts'
import type { Logged } from './runs/event-store.ts'
import type { RunRow } from './runs/run-store.ts'
import type { ChatRow } from './store.ts'

export const showChat = (row: ChatRow): z.output<typeof Chat> => ({
  ...showResource(row),
  title: row.title,
  title_source: row.title_source,
  agent_id: row.agent_id,
  model: row.model,
  head_message_id: row.head_message_id,
  active_run_id: row.active_run_id,
  forked_from:
    row.forked_from_chat_id === null
      ? null
      : { chat_id: row.forked_from_chat_id, message_id: row.forked_from_message_id },
  parent_chat_id: row.parent_chat_id,
  max_cost_usd: usdOrNull(row.max_cost_nano),
  spent_usd: toUsd(row.spent_nano ?? 0n),
  message_count: row.last_seq,
  last_message_at: isoOrNull(row.last_message_at),
})

export const showMessage = (row: MessageRow): z.output<typeof Message> => ({
  id: row.id,
  chat_id: row.chat_id,
  parent_id: row.parent_id,
  run_id: row.run_id,
  role: row.role,
  status: row.status,
  content: row.content,
  text: row.text,
  model: row.model,
  provider: row.provider,
  finish_reason: row.finish_reason,
  usage: row.usage,
  cost_usd: row.cost_nano === null ? null : toUsd(row.cost_nano),
  seq: row.seq,
  created_by: row.created_by,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

/**
 * The run as this reader is told of it. Why it was refused is told in full to whoever sent it, by the key that they sent
 * it with or signed in: another key of theirs need not know of their balance. Nor is the server told on their behalf:
 * what an agent's tool is told, others read too.
 */
export function toldTo({ accountId, credential }: Principal, row: RunRow): RunRow {
  if (row.payer_error === null || row.account_id !== accountId) return row
  const sent = credential.kind === 'session' || (credential.kind === 'key' && credential.id === row.key_id)
  return sent ? { ...row, error: row.payer_error } : row
}

/** As all who read the chat are told. */
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
  pending_actions: row.pending_actions,
  error: row.error,
  usage: row.usage,
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

export const showGoal = (row: GoalRow, spent: Nano): z.output<typeof Goal> => ({
  id: row.id,
  chat_id: row.chat_id,
  workspace_id: row.workspace_id,
  created_by: row.account_id,
  status: row.status,
  objective: row.objective,
  criteria: row.criteria,
  model: row.model,
  judge_model: row.judge_model,
  max_turns: row.max_turns,
  max_cost_usd: usdOrNull(row.max_cost_nano),
  max_duration_seconds: row.max_duration_seconds,
  turns_used: row.turns_used,
  spent_usd: toUsd(spent),
  exhausted_by: row.exhausted_by,
  last_feedback: row.last_feedback,
  run_id: row.run_id,
  error: row.error,
  completed_at: isoOrNull(row.completed_at),
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

export const showAnswered = (message: MessageRow, run: RunRow): z.output<typeof Answered> => ({
  ...showMessage(message),
  run: showRun(run),
})

/** Events of the log as server-sent events carry them. */
export const framesOf = (runId: Id, events: readonly Logged[]): Buffer =>
  Buffer.from(
    events
      .map(({ seq, type, at, data }) =>
        encodeEvent({ id: String(seq), event: type, data: { seq, run_id: runId, at: iso(at), ...data } }),
      )
      .join(''),
  )

export const showMessageCost = (row: MessageRow, run: RunRow | undefined): z.output<typeof MessageCost> => ({
  id: row.id,
  role: row.role,
  status: row.status,
  model: row.model,
  provider: row.provider,
  usage: row.usage,
  cost_usd: row.cost_nano === null ? null : toUsd(row.cost_nano),
  run:
    run === undefined
      ? null
      : {
          id: run.id,
          status: run.status,
          attempt: run.attempt,
          usage: run.usage,
          cost_usd: run.cost_nano === null ? null : toUsd(run.cost_nano),
        },
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})
