import { type Rounds, startRounds } from '#infra/bus/rounds.ts'
import type { Engine } from '#infra/context.ts'
import { writeOutboxAll } from '#infra/outbox/outbox.ts'
import type { Db } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import { type Firing, admit } from './runs/admit.ts'
import { launch } from './runs/launch.ts'
import { placesFor } from './runs/places.ts'
import { scheduleOf } from './schedule/schedule.ts'
import { startsStore } from './runs/starts-store.ts'
import { type StartResult, startSome } from './runs/start.ts'
import { type AutomationRow, automationStore, inactiveReason } from './store.ts'
import { stopRuns } from './runs/stop.ts'
import { type Due, dueTicks } from './schedule/ticks.ts'
import type { ChatHandles } from '#modules/chats/service.ts'
import { runEvent } from './runs/show-run.ts'

/** The delay of a tick is up to this. */
const LOOK_MS = 250
/** For runs whose announcement was lost. */
const LOST_MS = 1_000
/** Automations and ticks per transaction, so that one with a year of missed ticks delays no other. */
const AT_ONCE = 500
const MAX_TICKS = 5_000
const LAUNCHES = 8

/**
 * Fires due automations and starts queued runs, in every process: rows locked elsewhere are skipped, and a tick's row
 * can be written only once. The database's clock is used.
 */
export function startAutomations(engine: Engine<ChatHandles>): AsyncDisposable {
  const { bus, log } = engine
  const closing = new AbortController()
  const stopping = new Set<Promise<unknown>>()
  const inBackground = (work: Promise<unknown>): void => {
    const task = work
      .catch((error: unknown) => log.warn({ error }, 'automation runs cannot be stopped right now'))
      .finally(() => stopping.delete(task))
    stopping.add(task)
  }

  const rounds = (pollMs: number, work: () => Promise<void>, trouble: string): Rounds =>
    startRounds({ bus, poke: 'automations', pollMs }, work, (error) => log.warn({ error }, trouble))

  const launching = new Set<Id>()
  const place = placesFor(LAUNCHES)
  const starting = rounds(
    LOST_MS,
    async () => {
      let after: Id | null = null
      let some = false
      while (!closing.signal.aborted) {
        const startResult: StartResult = await startSome(engine, { after, but: launching, signal: closing.signal })
        for (const id of startResult.alone) inBackground(launchAlone(id))
        after = startResult.after
        some ||= startResult.lockedCount > 0
        if (after !== null) continue
        if (!some) return
        some = false
      }
    },
    'automation runs cannot be started right now',
  )
  const firing = rounds(
    LOOK_MS,
    async () => {
      while (!closing.signal.aborted && (await fireDue(engine, undefined, inBackground))) starting.wake()
    },
    'automations cannot be triggered right now',
  )

  /** Started separately, so a slow provider delays no other run. Internal errors are retried later. */
  async function launchAlone(id: Id): Promise<void> {
    launching.add(id)
    try {
      await launch(engine, id, closing.signal, place)
      launching.delete(id)
      if (launching.size === 0) starting.wake()
    } catch (error) {
      log.error({ error, automation_run: id }, 'an automation run cannot be started right now')
      setTimeout(() => launching.delete(id), LOOK_MS).unref()
    }
  }

  return {
    async [Symbol.asyncDispose]() {
      closing.abort()
      await firing[Symbol.asyncDispose]()
      await starting[Symbol.asyncDispose]()
      await Promise.all(stopping)
    },
  }
}

/**
 * Fires one batch. Returns whether more may be due. Replaced runs are stopped `inBackground`, which may take seconds.
 */
export async function fireDue(
  engine: Engine<ChatHandles>,
  now?: Date,
  inBackground?: (work: Promise<unknown>) => void,
): Promise<boolean> {
  if (now === undefined && !(await automationStore.isDue(engine.postgres.db))) return false
  const result = await engine.postgres.db.transaction().execute(async (db) => {
    const at = now ?? (await clockOf(db))
    const due = await automationStore.due(db, at, AT_ONCE)
    if (due.length === 0) return null
    const tickResult = await fireTicks(engine, db, due, at)
    return { ...tickResult, more: tickResult.more || due.length === AT_ONCE }
  })
  if (result === null) return false
  engine.bus.poke('outbox')
  if (result.giveWay.length > 0) {
    const stopping = stopRuns(engine, result.giveWay, 'cancelled')
    if (inBackground) inBackground(stopping)
    else await stopping
  }
  return result.more
}

/** Fires the ticks of locked automations until `at`. The caller stops the replaced runs. */
export async function fireTicks(
  engine: Pick<Engine, 'log' | 'config'>,
  db: Db,
  due: readonly AutomationRow[],
  at: Date,
): Promise<{ more: boolean; giveWay: Id[] }> {
  const firings: Firing[] = []
  const moves: { id: Id; next: Date | null; firedAt: Date | null }[] = []
  const most = Math.max(1, Math.floor(MAX_TICKS / due.length))
  let more = false
  for (const automation of due) {
    const plan = ticksOf(engine, automation, at, most)
    if (plan === null) {
      moves.push({ id: automation.id, next: null, firedAt: null })
      continue
    }
    more ||= plan.more
    const asleep = inactiveReason(automation)
    for (const tick of plan.ticks)
      firings.push({
        automation,
        trigger: 'cron',
        at: tick.at,
        webhookId: null,
        payload: null,
        skip: asleep ?? (tick.does === 'missed' ? 'missed' : null),
      })
    moves.push({ id: automation.id, next: plan.next, firedAt: null })
  }
  const accounts = due.map(({ account_id }) => account_id)
  const remainingStarts = await startsStore.lock(db, accounts, engine.config.limits.inference, at)
  const admission = await admit(db, firings, at, remainingStarts)
  await startsStore.keep(db, remainingStarts)
  const names = new Map(due.map((automation) => [automation.id, automation]))
  const queuedRuns = admission.rows.filter(({ status }) => status === 'queued')
  // Ordered by time, so the latest is kept.
  const lastRuns = new Map(queuedRuns.map(({ automation_id, scheduled_for }) => [automation_id, scheduled_for]))
  for (const move of moves) move.firedAt = lastRuns.get(move.id) ?? null
  await automationStore.advance(db, moves)
  await writeOutboxAll(
    db,
    queuedRuns.map((row) => runEvent(row, 'queued', names.get(row.automation_id)!)),
    null,
  )
  return { more, giveWay: admission.giveWay }
}

function ticksOf({ log }: Pick<Engine, 'log'>, row: AutomationRow, at: Date, most: number): Due | null {
  try {
    const catchUp = { policy: row.catch_up, windowSeconds: row.catch_up_window_seconds }
    return dueTicks(scheduleOf(row.schedule!, row.time_zone!), row.next_fire_at!, at, catchUp, most)
  } catch (error) {
    // For example, a zone the runtime no longer knows.
    log.error({ error, automation: row.id }, 'an automation’s schedule cannot be read, so it no longer runs')
    return null
  }
}

/** Shared by all processes. */
export async function clockOf(db: Db): Promise<Date> {
  const { now } = await db.selectNoFrom((of) => of.fn<Date>('clock_timestamp').as('now')).executeTakeFirstOrThrow()
  return now
}
