import { sql } from 'kysely'
import type { Engine } from '#infra/context.ts'
import type { Consumer, DeliveredEvent } from '#infra/outbox/deliveries.ts'
import type { InterruptedCall } from '#infra/ledger/settle/reconcile.ts'
import { writeOutbox } from '#infra/outbox/outbox.ts'
import type { Db } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import type { Nano } from '#core/money.ts'
import { eventStore } from './event-store.ts'
import { messageStore } from '../messages/message-store.ts'
import { hasVisibleEvents, savedParts } from './facts.ts'
import { type RunRow, runStore } from './run-store.ts'
import { stepStore } from './step-store.ts'
import { messageEvent } from './transitions.ts'

export const interrupted = {
  type: 'unavailable',
  code: 'interrupted',
  message: 'The server stopped while this was running.',
} as const

/**
 * Returns the parts of the answer that another process can continue from: none if readers saw nothing. `kept` is null
 * if it can't continue.
 */
export async function keptOf(tx: Db, { id, chat_id, output_message_id }: RunRow) {
  const events = await eventStore.all(tx, id)
  const before = await messageStore.get(tx, chat_id, output_message_id)
  const kept = hasVisibleEvents(events.map(({ type }) => type))
    ? savedParts(output_message_id, before?.content ?? [], events)
    : []
  return { before, kept, lastSeq: events.at(-1)?.seq ?? 0 }
}

/** A billed call of the run's model or judge that has no step. */
interface UnloggedCall {
  id: Id
  message_id: Id | null
  model: string
  provider: string
  cost: Nano
  at: Date
  source: string | null
}

/**
 * Adds the cost that the ledger settled for a dead process to the call's message and run. The estimate is the only
 * known cost.
 * The inserted step makes a repeated delivery harmless.
 */
export const interruptedCalls = (engine: Engine): Consumer => ({
  name: 'chats.interrupted_calls',
  types: ['call.interrupted'],
  async handle({ data, at }: DeliveredEvent) {
    const { call_id: id, chat_id, run_id, message_id, model, provider, cost_nano } = data as InterruptedCall
    if (chat_id === null || run_id === null) return
    await engine.postgres.db.transaction().execute(async (db) => {
      const run = await runStore.lock(db, chat_id, run_id)
      if (!run || (await stepStore.hasCall(db, run_id, id))) return
      await logCall(db, run, {
        id,
        message_id,
        model,
        provider,
        cost: BigInt(cost_nano),
        at: new Date(at),
        source: 'estimated',
      })
    })
  },
})

/**
 * Adds the step of a call that the dead process had settled: calls are settled before their step is written.
 * Runs in the transaction that resumes the run or repeats the judge's evaluation.
 */
export async function logSettledStep(db: Db, run: RunRow): Promise<void> {
  // The lock waits for a concurrent insert of the same step, so it is visible below.
  if (!(await runStore.lock(db, run.chat_id, run.id))) return
  const { rows } = await sql<UnloggedCall>`select c.id, c.message_id, c.model, c.provider, c.cost_nano as cost,
      c.cost_source as source, c.created_at as at
    from calls c where c.run_id = ${run.id} and c.surface in ('chat', 'judge') and c.cost_nano > 0
      and not exists (select from steps s where s.run_id = c.run_id and (s.result ->> 'call_id')::ulid = c.id)`.execute(
    db,
  )
  for (const call of rows) await logCall(db, run, call)
}

async function logCall(
  db: Db,
  run: RunRow,
  { id, message_id, model, provider, cost, at, source }: UnloggedCall,
): Promise<void> {
  await runStore.addCost(db, run.id, cost)
  await stepStore.insert(db, run, {
    kind: 'model',
    name: model,
    status: 'interrupted',
    idempotent: true,
    result: { call_id: id, model, provider, cost_source: source },
    error: null,
    cost_nano: cost,
    started_at: at,
  })
  const message =
    message_id === null ? undefined : await messageStore.addCost(db, message_id, { model, provider, cost })
  if (message) await writeOutbox(db, messageEvent(message, run.workspace_id, 'updated'), null)
}
