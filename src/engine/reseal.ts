import { sql } from 'kysely'
import type { Context } from './context.ts'

/** The columns of secrets that are sealed under the id of their row. */
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
  engine: Pick<Context['engine'], 'postgres' | 'secrets' | 'log'>,
  places: readonly SealedColumns[],
  signal: AbortSignal,
): Promise<void> {
  for (const { table, columns } of places)
    for (const column of columns) {
      let after: string | null = ''
      while (after !== null && !signal.aborted) after = await resealSome(engine, table, column, after)
    }
}

/** The rows behind this id; answers the last of them, or null at the end. */
async function resealSome(
  { postgres: { db }, secrets, log }: Parameters<typeof resealAll>[0],
  table: string,
  column: string,
  after: string,
): Promise<string | null> {
  const [at, sealed] = [sql.table(table), sql.ref(column)]
  const { rows } = await sql<{ id: string; sealed: string }>`select id, ${sealed} as sealed from ${at}
    where id > ${after} and ${sealed} is not null order by id limit ${AT_ONCE}`.execute(db)
  for (const { id, sealed: before } of rows.filter((each) => secrets.isStale(each.sealed)))
    try {
      const again = secrets.seal(secrets.open(before, id), id)
      await sql`update ${at} set ${sealed} = ${again} where id = ${id} and ${sealed} = ${before}`.execute(db)
    } catch (error) {
      log.error({ error, table, row: id }, 'a stored secret cannot be opened')
    }
  return rows.length < AT_ONCE ? null : rows.at(-1)!.id
}
