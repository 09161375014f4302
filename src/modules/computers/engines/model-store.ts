import { type Generated, type Selectable, sql } from 'kysely'
import { type Db, nextTime, nextTimeOf } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import type { Output } from '#daemon-protocol/operations.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    local_models: LocalModelTable
  }
}

type ReportedModel = Output<'engine.models'>['models'][number]

interface LocalModelTable {
  id: Id
  computer_id: Id
  name: string
  engine: ReportedModel['engine']
  size_bytes: Generated<bigint>
  digest: string | null
  context_length: number | null
  quantization: string | null
  embeds: Generated<boolean>
  status: 'installing' | 'ready' | 'broken'
  loaded: Generated<boolean>
  mapping: string | null
  created_at: Generated<Date>
  updated_at: Generated<Date>
}
export type LocalModelRow = Selectable<LocalModelTable>

/** A row whose operation ended otherwise is stale. */
const underWay = sql<boolean>`exists (select from local_inference_operations l join operations o on o.id = l.operation_id
  where l.model_id = local_models.id and o.status in ('queued', 'running'))`

export const localModels = {
  list: (db: Db, computerId: Id, after: string | null, limit: number): Promise<LocalModelRow[]> => {
    let query = db
      .selectFrom('local_models')
      .selectAll()
      .where('computer_id', '=', computerId)
      .where((row) => row.or([row('status', '!=', 'installing'), underWay]))
      .orderBy('name')
      .limit(limit)
    if (after !== null) query = query.where('name', '>', after)
    return query.execute()
  },

  get: async (db: Db, computerId: Id, id: Id): Promise<LocalModelRow | null> =>
    (await db
      .selectFrom('local_models')
      .selectAll()
      .where('computer_id', '=', computerId)
      .where('id', '=', id)
      .executeTakeFirst()) ?? null,

  named: async (db: Db, computerId: Id, name: string): Promise<LocalModelRow | null> =>
    (await db
      .selectFrom('local_models')
      .selectAll()
      .where('computer_id', '=', computerId)
      .where('name', '=', name)
      .executeTakeFirst()) ?? null,

  /** Reserves a name. Null: taken. Broken and abandoned models are replaced. */
  async claim(
    db: Db,
    row: Pick<LocalModelTable, 'id' | 'computer_id' | 'name' | 'engine'>,
  ): Promise<LocalModelRow | null> {
    await db
      .deleteFrom('local_models')
      .where('computer_id', '=', row.computer_id)
      .where('name', '=', row.name)
      .where((old) =>
        old.or([old('status', '=', 'broken'), old.and([old('status', '=', 'installing'), old.not(underWay)])]),
      )
      .execute()
    return (
      (await db
        .insertInto('local_models')
        .values({ ...row, status: 'installing' })
        .onConflict((conflict) => conflict.columns(['computer_id', 'name']).doNothing())
        .returningAll()
        .executeTakeFirst()) ?? null
    )
  },

  giveUp: async (db: Db, id: Id): Promise<void> => {
    await db.deleteFrom('local_models').where('id', '=', id).where('status', '=', 'installing').execute()
  },

  remove: async (db: Db, id: Id): Promise<void> => {
    await db.deleteFrom('local_models').where('id', '=', id).execute()
  },

  map: (db: Db, id: Id, mapping: string | null): Promise<LocalModelRow> =>
    db
      .updateTable('local_models')
      .set({ mapping, updated_at: nextTime })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow(),

  /** Returns the names of the unmapped models. */
  async unmapAll(db: Db, computerId: Id): Promise<string[]> {
    const rows = await db
      .updateTable('local_models')
      .set({ mapping: null, updated_at: nextTime })
      .where('computer_id', '=', computerId)
      .where('mapping', 'is not', null)
      .returning('name')
      .execute()
    return rows.map(({ name }) => name)
  },

  /** Keeps rows of `silent` engines. Returns whether routing changed. */
  async learn(
    db: Db,
    computerId: Id,
    newId: () => Id,
    models: readonly ReportedModel[],
    silent: readonly LocalModelRow['engine'][] = [],
  ): Promise<boolean> {
    const before = await db
      .selectFrom('local_models')
      .selectAll()
      .where('computer_id', '=', computerId)
      .forUpdate()
      .execute()
    const rowsByName = new Map(before.map((row) => [row.name, row]))
    let changed = false
    for (const { name, status, loaded, size_bytes, ...facts } of models) {
      const row = rowsByName.get(name)
      rowsByName.delete(name)
      // A download started on the machine isn't our installation.
      if (status === 'installing') continue
      const same =
        row !== undefined &&
        row.status === status &&
        row.digest === facts.digest &&
        row.engine === facts.engine &&
        row.context_length === facts.context_length &&
        row.embeds === facts.embeds
      if (same && row.loaded === loaded) continue
      changed ||= !same
      const values = { ...facts, size_bytes: BigInt(size_bytes), status, loaded }
      await db
        .insertInto('local_models')
        .values({ id: newId(), computer_id: computerId, name, ...values })
        .onConflict((conflict) =>
          conflict.columns(['computer_id', 'name']).doUpdateSet({ ...values, updated_at: nextTimeOf('local_models') }),
        )
        .execute()
    }
    const missingIds = [...rowsByName.values()].filter(({ engine }) => !silent.includes(engine)).map(({ id }) => id)
    if (missingIds.length === 0) return changed
    const { numDeletedRows } = await db
      .deleteFrom('local_models')
      .where('id', 'in', missingIds)
      .where((row) => row.or([row('status', '!=', 'installing'), row.not(underWay)]))
      .executeTakeFirst()
    return changed || numDeletedRows > 0n
  },
}
