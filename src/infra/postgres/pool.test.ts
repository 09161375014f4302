import assert from 'node:assert/strict'
import { test } from 'node:test'
import type pg from 'pg'
import { testDatabase } from '#test/database.ts'
import { createPool } from './pool.ts'

const MAX = 12

async function withPool(work: (pool: pg.Pool) => Promise<void>): Promise<void> {
  await using database = await testDatabase()
  const pool = createPool({ ...database.connection, max: MAX, connectionTimeoutMillis: 30_000 })
  // `end` doesn't wait for the database to close connections, and the database is dropped.
  pool.on('error', () => {}).on('connect', (client) => client.on('error', () => {}))
  try {
    await work(pool)
  } finally {
    await pool.end()
  }
}

test('a burst of short statements shares few connections', () =>
  withPool(async (pool) => {
    await pool.query('select 1')
    const burst = Promise.all(Array.from({ length: 6 }, () => pool.query('select 1')))
    // Each has a connection, has one opening, or waits.
    await new Promise<void>((resolve) => process.nextTick(resolve))
    assert.deepEqual([pool.totalCount, pool.idleCount, pool.waitingCount], [3, 0, 3])
    await burst
  }))

test('waiting callers get new connections up to the maximum, then wait', () =>
  withPool(async (pool) => {
    const clients = await Promise.all(Array.from({ length: MAX }, () => pool.connect()))
    assert.equal(pool.totalCount, MAX)
    const waiting = pool.query<{ n: number }>('select 1 as n')
    clients[0]!.release()
    assert.equal((await waiting).rows[0]!.n, 1)
    assert.equal(pool.totalCount, MAX)
    for (const client of clients.slice(1)) client.release()
  }))

test('a connection that can’t be opened is reported and doesn’t block others', async () => {
  await using database = await testDatabase()
  const pool = createPool({ ...database.connection, database: 'not_there', max: MAX })
  const ends = await Promise.allSettled(Array.from({ length: 2 * MAX }, () => pool.query('select 1')))
  assert.deepEqual([...new Set(ends.map((end) => end.status === 'rejected' && end.reason.code))], ['3D000'])
  await pool.end()
})
