import { type ChatHandles, type Outcome, outcomesOf, spentFor, stopRun } from '#modules/chats/service.ts'
import { execOperation } from '#modules/computers/service.ts'
import type { Engine } from '#infra/context.ts'
import type { Consumer, DeliveredEvent } from '#infra/outbox/deliveries.ts'
import { writeOutboxAll } from '#infra/outbox/outbox.ts'
import type { Db } from '#infra/postgres/client.ts'
import type { ErrorBody } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { Nano } from '#core/money.ts'
import { settleCommands } from './commands.ts'
import { end } from './end.ts'
import { type AutomationRunRow, runStore } from './run-store.ts'
import { stopRuns } from './stop.ts'
import { automationStore } from '../store.ts'
import { runEvent } from './show-run.ts'

/** Stopping a run can take seconds. */
const LANES = 8

const status = { completed: 'succeeded', failed: 'failed', cancelled: 'cancelled' } as const

export const automationConsumer = (engine: Engine): Consumer => ({
  name: 'automations.runs',
  types: [
    'run.completed',
    'run.failed',
    'run.cancelled',
    'operation.succeeded',
    'operation.failed',
    'operation.cancelled',
    'operation.expired',
  ],
  sift:
    async () =>
    ({ type, data }) =>
      type.startsWith('run.')
        ? data.automation_run_id !== null
        : (data.operation as { kind?: string } | undefined)?.kind === execOperation.name,
  handle: (event) => settleAll(engine, [event]),
  together: (events) => settleAll(engine, events),
})

async function settleAll(engine: Engine, events: readonly DeliveredEvent[]): Promise<void> {
  const of = (kind: string): Id[] =>
    events.filter(({ type }) => type.startsWith(kind)).map(({ resource_id }) => resource_id as Id)
  const [runs, operations] = [of('run.'), of('operation.')]
  if (runs.length > 0) await settleRuns(engine, runs)
  if (operations.length > 0) await settleCommands(engine, operations)
}

async function settleRuns(engine: Engine, runIds: readonly Id[]): Promise<void> {
  const settlement = await engine.postgres.db.transaction().execute(async (db) => {
    const lockedRuns = await runStore.lockOf(db, runIds)
    if (lockedRuns.length === 0) return null
    const outcomes = await outcomesOf(db, runIds)
    const costs = await spentFor(
      db,
      lockedRuns.map(({ run }) => run.id),
    )
    const well: { id: Id; cost: Nano | null }[] = []
    const others: { run: AutomationRunRow; report: RunReport }[] = []
    for (const { runId, run } of lockedRuns) {
      const outcome = outcomes.get(runId) ?? null
      const cost = costs.get(run.id) ?? null
      if (run.run_id === runId && run.status === 'running' && outcome?.status === 'completed')
        well.push({ id: run.id, cost })
      else others.push({ run, report: { runId, outcome, cost } })
    }
    // Successes first, so that a later failure isn't counted as the last of a series.
    if (well.length > 0) await succeed(db, well)
    for (const { run, report } of others) await settle(db, run, report)
    return { more: await runStore.waits(db, [...new Set(lockedRuns.map(({ run }) => run.automation_id))]) }
  })
  if (settlement === null) return
  engine.bus.poke('outbox')
  if (settlement.more) engine.bus.poke('automations')
}

async function succeed(db: Db, well: readonly { id: Id; cost: Nano | null }[]): Promise<void> {
  const endedRuns = await runStore.succeed(db, well, new Date())
  const ids = [...new Set(endedRuns.map(({ automation_id }) => automation_id))]
  await automationStore.forgive(db, ids)
  const automations = await automationStore.some(db, ids)
  await writeOutboxAll(
    db,
    endedRuns.flatMap((run) => {
      const automation = automations.get(run.automation_id)
      return automation ? [runEvent(run, 'succeeded', automation)] : []
    }),
    null,
  )
}

interface RunReport {
  runId: Id
  outcome: Outcome | null
  cost: Nano | null
}

async function settle(db: Db, run: AutomationRunRow, { runId, outcome, cost }: RunReport): Promise<void> {
  if (run.run_id !== runId) {
    // A previous attempt only adds its cost.
    if (cost !== null && cost > (run.cost_nano ?? 0n)) await runStore.update(db, run.id, { cost_nano: cost })
  } else if (outcome?.status === 'failed' && isUnpaid(outcome.error, cost) && run.trigger === 'cron')
    await skipUnpaid(db, run, outcome.error)
  else if (outcome === null)
    await end(db, run, {
      status: 'failed',
      error: { type: 'not_found', message: 'The chat of this run was deleted.' },
      cost,
    })
  else if (outcome.status in status)
    await end(db, run, {
      status: status[outcome.status as keyof typeof status],
      error: outcome.error,
      cost,
    })
}

const unpaid: readonly (string | undefined)[] = ['insufficient_credits', 'spend_cap_reached', 'budget_reached']

const isUnpaid = (error: ErrorBody['error'] | null, cost: Nano | null): boolean =>
  unpaid.includes(error?.code) && (cost === null || cost === 0n)

/** A tick without funds is skipped rather than failed. */
async function skipUnpaid(db: Db, { id, status }: AutomationRunRow, error: ErrorBody['error'] | null): Promise<void> {
  if (status !== 'running') return
  await runStore.update(db, id, {
    status: 'skipped',
    skip_reason: 'budget',
    error: error && JSON.stringify(error),
    completed_at: new Date(),
  })
}

/** Ends overdue runs and runs whose event was missed. An error in one doesn't affect the others. */
export async function tendRuns(engine: Engine<ChatHandles>): Promise<void> {
  const { db } = engine.postgres
  const each = async <T>(all: readonly T[], work: (one: T) => Promise<unknown>): Promise<void> => {
    const remaining = [...all]
    const lane = async (): Promise<void> => {
      for (let one = remaining.pop(); one !== undefined; one = remaining.pop())
        await work(one).catch((error: unknown) => engine.log.error({ error }, 'an automation run cannot be processed'))
    }
    await Promise.all(Array.from({ length: LANES }, lane))
  }
  await each(await runStore.superseded(db), (id) => stopRuns(engine, [id], 'cancelled'))
  await each(await runStore.unstopped(db), ({ id, chat_id }) => stopRun(engine, chat_id, id))
  await each(await runStore.unsettled(db), (runId) => settleRuns(engine, [runId]))
  await each(await runStore.unsettledCommands(db), (id) => settleCommands(engine, [id]))
  await each(await runStore.overdue(db), ({ id }) => stopRuns(engine, [id], 'timed_out'))
}
