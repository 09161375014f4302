import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import pg from 'pg'
import { testDatabase } from '#test/database.ts'
import { until } from '#test/until.ts'
import { CONNECTIONS, openConnections } from '../client.ts'
import { type Caller, asCaller } from './callers.ts'

const caller = (name: string): Caller => ({ name, signal: null, reads: false })
const LONG = `select repeat('x', 100000) as text from generate_series(1, 30)`

test('long results deliver a bounded number of bytes per event-loop turn and arrive complete', async () => {
  await using database = await testDatabase()
  await using connections = openConnections(database.connection, () => {})
  const { pool } = connections.postgres
  const sockets = new Set<Socket>()
  // The pool behind the view opens all connections.
  pool.on('connect', (client) =>
    sockets.add((client as unknown as { connection: { stream: Socket } }).connection.stream),
  )
  const count = 10
  const bytesRead = (): number => sockets.values().reduce((sum, socket) => sum + socket.bytesRead, 0)
  const open = { results: count }
  const results = Promise.all(
    Array.from({ length: count }, async (_, n) => {
      const { rows } = await asCaller(caller(n % 2 === 0 ? 'a' : 'b'), () => pool.query<{ text: string }>(LONG))
      open.results--
      return rows.reduce((sum, { text }) => sum + text.length, 0)
    }),
  )
  let most = 0
  for (let last = 0; open.results > 0;) {
    await new Promise(setImmediate)
    const bytes = bytesRead()
    // The first bytes of each aren't paced.
    if (last > 5 << 20) most = Math.max(most, bytes - last)
    last = bytes
  }
  assert.deepEqual(new Set(await results), new Set([3_000_000]))
  assert.ok(most > 0 && most <= 2 << 20, `${most} bytes in one turn`)
})

test('an account that mostly reads long results reads two at a time until its results are short again', async () => {
  await using database = await testDatabase()
  await using connections = openConnections(database.connection, () => {})
  const { pool } = connections.postgres
  const holder = new pg.Client(database.connection)
  await holder.connect()
  try {
    const waiting = async (): Promise<number> =>
      (
        await holder.query<{ n: number }>(
          `select count(*)::int as n from pg_stat_activity where wait_event = 'advisory' and datname = current_database()`,
        )
      ).rows[0]!.n
    const ask = (name: string, text: string): Promise<unknown> => asCaller(caller(name), () => pool.query(text))
    /** How many statements of an account run concurrently while any number waits for a lock. */
    const atOnce = async (name: string, expected: number): Promise<void> => {
      await holder.query('select pg_advisory_lock(1)')
      const all = Array.from({ length: 30 }, () => ask(name, 'select pg_advisory_xact_lock_shared(1)'))
      await until(waiting, (n) => n >= expected)
      // Serving a later account shows that everything allowed is running.
      await ask('another', 'select 1')
      assert.equal(await waiting(), expected)
      await holder.query('select pg_advisory_unlock(1)')
      await Promise.all(all)
    }
    const half = CONNECTIONS.accounts / 2
    await atOnce('a', half)
    await ask('a', LONG)
    await atOnce('a', 2)
    await atOnce('b', half)
    for (let n = 0; n < 30; n++) await ask('a', 'select 1')
    await atOnce('a', half)
  } finally {
    await holder.end()
  }
})
