import { type Generated, type Selectable, sql } from 'kysely'
import type { Log } from '#infra/log.ts'
import type { Db } from '#infra/postgres/client.ts'
import { newestFirst } from '#infra/postgres/newest-first.ts'
import { type Catalogue, type Snapshot, catalogueOf, shippedCatalogue } from '#gateway/catalogue/catalogue.ts'
import { mergeFetched, override } from '#gateway/catalogue/merge.ts'
import type { Pricing } from '#gateway/catalogue/model.ts'
import type { Id } from '#core/ids.ts'
import { iso } from '#core/time.ts'

/** The owner ID passed to `rightsChanged`, so every process reloads the catalogue. */
export const CATALOGUE: Id = `${'0'.repeat(25)}1`

declare module '#infra/postgres/tables.ts' {
  interface Database {
    catalogues: CatalogueTable
    model_overrides: OverrideTable
  }
}

interface CatalogueTable {
  id: Id
  source_url: string
  sha256: string
  models_count: number
  priced_count: number
  changes: unknown
  snapshot: string
  created_by: Id | null
  created_at: Generated<Date>
}
export type CatalogueRow = Omit<Selectable<CatalogueTable>, 'snapshot'>

interface OverrideTable {
  slug: string
  pricing: unknown
  context_length: number | null
  max_output_tokens: number | null
  note: string
  created_by: Id | null
  created_at: Generated<Date>
  updated_at: Generated<Date>
}
export type OverrideRow = Selectable<OverrideTable>

/** Later than the row's own time. Like `nextTime`, for statements that must qualify the column. */
const laterThan = sql<Date>`greatest(date_trunc('milliseconds', clock_timestamp()), model_overrides.updated_at + interval '1 ms')`

/** Only the newest is in use. Earlier ones are kept for rollback. */
const MAX_CATALOGUES = 10
const columns = [
  'id',
  'source_url',
  'sha256',
  'models_count',
  'priced_count',
  'changes',
  'created_by',
  'created_at',
] as const

export const catalogueStore = {
  list: (db: Db, before: Id | null, limit: number): Promise<CatalogueRow[]> =>
    db
      .selectFrom('catalogues')
      .select(columns)
      .$call(newestFirst('id', before, limit))
      .execute(),

  newest: (db: Db): Promise<(CatalogueRow & { snapshot: string }) | undefined> =>
    db.selectFrom('catalogues').selectAll().orderBy('id', 'desc').limit(1).executeTakeFirst(),

  /** Serializes refreshes: concurrent ones would each compare against the catalogue that the other replaces. */
  async lock(db: Db): Promise<void> {
    await sql`select pg_advisory_xact_lock(hashtextextended('catalogue', 0))`.execute(db)
  },

  async insert(db: Db, row: CatalogueRow & { snapshot: string }): Promise<CatalogueRow> {
    const { snapshot: _, ...catalogue } = await db
      .insertInto('catalogues')
      .values({ ...row, changes: JSON.stringify(row.changes) })
      .returningAll()
      .executeTakeFirstOrThrow()
    await sql`delete from catalogues where id not in (select id from catalogues order by id desc limit ${MAX_CATALOGUES})`.execute(
      db,
    )
    return catalogue
  },

  delete: async (db: Db, id: Id): Promise<boolean> =>
    (await db.deleteFrom('catalogues').where('id', '=', id).executeTakeFirst()).numDeletedRows > 0n,
}

export const overrideStore = {
  list: (db: Db, after: string | null, limit: number): Promise<OverrideRow[]> =>
    db
      .selectFrom('model_overrides')
      .selectAll()
      .$if(after !== null, (query) => query.where('slug', '>', after!))
      .orderBy('slug')
      .limit(limit)
      .execute(),

  count: async (db: Db): Promise<number> =>
    Number(
      (
        await db
          .selectFrom('model_overrides')
          .select((query) => query.fn.countAll<bigint>().as('count'))
          .executeTakeFirstOrThrow()
      ).count,
    ),

  put: (
    db: Db,
    row: Pick<OverrideRow, 'slug' | 'context_length' | 'max_output_tokens' | 'note' | 'created_by'> & {
      pricing: Pricing | null
    },
  ): Promise<OverrideRow> => {
    const values = { ...row, pricing: row.pricing && JSON.stringify(row.pricing) }
    return db
      .insertInto('model_overrides')
      .values(values)
      .onConflict((conflict) => conflict.column('slug').doUpdateSet({ ...values, updated_at: laterThan }))
      .returningAll()
      .executeTakeFirstOrThrow()
  },

  delete: async (db: Db, slug: string): Promise<boolean> =>
    (await db.deleteFrom('model_overrides').where('slug', '=', slug).executeTakeFirst()).numDeletedRows > 0n,
}

/**
 * Merges the shipped catalogue, the last fetched one and the overrides. Falls back to `before`, or the shipped one, if
 * the database can't be read.
 */
export async function readCatalogue(db: Db, log: Log, before: Catalogue): Promise<Catalogue> {
  try {
    const [row, overrides] = await Promise.all([catalogueStore.newest(db), overrideStore.list(db, null, 10_000)])
    if (row === undefined && overrides.length === 0) return shippedCatalogue()
    const base =
      row === undefined ? shippedCatalogue() : mergeFetched(shippedCatalogue(), JSON.parse(row.snapshot) as Snapshot)
    const words = overrides.map(({ slug, pricing, context_length, max_output_tokens, updated_at }) => ({
      slug,
      pricing: pricing as Pricing | null,
      context_length,
      max_output_tokens,
      day: iso(updated_at).slice(0, 10),
    }))
    return catalogueOf(override(base, words))
  } catch (error) {
    log.error({ error }, 'a downloaded model catalogue cannot be read; the previous one stays in use')
    return before
  }
}
