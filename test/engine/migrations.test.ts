import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import pg from 'pg'
import { migrate, migrationNames } from '#engine/postgres/migrate.ts'
import { newId } from '#kernel/ids.ts'
import { testDatabase } from '#test/database.ts'

const names = migrationNames()
const shape = `select table_name || '.' || column_name || ' ' || udt_name || ' ' || is_nullable || ' ' || coalesce(column_default, '') as line
  from information_schema.columns where table_schema = 'public'
  union all select indexdef from pg_indexes where schemaname = 'public'
  union all select conrelid::regclass || ' ' || pg_get_constraintdef(oid) from pg_constraint where connamespace = 'public'::regnamespace
  union all select pg_get_functiondef(p.oid) from pg_proc p where pronamespace = 'public'::regnamespace and prolang <> (select oid from pg_language where lanname = 'c')
  order by 1`

/** An empty database beside the one of the test. */
async function emptyDatabase(): Promise<AsyncDisposable & { pool: pg.Pool }> {
  const beside = await testDatabase()
  const database = `t_${randomBytes(6).toString('hex')}`
  // Not a pool: the end of one is not waited for by its connections, and the drop of their database breaks them.
  const admin = new pg.Client(beside.connection)
  await admin.connect()
  await admin.query(`create database ${database}`)
  const pool = new pg.Pool({ ...beside.connection, database, max: 1 })
  // Its end is not waited for by those whose connections the drop breaks.
  pool.on('error', () => {})
  return {
    pool,
    async [Symbol.asyncDispose]() {
      await pool.end()
      await admin.query(`drop database ${database} with (force)`)
      await admin.end()
      await beside[Symbol.asyncDispose]()
    },
  }
}

/** Columns that may be empty only where others are not. */
const together: Record<string, Record<string, string>> = {
  automations: { schedule: '0 8 * * *', time_zone: 'UTC' },
  shares: { email: 'a@example.com' },
}

const shapeOf = async (pool: pg.Pool): Promise<string[]> =>
  (await pool.query<{ line: string }>(shape)).rows.map(({ line }) => line)
const countOf = async (pool: pg.Pool, table: string): Promise<number> =>
  Number((await pool.query<{ count: bigint }>(`select count(*) from ${table}`)).rows[0]!.count)

/**
 * A further row in every table that the schema has at this point, in whatever order their references allow. Columns that
 * may be empty or have a default are left so: what a migration demands of old rows shows on the barest of them. Answers
 * how many rows each table then has.
 */
async function fill(pool: pg.Pool, at: string): Promise<Map<string, number>> {
  const { rows } = await pool.query<{
    name: string
    column: string
    type: string
    check: string | null
    to: string | null
    to_column: string | null
  }>(
    `select c.table_name as name, c.column_name as column, coalesce(c.domain_name, c.udt_name) as type,
       (select string_agg(pg_get_constraintdef(k.oid), ' ') from pg_constraint k where k.contype = 'c'
         and k.conrelid = c.table_name::regclass and c.ordinal_position = any(k.conkey)) as check,
       (select k.confrelid::regclass::text from pg_constraint k where k.contype = 'f'
         and k.conrelid = c.table_name::regclass and c.ordinal_position = any(k.conkey) limit 1) as to,
       (select a.attname from pg_constraint k join pg_attribute a on a.attrelid = k.confrelid
         and a.attnum = k.confkey[array_position(k.conkey, c.ordinal_position::int2)] where k.contype = 'f'
         and k.conrelid = c.table_name::regclass and c.ordinal_position = any(k.conkey) limit 1) as to_column
     from information_schema.columns c join pg_tables t on t.schemaname = 'public' and t.tablename = c.table_name
     where c.table_schema = 'public' and c.is_nullable = 'NO' and c.column_default is null and c.is_identity = 'NO'
       and c.table_name <> 'migrations' order by c.ordinal_position`,
  )
  const tables = Map.groupBy(rows, ({ name }) => name)
  // What the row of each table holds, by column.
  const made = new Map<string, Map<string, unknown>>()
  while (made.size < tables.size) {
    const ready = [...tables].filter(
      ([name, columns]) => !made.has(name) && columns.every(({ to }) => to === null || made.has(to)),
    )
    assert.ok(ready.length > 0, 'the references of the tables go in a circle')
    for (const [name, columns] of ready) {
      const id = newId()
      const values = columns.map(({ column, type, check, to, to_column: key }) => {
        if (to !== null && key !== null) return made.get(to)!.get(key)
        // A file needs bytes, a folder none.
        if (name === 'files' && column === 'kind') return 'folder'
        if (column === 'owner_id') return '0'.repeat(26)
        if (type === 'ulid') return column === 'id' ? id : newId()
        if (type === 'timestamptz' || type === 'date') return '2026-11-21T00:00:00Z'
        if (type === 'jsonb' || type === 'json') return '{}'
        if (type.startsWith('_')) return '{}'
        if (type === 'bytea') return randomBytes(32)
        if (type === 'bool') return true
        if (type === 'text') return /'([^']+)'::text/.exec(check ?? '')?.[1] ?? `${name} ${column} ${at}`
        return 1
      })
      const names = columns.map(({ column }) => column)
      for (const column in together[name]) {
        names.push(column)
        values.push(together[name][column]!)
      }
      const { rows: written } = await pool.query<Record<string, unknown>>(
        `insert into ${name} (${names.map((column) => `"${column}"`).join(', ')}) values (${values.map((_, i) => `$${i + 1}`).join(', ')}) on conflict do nothing returning *`,
        values,
      )
      // A trigger may have been quicker, or there is only one such row.
      const row = written[0] ?? (await pool.query<Record<string, unknown>>(`select * from ${name} limit 1`)).rows[0]!
      made.set(name, new Map(Object.entries(row)))
    }
  }
  // Triggers may have made more than one.
  const counts = new Map<string, number>()
  for (const name of made.keys()) counts.set(name, await countOf(pool, name))
  return counts
}

test('rows that were written in every older schema are all there in the newest, which is the one a fresh database gets', async () => {
  await using fresh = await emptyDatabase()
  await migrate(fresh.pool)
  const newest = await shapeOf(fresh.pool)
  await using aged = await emptyDatabase()
  const { pool } = aged
  let written = new Map<string, number>()
  for (const [i, name] of names.entries()) {
    assert.deepEqual(await migrate(pool, name), [name])
    for (const [table, count] of written) assert.equal(await countOf(pool, table), count, `${table}, by ${name}`)
    if (i === names.length - 1) break
    // In one go: every commit waits for the disk.
    await pool.query('begin')
    written = await fill(pool, name)
    await pool.query('commit')
    assert.ok(written.size > 10)
  }
  assert.deepEqual(await shapeOf(pool), newest)
  assert.deepEqual(await migrate(pool), [], 'a second time there is nothing to do')
})
