import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'

/** A module's SQL functions: the files in its `sql` folder, in a schema named by their hash. */
export interface Functions {
  schema: string
  prefix: string
  sql: string
}

/**
 * Older versions to keep, most recently started first, because servers of other versions may be running. More than are
 * tried out in a day, so a running one isn't dropped.
 */
const MAX_VERSIONS = 7

export const ledgerFunctions = functionsIn('ledger', join(import.meta.dirname, '../ledger/sql'))

/** Files in name order: types before their users. */
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
 * Creates this version's functions if missing and drops the versions unused for longest. Never replaces existing ones,
 * which running servers use. Call in a transaction with the migration lock. Returns whether anything changed.
 */
export async function applyFunctions(client: pg.ClientBase, { schema, prefix, sql }: Functions): Promise<boolean> {
  // A schema's comment is a counter of its last start: two starts may fall into one clock tick.
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
  for (const { name } of rows.slice(MAX_VERSIONS)) await client.query(`drop schema ${name} cascade`)
  await client.query(`create schema ${schema}; ${begins}`)
  // Functions keep this path (`set search_path from current`): first their own schema, then the tables.
  await client.query(`select set_config('search_path', $1 || ', ' || current_setting('search_path'), true)`, [schema])
  await client.query(sql)
  return true
}
