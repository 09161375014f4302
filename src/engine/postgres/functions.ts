import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'

/** The SQL functions of a room: the files of its folder `sql`, in a schema that is named by the hash over all of them. */
export interface Functions {
  /** The schema, which the program puts before their names. */
  schema: string
  /** Of every version of them. */
  prefix: string
  sql: string
}

/** Older versions that are kept: a server of another version goes on beside this one with the functions that it began with. */
const KEPT = 2

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
 * Creates the functions when the database does not have this version of them, and drops all but the newest versions. What
 * is there is never replaced, so that no running server loses a function that it calls. Within a transaction under the
 * lock of migrations. Answers whether there was anything to do.
 */
export async function applyFunctions(client: pg.ClientBase, { schema, prefix, sql }: Functions): Promise<boolean> {
  // A schema's comment is when it was made: a counter, for two may be made within one tick of a clock.
  const { rows } = await client.query<{ name: string; made: number }>(
    `select nspname::text as name, coalesce(obj_description(oid, 'pg_namespace'), '0')::int as made from pg_namespace
     where starts_with(nspname, $1) and substr(nspname, length($1) + 1) ~ '^[0-9a-f]{12}$' order by 2 desc`,
    [prefix],
  )
  if (rows.some(({ name }) => name === schema)) return false
  for (const { name } of rows.slice(KEPT)) await client.query(`drop schema ${name} cascade`)
  await client.query(`create schema ${schema}; comment on schema ${schema} is '${(rows[0]?.made ?? 0) + 1}'`)
  // Functions keep this path (`set search_path from current`): they find each other in their own schema, tables after it.
  await client.query(`select set_config('search_path', $1 || ', ' || current_setting('search_path'), true)`, [schema])
  await client.query(sql)
  return true
}
