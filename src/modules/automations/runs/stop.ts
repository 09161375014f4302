import { type ChatHandles, stopRun } from '#modules/chats/service.ts'
import { cancelOperation } from '#modules/operations/service.ts'
import type { Context, Engine } from '#infra/context.ts'
import { type ErrorBody, Refusal, errorBody } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { end } from './end.ts'
import { type AutomationRunRow, runStore } from './run-store.ts'

/** Ends the rows first, so that later chat events find them ended, then stops the chat runs. */
export async function stopRuns(
  engine: Engine<ChatHandles>,
  ids: readonly Id[],
  status: 'cancelled' | 'timed_out',
): Promise<AutomationRunRow[]> {
  const endedRuns: AutomationRunRow[] = []
  const lanes: Promise<void>[] = []
  for (const id of ids) {
    const row = await engine.postgres.db.transaction().execute(async (db) => {
      const run = await runStore.lock(db, id)
      if (!run || (run.status !== 'queued' && run.status !== 'running')) return null
      return end(db, run, { status, error: status === 'timed_out' ? tooLong() : null, cost: null })
    })
    if (row === null) continue
    endedRuns.push(row)
    engine.bus.poke('outbox')
    if (row.operation_id !== null) await cancelOperation(engine, row.operation_id)
    if (row.chat_id !== null && row.run_id !== null)
      // In parallel, because each may take seconds.
      lanes.push(
        stopRun(engine, row.chat_id, row.run_id).catch((error: unknown) =>
          engine.log.warn({ error, automation_run: id }, 'the run of a chat was not stopped'),
        ),
      )
  }
  await Promise.all(lanes)
  if (endedRuns.length > 0) engine.bus.poke('automations')
  return endedRuns
}

export const giveWayTo = (ctx: Context<ChatHandles>, ids: readonly Id[]): void =>
  ctx.afterCommit(
    () =>
      void stopRuns(ctx.engine, ids, 'cancelled').catch((error: unknown) =>
        ctx.log.warn({ error }, 'automation runs cannot be stopped right now'),
      ),
  )

const tooLong = (): ErrorBody['error'] =>
  errorBody(new Refusal('timeout', { message: 'The run took longer than `timeout_seconds`.' })).error
