import type { Engine } from '#engine/context.ts'
import type { Consumer, Happened } from '#engine/deliveries.ts'
import type { Interrupted } from '#engine/ledger/reconcile.ts'
import { writeOutbox } from '#engine/outbox.ts'
import { messageStore } from './message-store.ts'
import { runStore, stepStore } from './run-store.ts'
import { messageEvent } from './transitions.ts'

/**
 * What the ledger settled for a process that died reaches the message and the run that the call was for: the estimate is
 * all that anybody will ever know of its cost. Its step is what makes a second delivery harmless.
 */
export const interruptedCalls = (engine: Engine): Consumer => ({
  name: 'chats.interrupted_calls',
  types: ['call.interrupted'],
  async handle({ data, at }: Happened) {
    const { call_id, chat_id, run_id, message_id, model, provider, cost_nano } = data as unknown as Interrupted
    if (chat_id === null || run_id === null) return
    const cost = BigInt(cost_nano)
    await engine.postgres.db.transaction().execute(async (db) => {
      const run = await runStore.hold(db, chat_id, run_id)
      if (!run || (await stepStore.hasCall(db, run_id, call_id))) return
      await runStore.addCost(db, run_id, cost)
      await stepStore.insert(db, run, {
        kind: 'model',
        name: model,
        status: 'interrupted',
        idempotent: true,
        result: { call_id, model, provider, cost_source: 'estimated' },
        error: null,
        cost_nano: cost,
        started_at: new Date(at),
      })
      const message =
        message_id === null ? undefined : await messageStore.addCost(db, message_id, { model, provider, cost })
      if (message) await writeOutbox(db, messageEvent(message, run.workspace_id, 'updated'), null)
    })
  },
})
