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

/** Characters of a secret that tell the key it was sealed with. */
const HEAD = 64

/** The rows behind this id; answers the last of them, or null at the end. A secret may be large, so each is read by itself. */
async function resealSome(
  { postgres: { db }, secrets, log }: Parameters<typeof resealAll>[0],
  table: string,
  column: string,
  after: string,
): Promise<string | null> {
  const [at, ciphertext] = [sql.table(table), sql.ref(column)]
  const { rows } = await sql<{ id: string; head: string }>`select id, left(${ciphertext}, ${HEAD}) as head from ${at}
    where id > ${after} and ${ciphertext} is not null order by id limit ${AT_ONCE}`.execute(db)
  for (const { id, head } of rows)
    try {
      if (!secrets.isStale(head)) continue
      const [before] = (
        await sql<{ sealed: string }>`select ${ciphertext} as sealed from ${at}
        where id = ${id} and ${ciphertext} is not null`.execute(db)
      ).rows
      if (before === undefined) continue
      const again = secrets.seal(secrets.open(before.sealed, id), id)
      await sql`update ${at} set ${ciphertext} = ${again} where id = ${id} and ${ciphertext} = ${before.sealed}`.execute(
        db,
      )
    } catch (error) {
      log.error({ error, table, row: id }, 'a stored secret cannot be decrypted')
    }
  return rows.length < AT_ONCE ? null : rows.at(-1)!.id
}
