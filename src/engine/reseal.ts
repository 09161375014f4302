import { sql } from 'kysely'
import type { Context } from './context.ts'

/** Where secrets lie that are sealed under the id of their row. */
export interface SealedColumns {
  table: string
  columns: readonly string[]
}

const AT_ONCE = 200

/**
 * Seals again what an older root key sealed, so that the older one can be taken out of the list. Every process may do it
 * at the same time: a secret is put in the place of the very one that was read, and of no other.
 */
export async function resealAll(
  { postgres: { db }, secrets, log }: Pick<Context['engine'], 'postgres' | 'secrets' | 'log'>,
  places: readonly SealedColumns[],
  signal?: AbortSignal,
): Promise<void> {
  for (const { table, columns } of places)
    for (const column of columns) {
      const [at, sealed] = [sql.table(table), sql.ref(column)]
      for (let after = ''; signal?.aborted !== true;) {
        const { rows } = await sql<{ id: string; sealed: string }>`
          select id, ${sealed} as sealed from ${at} where id > ${after} and ${sealed} is not null order by id limit ${AT_ONCE}`.execute(
          db,
        )
        for (const row of rows.filter((each) => secrets.isStale(each.sealed)))
          try {
            const again = secrets.seal(secrets.open(row.sealed, row.id), row.id)
            await sql`update ${at} set ${sealed} = ${again} where id = ${row.id} and ${sealed} = ${row.sealed}`.execute(
              db,
            )
          } catch (error) {
            log.error({ error, table, row: row.id }, 'a stored secret cannot be opened')
          }
        if (rows.length < AT_ONCE) break
        after = rows.at(-1)!.id
      }
    }
}
