/** Keeps the rows of a computer's models, and the state of its engine, as its daemon tells them. */
import { rightsChanged } from '#access/rights.ts'
import type { Engine } from '#engine/context.ts'
import type { Consumer } from '#engine/outbox/deliveries.ts'
import { writeOutbox } from '#engine/outbox/outbox.ts'
import type { Db } from '#engine/postgres/client.ts'
import { type Id, newId } from '#kernel/ids.ts'
import type { Output } from '#wire/operations.ts'
import { channelsOf } from '../events.ts'
import type { HasLinks } from '../link/links.ts'
import { type ComputerRow, type EngineState, computerStore } from '../store.ts'
import { localModels } from './model-store.ts'

type Told = Output<'engine.control'>
type Parts = Pick<Engine<HasLinks>, 'bus' | 'links' | 'log' | 'postgres'>

const ANSWER_MS = 15_000

const STATES: Record<Told['engines'][number]['status'], EngineState> = {
  absent: 'absent',
  stopped: 'stopped',
  installing: 'starting',
  running: 'ready',
  failed: 'error',
}
/** Of several engines, what the computer is said to have. */
const ORDER: readonly EngineState[] = ['absent', 'error', 'stopped', 'starting', 'ready']

const stateOf = ({ engines }: Told): EngineState =>
  engines
    .map(({ status }) => STATES[status])
    .reduce<EngineState>((best, one) => (ORDER.indexOf(one) > ORDER.indexOf(best) ? one : best), 'absent')

/** Asks the daemon what there is. Throws what `Links.ask` throws. */
export async function learnModels(engine: Parts, computerId: Id, signal: AbortSignal): Promise<void> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)])
  const { models, silent } = await engine.links.ask(computerId, 'engine.models', {}, { signal: limited })
  await change(engine, computerId, async (db, row) => {
    if (!(await localModels.learn(db, computerId, newId, models, silent))) return false
    await tellOf(db, row, 'local_models_changed')
    return true
  })
}

/** Notes what the daemon said of its engines. */
export async function noteEngines(engine: Parts, computerId: Id, told: Told): Promise<void> {
  const state = stateOf(told)
  await change(engine, computerId, async (db, row) => {
    if (row.engine === state) return false
    await computerStore.update(db, computerId, { engine: state })
    await tellOf(db, row, 'updated')
    return false
  })
}

/** Within a transaction that holds the computer; `work` answers whether somebody is served otherwise now. */
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

/** Those whose members it may serve. */
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

/** A computer that comes is asked what models it has: they may have changed while it was away. */
export const localModelConsumer = (engine: Parts): Consumer => ({
  name: 'local_models',
  types: ['computer.connected'],
  async handle({ resource_id: id }) {
    // Its turn comes before the next one's: who does not answer is asked again when its models are looked at.
    const row = id && (await computerStore.get(engine.postgres.db, id))
    if (!row || !row.allows.includes('inference')) return
    void learnAll(engine, row.id).catch((error: unknown) =>
      engine.log.debug({ error, computer_id: row.id }, 'a computer does not say which models it has'),
    )
  },
})

async function learnAll(engine: Parts, id: Id): Promise<void> {
  const signal = AbortSignal.timeout(ANSWER_MS)
  await learnModels(engine, id, signal)
  const ask = { action: 'status', engine: null, model: null } as const
  await noteEngines(engine, id, await engine.links.ask(id, 'engine.control', ask, { signal }))
}
