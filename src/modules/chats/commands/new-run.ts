import type { Context, Engine } from '#infra/context.ts'
import { type Id, newId } from '#core/ids.ts'
import type { Nano } from '#core/money.ts'
import type { MessageRow, Parent } from '../messages/message-store.ts'
import { type Part, textOf } from '../messages/parts.ts'
import type { OnBusy } from '../runs/run-store.ts'
import type { Claim } from '../runs/transitions.ts'
import type { LockedChat } from '../store.ts'
import type { ChatHandles } from '../worker/runs.ts'

export interface NewMessage {
  content: Part[]
  parent_id?: Id | null | undefined
  model?: string | undefined
  on_busy: OnBusy
  budget?: Nano | null
  automationRunId?: Id
  call?: string
  goalId?: Id
}

export const newRunColumns = (
  { processId }: Pick<Engine, 'processId'>,
  { input, output, at, waits }: { input: MessageRow; output: MessageRow; at: Date; waits: boolean },
) => ({
  id: input.run_id!,
  status: waits ? ('queued' as const) : ('running' as const),
  input_message_id: input.id,
  output_message_id: output.id,
  process_id: waits ? null : processId,
  fence: waits ? 0 : 1,
  queued_at: at,
  started_at: waits ? null : at,
  created_at: at,
  updated_at: at,
})

export function createMessages(
  { principal }: Context,
  chat: Pick<LockedChat, 'id' | 'last_seq'>,
  {
    parentId,
    parent,
    content,
    at,
    waits,
  }: { parentId: Id | null; parent: Parent | null; content: Part[]; at: Date; waits: boolean },
): { input: MessageRow; output: MessageRow } {
  const id = newId(at.getTime())
  const input: MessageRow = {
    ...BLANK,
    id,
    chat_id: chat.id,
    parent_id: parentId,
    line_id: parent === null || parent.continued ? id : parent.line_id,
    depth: parent === null ? 0 : parent.depth + 1,
    seq: chat.last_seq + 1,
    run_id: newId(),
    role: 'user',
    status: 'completed',
    content,
    text: textOf(content),
    created_by: principal.accountId,
    created_at: at,
    updated_at: at,
  }
  const output = createAnswer(chat, { ...input, continued: false }, input.run_id!, input.seq + 1, at)
  return { input, output: { ...output, status: waits ? 'queued' : 'in_progress' } }
}

export function createAnswer(
  chat: Pick<LockedChat, 'id'>,
  to: Parent & { id: Id },
  runId: Id,
  seq: number,
  at: Date,
): MessageRow {
  const id = newId(at.getTime())
  return {
    ...BLANK,
    id,
    chat_id: chat.id,
    parent_id: to.id,
    line_id: to.continued ? id : to.line_id,
    depth: to.depth + 1,
    seq,
    run_id: runId,
    created_at: at,
    updated_at: at,
  }
}

const BLANK = {
  role: 'assistant' as const,
  status: 'queued' as const,
  content: [],
  text: '',
  model: null,
  provider: null,
  finish_reason: null,
  usage: null,
  cost_nano: null,
  created_by: null,
}

/** Starts a claimed run here. While draining, wakes other processes instead. Call it after the commit. */
export function beginOrWake({ engine }: Context<ChatHandles>, claimed: Claim | null): void {
  const { runs } = engine
  if (claimed) runs.begin(claimed)
  else if (runs.draining) runs.wake()
}
