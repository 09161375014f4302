import type pg from 'pg'

/** Excluded from backups: rows of processes that won't exist after a restore, and incomplete uploads. */
export const LEFT_OUT: readonly string[] = ['processes', 'leases', 'presence', 'uploads', 'upload_parts']
export const FILLED_AT_START: readonly string[] = ['instance', 'leases', 'processes', 'migrations']

export const quoteIdentifier = (name: string): string => `"${name.replaceAll('"', '""')}"`

/**
 * Tables and columns to copy. Excludes generated columns and transaction IDs, which are meaningless in another
 * database.
 */
export async function tablesOf(client: pg.ClientBase): Promise<{ name: string; columns: string[] }[]> {
  const { rows } = await client.query<{ name: string; columns: string[] }>(`
    select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
      and a.attgenerated = '' and a.atttypid <> 'xid8'::regtype
    group by c.relname order by c.relname`)
  return rows
}

export async function inOrder<T extends { name: string }>(client: pg.ClientBase, tables: readonly T[]): Promise<T[]> {
  const { rows } = await client.query<{ from: string; to: string }>(`
    select f.relname as from, t.relname as to from pg_constraint c
    join pg_class f on f.oid = c.conrelid join pg_class t on t.oid = c.confrelid
    where c.contype = 'f' and c.conrelid <> c.confrelid and f.relnamespace = current_schema()::regnamespace`)
  const before = Map.groupBy(rows, ({ from }) => from)
  const byName = new Map(tables.map((table) => [table.name, table]))
  const order = new Set<T>()
  const place = (table: T, under: ReadonlySet<string>): void => {
    if (order.has(table)) return
    if (under.has(table.name)) throw new Error(`the tables around ${table.name} refer to each other in a circle`)
    for (const { to } of before.get(table.name) ?? []) {
      const other = byName.get(to)
      if (other) place(other, new Set([...under, table.name]))
    }
    order.add(table)
  }
  for (const table of tables) place(table, new Set())
  return [...order]
}

export interface Sequence {
  name: string
  table: string | null
  value: string
  called: boolean
}

export async function sequencesOf(client: pg.ClientBase): Promise<Sequence[]> {
  const { rows } = await client.query<{ name: string; table: string | null }>(
    `select s.relname as name, t.relname as table from pg_class s
      left join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = s.oid and d.deptype in ('a', 'i')
        and d.refclassid = 'pg_class'::regclass
      left join pg_class t on t.oid = d.refobjid
      where s.relkind = 'S' and s.relnamespace = current_schema()::regnamespace order by s.relname`,
  )
  const tables = []
  for (const { name, table } of rows) {
    const { rows: state } = await client.query<{ value: string; called: boolean }>(
      `select last_value::text as value, is_called as called from ${quoteIdentifier(name)}`,
    )
    tables.push({ name, table, ...state[0]! })
  }
  return tables
}
