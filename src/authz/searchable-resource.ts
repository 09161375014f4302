import { sql } from 'kysely'
import type { Db } from '#infra/postgres/client.ts'
import type { SearchDocument, Searchable } from '#infra/text/index/searchable.ts'
import type { Id } from '#core/ids.ts'

type SearchFields = Pick<SearchDocument, 'id' | 'title' | 'keywords' | 'body' | 'created_at' | 'updated_at'>

export const searchableResource = (
  kind: 'agent' | 'computer',
  table: string,
  read: (db: Db, ids: readonly Id[]) => Promise<SearchFields[]>,
): Searchable => ({
  kinds: [kind],
  findChanged: async (_, events) => events.flatMap(({ resource_id }) => (resource_id === null ? [] : [resource_id])),
  async read({ postgres: { db } }, ids) {
    const rows = await read(db, ids)
    return rows.map((one) => ({ ...one, type: kind, resource_id: one.id, parent_id: null }))
  },
  async all({ postgres: { db } }, after, limit) {
    const { rows } = await sql<{ id: Id }>`select id from ${sql.table(table)}
      where ${after}::ulid is null or id > ${after}::ulid order by id limit ${limit}`.execute(db)
    return rows.map(({ id }) => id)
  },
})
