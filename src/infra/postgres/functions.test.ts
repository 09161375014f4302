import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { testDatabase } from '#test/database.ts'
import { applyFunctions, functionsIn, ledgerFunctions } from './functions.ts'
import { migrate } from './migrate.ts'

/** Function `answer` in a version whose number is its argument count. */
function version(t: TestContext, number: number): ReturnType<typeof functionsIn> {
  const folder = mkdtempSync(join(tmpdir(), 'ukiyo-functions-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const parameters = Array.from({ length: number }, () => 'int').join(', ')
  writeFileSync(
    join(folder, '1-answer.sql'),
    `create function answer(${parameters}) returns int language sql set search_path from current as 'select half() * 2';`,
  )
  writeFileSync(join(folder, '2-half.sql'), `create function half() returns int language sql as 'select ${number}';`)
  return functionsIn('books', folder)
}

async function database(t: TestContext): Promise<pg.Pool> {
  const testDb = await testDatabase()
  const pool = new pg.Pool({ ...testDb.connection, max: 4 })
  // Dropping the database breaks connections that `end` didn't wait for.
  pool.on('error', () => {})
  t.after(async () => {
    await pool.end()
    await testDb[Symbol.asyncDispose]()
  })
  return pool
}

async function apply(pool: pg.Pool, functions: ReturnType<typeof functionsIn>): Promise<boolean> {
  const client = await pool.connect()
  try {
    await client.query('begin; set local check_function_bodies = off')
    const wasApplied = await applyFunctions(client, functions)
    await client.query('commit')
    return wasApplied
  } finally {
    client.release()
  }
}

test('a server of an older version keeps its own functions beside a newer one, and finds them again later', async (t) => {
  const pool = await database(t)
  const [older, newer] = [version(t, 1), version(t, 2)]
  const answer = async (text: string): Promise<unknown> => (await pool.query(`select ${text} as it`)).rows[0].it

  assert.equal(await apply(pool, older), true)
  assert.equal(await apply(pool, newer), true)
  assert.equal(await answer(`${older.schema}.answer(0)`), 2)
  assert.equal(await answer(`${newer.schema}.answer(0, 0)`), 4)
  assert.equal(await apply(pool, older), false, 'both are there')
})

test('unused versions are dropped and recreated when started again', async (t) => {
  const pool = await database(t)
  const versions = Array.from({ length: 11 }, (_, i) => version(t, i + 1))
  for (const each of versions) assert.equal(await apply(pool, each), true)
  const { rows } = await pool.query(
    `select nspname::text as name from pg_namespace where starts_with(nspname, 'books_')`,
  )
  assert.deepEqual(
    rows.map(({ name }) => name as string).toSorted(),
    versions
      .slice(-8)
      .map(({ schema }) => schema)
      .toSorted(),
  )
  assert.equal(await apply(pool, versions[0]!), true)
})

test('a version in use again is kept, however many others are tried afterwards', async (t) => {
  const pool = await database(t)
  const [good, ...attempts] = Array.from({ length: 20 }, (_, i) => version(t, i + 1))
  await apply(pool, good!)
  for (const each of attempts) {
    assert.equal(await apply(pool, each), true)
    // The new version is withdrawn, and servers of the previous one start again.
    assert.equal(await apply(pool, good!), false)
    assert.equal((await pool.query(`select ${good!.schema}.answer(0) as it`)).rows[0].it, 2)
  }
})

test('two servers starting concurrently create the functions once', async (t) => {
  const pool = await database(t)
  await pool.query(`drop schema ${ledgerFunctions.schema} cascade`)
  await Promise.all([migrate(pool), migrate(pool), migrate(pool)])
  const { rows } = await pool.query(`select proname::text as name from pg_proc where pronamespace = $1::regnamespace`, [
    ledgerFunctions.schema,
  ])
  assert.deepEqual(rows.map(({ name }) => name as string).toSorted(), [
    'periods_of',
    'reconcile_calls',
    'reserve_calls',
    'reserved_calls',
    'settle_batch',
    'settle_calls',
  ])
})
