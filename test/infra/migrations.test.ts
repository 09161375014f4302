import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import pg from 'pg'
import { createLedger } from '#infra/ledger/create-ledger.ts'
import { createLog } from '#infra/log.ts'
import { connectPostgres } from '#infra/postgres/client.ts'
import { migrate, migrationNames } from '#infra/postgres/migrate.ts'
import { startProcess } from '#infra/processes/processes.ts'
import { newId } from '#core/ids.ts'
import { testDatabase } from '#test/database.ts'
import { call, outcome, payer } from '#test/infra/ledger-calls.ts'

const names = migrationNames()
const earlier = join(import.meta.dirname, '../../src/infra/postgres/earlier-migrations')
const shape = `with mine as (
    select oid from pg_namespace where nspname = 'public' or nspname ~ '^ledger_[0-9a-f]{12}$'
  )
  select format('column %s.%s %s %s %s %s %s%s', a.attrelid::regclass, a.attname, format_type(a.atttypid, a.atttypmod),
      a.attcollation::regcollation, a.attnotnull, a.attstorage, a.attidentity, pg_get_expr(d.adbin, d.adrelid)) as line
    from pg_attribute a join pg_class c on c.oid = a.attrelid and c.relkind in ('r', 'c') and c.relnamespace in (select * from mine)
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum where a.attnum > 0 and not a.attisdropped
  union all select format('relation %s %s %s %s', oid::regclass, relkind, relpersistence, reloptions) from pg_class
    where relnamespace in (select * from mine)
  union all select indexdef from pg_indexes where schemaname = 'public'
  union all select format('constraint %s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) from pg_constraint
    where connamespace in (select * from mine) and contype <> 'n'
  union all select pg_get_triggerdef(oid) from pg_trigger where not tgisinternal
  union all select format('type %s %s %s', oid::regtype, typtype, typbasetype::regtype) from pg_type where typnamespace in (select * from mine)
    and typrelid not in (select oid from pg_class where relkind in ('i', 'S'))
  union all select format('sequence %s %s %s', seqrelid::regclass, seqtypid::regtype, seqincrement) from pg_sequence
  union all select format('extension %s', extname) from pg_extension
  union all select format('comment %s %s', pg_describe_object(classoid, objoid, objsubid), description) from pg_description
    where classoid in ('pg_class'::regclass, 'pg_proc'::regclass) and objoid > 16383
      and not exists (select 1 from pg_depend where pg_depend.objid = objoid and deptype = 'e')
  union all select pg_get_functiondef(p.oid) from pg_proc p
    where pronamespace in (select * from mine) and prolang <> (select oid from pg_language where lanname = 'c')
  order by 1`

async function emptyDatabase(): Promise<AsyncDisposable & { pool: pg.Pool; connection: pg.PoolConfig }> {
  const beside = await testDatabase()
  const database = `t_${randomBytes(6).toString('hex')}`
  // Not a pool: `end` doesn't wait for its connections, and dropping the database breaks them.
  const admin = new pg.Client(beside.connection)
  await admin.connect()
  await admin.query(`create database ${database}`)
  const connection = { ...beside.connection, database }
  const pool = new pg.Pool({ ...connection, max: 1 })
  // Dropping the database breaks connections that `end` didn't wait for.
  pool.on('error', () => {})
  return {
    pool,
    connection,
    async [Symbol.asyncDispose]() {
      await pool.end()
      await admin.query(`drop database ${database} with (force)`)
      await admin.end()
      await beside[Symbol.asyncDispose]()
    },
  }
}

/** Columns that may be null only together with others. */
const together: Record<string, Record<string, string>> = {
  automations: { schedule: '0 8 * * *', time_zone: 'UTC' },
  shares: { email: 'a@example.com' },
  computer_tickets: { terminal_id: 'main' },
}

const shapeOf = async (pool: pg.Pool): Promise<string[]> =>
  (await pool.query<{ line: string }>(shape)).rows.map(({ line }) => line)
const countOf = async (pool: pg.Pool, table: string): Promise<number> =>
  Number((await pool.query<{ count: bigint }>(`select count(*) from ${table}`)).rows[0]!.count)

/**
 * Inserts another row into every current table, in reference order. Nullable columns and defaults are left out, to show
 * what migrations require of minimal rows. Returns row counts.
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
  const tableContents = new Map<string, Map<string, unknown>>()
  while (tableContents.size < tables.size) {
    const ready = [...tables].filter(
      ([name, columns]) => !tableContents.has(name) && columns.every(({ to }) => to === null || tableContents.has(to)),
    )
    assert.ok(ready.length > 0, 'the references of the tables go in a circle')
    for (const [name, columns] of ready) {
      const id = newId()
      const values = columns.map(({ column, type, check, to, to_column: key }) => {
        if (to !== null && key !== null) return tableContents.get(to)!.get(key)
        // A file needs bytes, a folder doesn't.
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
      const { rows } = await pool.query<Record<string, unknown>>(
        `insert into ${name} (${names.map((column) => `"${column}"`).join(', ')}) values (${values.map((_, i) => `$${i + 1}`).join(', ')}) on conflict do nothing returning *`,
        values,
      )
      // A trigger may have inserted it, or only one row is allowed.
      const row = rows[0] ?? (await pool.query<Record<string, unknown>>(`select * from ${name} limit 1`)).rows[0]!
      tableContents.set(name, new Map(Object.entries(row)))
    }
  }
  const counts = new Map<string, number>()
  for (const name of tableContents.keys()) counts.set(name, await countOf(pool, name))
  return counts
}

async function rowsOf(pool: pg.Pool): Promise<Map<string, string[]>> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'public' and tablename <> 'migrations'`,
  )
  const all = new Map<string, string[]>()
  for (const { name } of tables) {
    const { rows } = await pool.query<{ row: string }>(`select to_jsonb(t)::text as row from ${name} t order by 1`)
    all.set(
      name,
      rows.map(({ row }) => row),
    )
  }
  return all
}

test('migrations keep rows written in every older schema and reach the schema of a fresh database', async () => {
  await using fresh = await emptyDatabase()
  assert.deepEqual(await migrate(fresh.pool), names)
  const newest = await shapeOf(fresh.pool)
  await using agedDatabase = await emptyDatabase()
  const { pool } = agedDatabase
  let counts = new Map<string, number>()
  for (const [i, name] of names.entries()) {
    assert.deepEqual(await migrate(pool, name), [name])
    for (const [table, count] of counts) assert.equal(await countOf(pool, table), count, `${table}, by ${name}`)
    if (i === names.length - 1) break
    // One transaction, because each commit waits for the disk.
    await pool.query('begin')
    counts = await fill(pool, name)
    await pool.query('commit')
    assert.ok(counts.size > 0)
  }
  assert.deepEqual(await migrate(pool), [], 'a second time there is nothing to do')
  assert.deepEqual(await shapeOf(pool), newest)
})

/** A database created and filled by the last commit before the migrations were folded. */
async function databaseFromBefore(): Promise<Awaited<ReturnType<typeof emptyDatabase>>> {
  const database = await emptyDatabase()
  const dump = readFileSync(join(import.meta.dirname, 'fixtures/before-folding.sql.gz'))
  await database.pool.query(gunzipSync(dump).toString())
  await database.pool.query('reset all')
  return database
}

const withoutNewColumns = (rows: Map<string, string[]>, before: Map<string, string[]>): Map<string, string[]> =>
  new Map(
    [...before].map(([table, [first]]) => {
      const columns = Object.keys(JSON.parse(first!))
      const cut = (row: string): string => JSON.stringify(columns.map((column) => [column, JSON.parse(row)[column]]))
      return [table, rows.get(table)!.map(cut).toSorted()]
    }),
  )

test('a database from before the migrations were folded keeps its rows, gets the current schema, and has a working ledger', async () => {
  await using fresh = await emptyDatabase()
  await migrate(fresh.pool)
  await using old = await databaseFromBefore()
  const { pool } = old
  const before = await rowsOf(pool)
  for (const [table, { length }] of before) assert.ok(length > 0, `the fixture has a row of ${table}`)
  await migrate(pool)
  assert.deepEqual(withoutNewColumns(await rowsOf(pool), before), withoutNewColumns(before, before))
  assert.deepEqual(await migrate(pool), [])
  // The previous version's functions stay for servers that still use them.
  const ours = (await shapeOf(fresh.pool)).filter((line) => !/ledger_[0-9a-f]{12}/.test(line))
  assert.deepEqual(
    (await shapeOf(pool)).filter((line) => !/ledger_[0-9a-f]{12}/.test(line)),
    ours,
  )

  await using postgres = connectPostgres(old.connection, () => {})
  const log = createLog('silent')
  await using process = await startProcess({ postgres, log })
  await using ledger = createLedger({ postgres, processId: process.id, log })
  const by = payer()
  const meteredCall = call(by)
  await ledger.grant(postgres.db, by.accountId, 1_000n, 'welcome', null)
  assert.equal(await ledger.reserve(meteredCall, 400n), 400n)
  ledger.settle(meteredCall, outcome(150n))
  await ledger.flush()
  assert.equal(await ledger.balance(by.accountId), 850n)
})

test('a database with some later migrations gets only the missing ones', async () => {
  await using fresh = await emptyDatabase()
  await migrate(fresh.pool)
  await using old = await databaseFromBefore()
  for (const name of ['0260-hashes-of-snapshots.sql', '0290-deleted-temporary-chats.sql']) {
    await old.pool.query(readFileSync(join(earlier, name), 'utf8'))
    await old.pool.query('insert into migrations (name) values ($1)', [name])
  }
  await migrate(old.pool)
  const isTable = (line: string): boolean => !/ledger_[0-9a-f]{12}/.test(line)
  assert.deepEqual((await shapeOf(old.pool)).filter(isTable), (await shapeOf(fresh.pool)).filter(isTable))
})

test('a refused start leaves the database unchanged, so the previous version still starts', async () => {
  const newer = /has the migration 0[25]70-of-a-branch\.sql, which this version doesn’t know/
  const cases: readonly [why: string, damage: string, says: RegExp][] = [
    ['it knows more', `insert into migrations (name) values ('0270-of-a-branch.sql')`, newer],
    [
      'one is missing and one is more',
      `update migrations set name = '0570-of-a-branch.sql' where name ~ '^0165'`,
      newer,
    ],
    ['one is missing', `delete from migrations where name ~ '^0165'`, /stopped at migration 0250-/],
    [
      'it is older',
      `delete from migrations where name >= '0200'`,
      /stopped at migration 0199-.*start the commit 1c80fa48/,
    ],
    ['only the first is there', `delete from migrations where name > '0002'`, /stopped at migration 0001-/],
  ]
  for (const [why, damage, says] of cases) {
    await using old = await databaseFromBefore()
    await old.pool.query(damage)
    const names = async () => (await old.pool.query('select name from migrations order by name')).rows
    const before = [await names(), await shapeOf(old.pool), await rowsOf(old.pool)]
    await assert.rejects(migrate(old.pool), says, why)
    assert.deepEqual([await names(), await shapeOf(old.pool), await rowsOf(old.pool)], before, why)
  }
})
