import type { Db } from '#infra/postgres/client.ts'
import { refuse } from '#core/errors.ts'
import { messageStore } from '../messages/message-store.ts'
import { eventStore } from './event-store.ts'
import { type PendingAction, type RunRow, approvedCalls, runStore } from './run-store.ts'
import { stepStore } from './step-store.ts'
import { bounded, mistake, openCalls } from '../messages/tool-calls.ts'
import type { RunEvent } from './facts.ts'
import { numberedEvents } from './transitions.ts'

export interface Decision {
  id: string
  decision: 'allow' | 'deny'
  output?: unknown
  remember?: 'chat' | undefined
}

const DENIED = mistake('The user denied this call.').output
const UNANSWERED = mistake('No one approved this call in time, so it wasn’t made.').output

/**
 * Applies decisions to pending calls, and queues the run once none is pending. Needs the chat lock.
 * Throws `not_found` for a call that isn't pending.
 */
export async function decideCalls(db: Db, run: RunRow, decisions: readonly Decision[]): Promise<RunRow> {
  const message = (await messageStore.get(db, run.chat_id, run.output_message_id)) ?? refuse('not_found')
  const open = openCalls(message.content)
  const waiting = new Map(run.pending_actions.map((action) => [action.id, action]))
  const approved = approvedCalls(run)
  const facts: RunEvent[] = []
  const content = [...message.content]
  for (const [i, { id, decision, output }] of decisions.entries()) {
    const call = open.find(({ call }) => call.id === id)
    const action = waiting.get(id)
    waiting.delete(id)
    if (!action || !call)
      refuse('not_found', { param: `actions.${i}.id`, message: 'The run isn’t waiting for this action.' })
    if (decision === 'allow' && output === undefined) {
      // Closes an interrupted step of this call, because the approval already allows calling the tool again.
      await stepStore.interrupt(db, run, call.index)
      approved.push({ part: call.index, definition: action.definition ?? null })
      continue
    }
    const result = bounded({ output: output ?? DENIED, is_error: decision === 'deny' })
    content.push({ type: 'tool_result', tool_call_id: id, ...result })
    facts.push({ type: 'tool_result', data: { tool_call_id: id, ...result } })
  }
  const { seq } = await eventStore.last(db, run.id)
  await eventStore.insert(db, run.id, numberedEvents(facts, seq))
  await messageStore.keep(db, message.id, { content })
  return runStore.decide(db, run.id, { pending: [...waiting.values()], approved })
}

export const denyExpired = (db: Db, run: RunRow, at: Date): Promise<RunRow> =>
  decideCalls(
    db,
    run,
    // Providers can reuse a call ID. Decide each ID once.
    [...new Set(run.pending_actions.filter((action) => isOver(action, at)).map(({ id }) => id))].map((id) => ({
      id,
      decision: 'deny' as const,
      output: UNANSWERED,
    })),
  )

const isOver = ({ expires_at }: PendingAction, at: Date): boolean => expires_at !== null && new Date(expires_at) <= at
