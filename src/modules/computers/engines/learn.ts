import { sql } from 'kysely'
import { rightsChanged } from '#authz/rights.ts'
import type { Engine } from '#infra/context.ts'
import type { Consumer } from '#infra/outbox/deliveries.ts'
import { writeOutbox } from '#infra/outbox/outbox.ts'
import type { Db } from '#infra/postgres/client.ts'
import { type Id, newId } from '#core/ids.ts'
import type { Input, Output } from '#daemon-protocol/operations.ts'
import { channelsOf } from '../events.ts'
import type { HasLinks } from '../link/links.ts'
import { type ComputerRow, type EngineState, computerStore } from '../store.ts'
import { localModels } from './model-store.ts'

type EngineReport = Output<'engine.control'>
type Parts = Pick<Engine<HasLinks>, 'bus' | 'links' | 'log' | 'postgres'>

const ANSWER_MS = 15_000

const STATES: Record<EngineReport['engines'][number]['status'], EngineState> = {
  absent: 'absent',
  stopped: 'stopped',
  installing: 'starting',
  running: 'ready',
  failed: 'error',
}
/** From lowest to highest. The highest is shown. */
const ORDER: readonly EngineState[] = ['absent', 'error', 'stopped', 'starting', 'ready']

const stateOf = ({ engines }: EngineReport): EngineState =>
  engines
    .map(({ status }) => STATES[status])
    .reduce<EngineState>((best, one) => (ORDER.indexOf(one) > ORDER.indexOf(best) ? one : best), 'absent')

/** Requests the daemon's models. Throws what `Links.ask` throws. */
export async function refreshModels(
  engine: Parts,
  computerId: Id,
  signal: AbortSignal,
  mostMs = ANSWER_MS,
): Promise<void> {
  const withinMs = Math.min(mostMs, engine.links.limits.answerMs)
  const requestNumber = await nextRequestNumber(engine)
  const { models, silent } = await engine.links.ask(computerId, 'engine.models', {}, { signal, withinMs })
  await change(engine, computerId, async (db, row) => {
    if (row.models_asked > requestNumber) return false
    await computerStore.update(db, computerId, { models_asked: requestNumber })
    if (!(await localModels.learn(db, computerId, newId, models, silent))) return false
    await tellOf(db, row, 'local_models_changed')
    return true
  })
}

/** Stores the state after the action. Throws what `Links.ask` throws. */
export async function controlEngines(
  engine: Parts,
  computerId: Id,
  input: Input<'engine.control'>,
  signal: AbortSignal,
): Promise<EngineReport> {
  const requestNumber = await nextRequestNumber(engine)
  const report = await engine.links.ask(computerId, 'engine.control', input, { signal })
  const state = stateOf(report)
  let isOutdated = false
  await change(engine, computerId, async (db, row) => {
    isOutdated = row.engines_asked > requestNumber
    if (isOutdated) return false
    await computerStore.update(db, computerId, { engine: state, engines_asked: requestNumber })
    if (row.engine !== state) await tellOf(db, row, 'updated')
    return false
  })
  // A later request may have been answered before this action finished.
  if (isOutdated && input.action !== 'status')
    await engineStatus(engine, computerId, signal).catch((error: unknown) =>
      engine.log.debug({ error, computer_id: computerId }, 'a computer does not say how its engines are now'),
    )
  return report
}

export const engineStatus = (engine: Parts, computerId: Id, signal: AbortSignal): Promise<EngineReport> =>
  controlEngines(engine, computerId, { action: 'status', engine: null, model: null }, signal)

/**
 * A sequence number across processes, taken before a request. Replies may arrive out of order; those older than the
 * stored one are dropped.
 */
export async function nextRequestNumber({ postgres }: Pick<Parts, 'postgres'>): Promise<bigint> {
  const { rows } = await sql<{ place: bigint }>`select nextval('questions_to_daemons') as place`.execute(postgres.db)
  return rows[0]!.place
}

/** Locks the computer. `work` returns whether routing changed. */
export async function change(
  { postgres, bus }: Pick<Parts, 'bus' | 'postgres'>,
  computerId: Id,
  work: (db: Db, row: ComputerRow) => Promise<boolean>,
): Promise<void> {
  const served = await postgres.db.transaction().execute(async (db) => {
    await db.selectFrom('computers').select('id').where('id', '=', computerId).forUpdate().executeTakeFirst()
    const row = await computerStore.get(db, computerId)
    if (row === null || !(await work(db, row))) return false
    await rightsChanged(db, workspacesOf(row))
    return true
  })
  bus.poke('outbox')
  if (served) bus.poke('rights')
}

export const workspacesOf = (row: ComputerRow): Id[] => [
  row.workspace_id,
  ...row.exposures.map(({ workspace_id }) => workspace_id),
]

export const tellOf = (db: Db, row: ComputerRow, verb: string, more: object = {}): Promise<void> =>
  writeOutbox(
    db,
    {
      type: `computer.${verb}`,
      channels: channelsOf(row),
      resource: { type: 'computer', id: row.id },
      data: { id: row.id, workspace_id: row.workspace_id, name: row.name, ...more },
    },
    null,
  )

/** A computer's models may have changed while it was offline. */
export const localModelConsumer = (engine: Parts): Consumer => ({
  name: 'local_models',
  types: ['computer.connected'],
  async handle({ resource_id: id }) {
    // Not awaited, because a silent daemon would block the queue.
    const row = id && (await computerStore.get(engine.postgres.db, id))
    if (!row || !row.allows.includes('inference')) return
    void learnAll(engine, row.id).catch((error: unknown) =>
      engine.log.debug({ error, computer_id: row.id }, 'a computer does not say which models it has'),
    )
  },
})

async function learnAll(engine: Parts, id: Id): Promise<void> {
  const signal = AbortSignal.timeout(ANSWER_MS)
  await refreshModels(engine, id, signal)
  await engineStatus(engine, id, signal)
}
