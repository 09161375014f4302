import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import { Refusal } from '#core/errors.ts'
import { testDatabase } from '#test/database.ts'
import { until } from '#test/until.ts'
import { CALL_TIMES, CONNECTIONS, type Connections, openConnections } from '../client.ts'
import { type Caller, asCaller } from './callers.ts'

const caller = (name: string, more: Partial<Caller> = {}): Caller => ({ name, signal: null, reads: false, ...more })

interface World {
  connections: Connections
  /** Another client's connection, which holds lock 1. */
  holder: pg.Client
  waiting(): Promise<number>
}

async function world(times: Partial<typeof CALL_TIMES>, work: (world: World) => Promise<void>): Promise<void> {
  await using database = await testDatabase()
  await using connections = openConnections(database.connection, () => {}, { ...CALL_TIMES, ...times })
  const holder = new pg.Client(database.connection)
  await holder.connect()
  try {
    await holder.query('select pg_advisory_lock(1)')
    const waiting = async (): Promise<number> =>
      (
        await holder.query<{ n: number }>(
          `select count(*)::int as n from pg_stat_activity where wait_event = 'advisory' and datname = current_database()`,
        )
      ).rows[0]!.n
    await work({ connections, holder, waiting })
  } finally {
    await holder.end()
  }
}

const WAIT = 'select pg_advisory_lock_shared(1)'
const slow = ({ connections }: World, who: Caller): Promise<unknown> =>
  asCaller(who, () => connections.postgres.pool.query(WAIT))
const quick = ({ connections }: World, who: Caller): Promise<unknown> =>
  asCaller(who, () => connections.postgres.pool.query('select 1'))
const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof Refusal ? error.code : String(error)),
  )

test('an account with slow statements gets half of the connections and leaves the rest to others', () =>
  world({}, async (world) => {
    const first = Array.from({ length: 60 }, () => codeOf(slow(world, caller('a'))))
    await until(world.waiting, (n) => n === CONNECTIONS.accounts / 2)
    const second = Array.from({ length: 60 }, () => codeOf(slow(world, caller('b'))))
    await until(world.waiting, (n) => n === (CONNECTIONS.accounts * 3) / 4)
    for (let n = 0; n < 50; n += 1) await quick(world, caller(`c${n}`))
    await Promise.all(Array.from({ length: 50 }, (_, n) => quick(world, caller(`d${n}`))))
    assert.equal(await world.waiting(), (CONNECTIONS.accounts * 3) / 4)
    await world.holder.query('select pg_advisory_unlock(1)')
    assert.deepEqual(new Set(await Promise.all([...first, ...second])), new Set(['done']))
  }))

test('an account that waits too long for its own share gets a specific error', () =>
  world({ waitMs: 1 }, async (world) => {
    const holders = Array.from({ length: CONNECTIONS.accounts / 2 }, () => slow(world, caller('a')))
    await until(world.waiting, (n) => n === CONNECTIONS.accounts / 2)
    const { signal } = new AbortController()
    await assert.rejects(quick(world, caller('a', { signal })), (error: Refusal) => {
      assert.deepEqual([error.status, error.code, error.headers], [429, 'concurrency_limited', { 'retry-after': '5' }])
      return true
    })
    await quick(world, caller('b'))
    await world.holder.query('select pg_advisory_unlock(1)')
    await Promise.all(holders)
  }))

test('the server’s own work, permissions, leases and ledger continue while accounts hold all they can get', () =>
  world({}, async (world) => {
    const { connections } = world
    const holders = Array.from({ length: CONNECTIONS.accounts }, (_, n) => slow(world, caller(`a${n}`)))
    await until(world.waiting, (n) => n === CONNECTIONS.accounts)
    for (const { pool, db } of [
      connections.postgres,
      connections.postgres.forServer,
      connections.watch,
      connections.rights,
      connections.ledger,
    ]) {
      await pool.query('select 1')
      await db.transaction().execute(async (tx) => void (await tx.selectFrom('files').select('id').execute()))
    }
    // The reverse: the server's work takes nothing from accounts.
    const own = Array.from({ length: CONNECTIONS.server }, () => connections.postgres.pool.query(WAIT))
    await until(world.waiting, (n) => n === CONNECTIONS.accounts + CONNECTIONS.server)
    await world.holder.query('select pg_advisory_unlock(1)')
    await Promise.all([...holders, ...own])
  }))

test('a call in a transaction gets a second connection even if its account has its share', () =>
  world({}, async (world) => {
    const { db, pool } = world.connections.postgres
    const everyoneIn = Promise.withResolvers<void>()
    let inside = 0
    const calls = Array.from({ length: CONNECTIONS.accounts / 2 }, () =>
      asCaller(caller('a'), () =>
        db.transaction().execute(async () => {
          inside += 1
          if (inside === CONNECTIONS.accounts / 2) everyoneIn.resolve()
          await everyoneIn.promise
          await pool.query('select 1')
        }),
      ),
    )
    await Promise.all(calls)
  }))

for (const kind of ['a statement', 'a transaction'] as const) {
  const run = (world: World, who: Caller): Promise<unknown> =>
    kind === 'a statement'
      ? slow(world, who)
      : asCaller(who, () =>
          world.connections.postgres.db
            .transaction()
            .execute((tx) => sql`select pg_advisory_lock_shared(1)`.execute(tx)),
        )

  test(`${kind} of a read is canceled when its caller leaves, and its connection serves the next one`, () =>
    world({}, async (world) => {
      const leaving = new AbortController()
      const why = new Error('the caller left')
      const reads = Array.from({ length: 5 }, () =>
        run(world, caller('a', { signal: leaving.signal, reads: true })).catch((error: unknown) => error),
      )
      await until(world.waiting, (n) => n === 5)
      leaving.abort(why)
      assert.deepEqual(new Set(await Promise.all(reads)), new Set([why]))
      assert.equal(await world.waiting(), 0)
      await Promise.all(Array.from({ length: 40 }, () => quick(world, caller('a', { reads: true }))))
    }))

  test(`${kind} of a read that takes too long is refused as a timeout`, () =>
    world({ readMs: 30 }, async (world) => {
      assert.equal(await codeOf(run(world, caller('a', { reads: true }))), 'timeout')
      await until(world.waiting, (n) => n === 0)
      await quick(world, caller('a', { reads: true }))
    }))

  test(`${kind} of a change finishes when its caller leaves`, () =>
    world({ readMs: 30 }, async (world) => {
      const leaving = new AbortController()
      const change = codeOf(run(world, caller('a', { signal: leaving.signal })))
      await until(world.waiting, (n) => n === 1)
      leaving.abort()
      await quick(world, caller('a'))
      await world.holder.query('select pg_advisory_unlock(1)')
      assert.equal(await change, 'done')
    }))
}

test('transactions limit their statements without connection startup parameters', () =>
  world({}, async ({ connections: { postgres } }) => {
    const limitOf = (who: Caller | null): Promise<string> => {
      const ask = (): Promise<string> =>
        postgres.db.transaction().execute(async (tx) => {
          const { rows } = await sql<{ statement_timeout: string }>`show statement_timeout`.execute(tx)
          return rows[0]!.statement_timeout
        })
      return who === null ? ask() : asCaller(who, ask)
    }
    assert.deepEqual(
      [await limitOf(caller('a', { reads: true })), await limitOf(caller('a')), await limitOf(null)],
      ['15s', '1min', '1min'],
    )
    const { rows } = await postgres.pool.query<{ source: string }>(
      `select source from pg_settings where name = 'statement_timeout'`,
    )
    assert.equal(rows[0]!.source, 'session', 'set on the connection of our own, after its start')
  }))

test('a caller who leaves while waiting for a connection stops waiting', () =>
  world({}, async (world) => {
    const holders = Array.from({ length: CONNECTIONS.accounts / 2 }, () => slow(world, caller('a')))
    await until(world.waiting, (n) => n === CONNECTIONS.accounts / 2)
    const leaving = new AbortController()
    const why = new Error('the caller left')
    const readQuery = quick(world, caller('a', { signal: leaving.signal, reads: true }))
    leaving.abort(why)
    await assert.rejects(readQuery, why)
    await world.holder.query('select pg_advisory_unlock(1)')
    await Promise.all(holders)
  }))
