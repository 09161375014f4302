import { sql } from 'kysely'
import type { Context } from './context.ts'

export interface SealedColumns {
  table: string
  columns: readonly string[]
}

const AT_ONCE = 200

/**
 * Re-encrypts values of older root keys, so those can be removed. All processes may run it: each value is replaced only
 * if unchanged.
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

/** Leading characters that identify a value's key. */
const HEAD = 64

/**
 * Processes rows after this ID and returns the last one, or null at the end. Reads values individually, because they
 * may be large.
 */
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
