import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'

/** The SQL functions of a room: the files of its folder `sql`, in a schema that is named by the hash over all of them. */
export interface Functions {
  /** The schema, which the program puts before their names. */
  schema: string
  /** The prefix that the names of all versions of the functions share. */
  prefix: string
  sql: string
}

/**
 * Further versions that are kept, those that a program began with last: a server of another version goes on beside this one
 * with its own. One that never ends while so many others come and go loses them, so it is more than are tried out in a day.
 */
const MOST_VERSIONS = 7

export const ledgerFunctions = functionsIn('ledger', join(import.meta.dirname, '../ledger/sql'))

/** The files go in the order of their names: a type comes before what takes it. */
export function functionsIn(name: string, folder: string): Functions {
  const sql = readdirSync(folder)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => readFileSync(join(folder, file), 'utf8'))
    .join('\n')
  const prefix = `${name}_`
  return { schema: `${prefix}${createHash('sha256').update(sql).digest('hex').slice(0, 12)}`, prefix, sql }
}

/**
 * Creates the functions when the database does not have this version of them, and drops those not begun with for longest. What
 * is there is never replaced, so that no running server loses a function that it calls. Within a transaction under the
 * lock of migrations. Answers whether there was anything to do.
 */
export async function applyFunctions(client: pg.ClientBase, { schema, prefix, sql }: Functions): Promise<boolean> {
  // A schema's comment is when a program began with it last: a counter, for two may begin within one tick of a clock.
  const { rows } = await client.query<{ name: string; begun: number }>(
    `select nspname::text as name, coalesce(obj_description(oid, 'pg_namespace'), '0')::int as begun from pg_namespace
     where starts_with(nspname, $1) and substr(nspname, length($1) + 1) ~ '^[0-9a-f]{12}$' order by 2 desc`,
    [prefix],
  )
  const begins = `comment on schema ${schema} is '${(rows[0]?.begun ?? 0) + 1}'`
  if (rows.some(({ name }) => name === schema)) {
    if (rows[0]!.name !== schema) await client.query(begins)
    return false
  }
  for (const { name } of rows.slice(MOST_VERSIONS)) await client.query(`drop schema ${name} cascade`)
  await client.query(`create schema ${schema}; ${begins}`)
  // Functions keep this path (`set search_path from current`): they find each other in their own schema, tables after it.
  await client.query(`select set_config('search_path', $1 || ', ' || current_setting('search_path'), true)`, [schema])
  await client.query(sql)
  return true
}
