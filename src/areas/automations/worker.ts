import type { Engine } from '#engine/context.ts'
import { writeOutbox } from '#engine/outbox.ts'
import type { Id } from '#kernel/ids.ts'
import { type Firing, admit } from './admit.ts'
import { runEvent } from './events.ts'
import { launch } from './launch.ts'
import { scheduleOf } from './schedule.ts'
import { automationStore, runStore } from './store.ts'
import { stopRuns } from './stop.ts'
import { dueTicks } from './ticks.ts'

const LOOK_MS = 250
/** Automations that are fired in one transaction, and ticks of each that are made up for at once. */
const AT_ONCE = 500
const MOST_TICKS = 1_000
const LAUNCHES = 8

/**
 * Fires what is due and starts what waits. Every process does: rows that one holds are left by the others, and a tick is
 * a row that can be written once, so no two fire the same. The clock is the database's, which all of them share.
 */
export function startAutomations(engine: Engine): AsyncDisposable {
  const { postgres, bus, log } = engine
  const closing = new AbortController()

  const firing = turning(async () => {
    while (!closing.signal.aborted && (await fireDue(engine))) starting.wake()
  }, 'automations cannot be fired now')
  const inHand = new Set<Id>()
  const starting = turning(async () => {
    for (;;) {
      const ids = (await runStore.ready(postgres.db, AT_ONCE)).filter((id) => !inHand.has(id))
      if (ids.length === 0 || closing.signal.aborted) return
      for (const id of ids) inHand.add(id)
      let failed = 0
      const lane = async (): Promise<void> => {
        for (let id = ids.pop(); id !== undefined && !closing.signal.aborted; id = ids.pop())
          await launch(engine, id, closing.signal)
            .catch((error: unknown) => {
              failed += 1
              log.error({ error, automation_run: id }, 'a run of an automation cannot be started now')
            })
            .finally(() => inHand.delete(id))
      }
      ids.reverse()
      await Promise.all(Array.from({ length: LAUNCHES }, lane))
      // Faults of ours are tried again with the next look, not in a circle.
      if (failed > 0) return
    }
  }, 'runs of automations cannot be started now')

  function turning(work: () => Promise<void>, trouble: string) {
    let again = false
    let running: Promise<void> | null = null
    const run = async (): Promise<void> => {
      while (again && !closing.signal.aborted) {
        again = false
        await work().catch((error: unknown) => log.warn({ error }, trouble))
      }
    }
    return {
      wake(): void {
        again = true
        running ??= run().finally(() => (running = null))
      },
      done: () => running,
    }
  }
  const wake = (): void => {
    firing.wake()
    starting.wake()
  }
  const timer = setInterval(wake, LOOK_MS)
  const woken = bus.on('automations', wake)
  wake()
  return {
    async [Symbol.asyncDispose]() {
      closing.abort()
      clearInterval(timer)
      woken[Symbol.dispose]()
      await firing.done()
      await starting.done()
    },
  }
}

/** One batch of what is due. Whether there may be more. */
export async function fireDue(engine: Engine, now?: Date): Promise<boolean> {
  const { postgres, bus } = engine
  const done = await postgres.db.transaction().execute(async (db) => {
    const at = now ?? (await clockOf(db))
    const due = await automationStore.due(db, at, AT_ONCE)
    const firings: Firing[] = []
    const moves: { id: Id; next: Date | null; fired: Date | null }[] = []
    let more = due.length === AT_ONCE
    for (const automation of due) {
      const {
        ticks,
        next,
        more: left,
      } = dueTicks(
        scheduleOf(automation.schedule!, automation.time_zone!),
        automation.next_fire_at!,
        at,
        { policy: automation.catch_up, windowSeconds: automation.catch_up_window_seconds },
        MOST_TICKS,
      )
      more ||= left
      const asleep = automation.status !== 'active' || automation.workspace_status !== 'active'
      for (const tick of ticks)
        firings.push({
          automation,
          trigger: 'cron',
          at: tick.at,
          webhookId: null,
          payload: null,
          skip: asleep ? 'archived' : tick.does === 'missed' ? 'missed' : null,
        })
      moves.push({ id: automation.id, next, fired: asleep ? null : (ticks.at(-1)?.at ?? null) })
    }
    if (due.length === 0) return null
    const admitted = await admit(db, firings, at)
    await automationStore.advance(db, moves)
    const names = new Map(due.map((automation) => [automation.id, automation]))
    for (const row of admitted.rows)
      if (row.status === 'queued') await writeOutbox(db, runEvent(row, 'queued', names.get(row.automation_id)!), null)
    return { more, giveWay: admitted.giveWay }
  })
  if (done === null) return false
  bus.poke('outbox')
  await stopRuns(engine, done.giveWay, 'cancelled')
  return done.more
}

async function clockOf(db: Engine['postgres']['db']): Promise<Date> {
  const { now } = await db.selectNoFrom((of) => of.fn<Date>('clock_timestamp').as('now')).executeTakeFirstOrThrow()
  return now
}
