import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { eventTable } from '#core/events.ts'
import { type Id, newId } from '#core/ids.ts'
import { testDatabase } from '#test/database.ts'
import { type Bus, connectBus } from '../bus/bus.ts'
import { retainChanges } from './changes.ts'
import type { DeliveredEvent } from './deliveries.ts'
import { createLeases } from '../processes/leases.ts'
import { createLog } from '../log.ts'
import { writeOutbox } from './outbox.ts'
import { type Db, type Postgres, connectPostgres } from '../postgres/client.ts'
import { startProcess } from '../processes/processes.ts'
import { type RelayParts, startRelay } from './relay.ts'

const log = createLog('silent')

async function instance(t: TestContext) {
  const stack = new AsyncDisposableStack()
  t.after(() => stack.disposeAsync())
  const database = stack.use(await testDatabase())
  const postgres = stack.use(connectPostgres(database.connection, () => {}))
  const bus = stack.use(await connectBus(postgres, log))
  return {
    postgres,
    bus,
    async relay(consumers: RelayParts['consumers'] = []) {
      const process = await startProcess({ postgres, log })
      const leases = createLeases({ postgres, processId: process.id, log })
      const relay = startRelay({
        postgres,
        bus,
        leases,
        log,
        consumers,
        events: eventTable([]),
        unheard: sql<boolean>`false`,
      })
      const whole = {
        [Symbol.asyncDispose]: async () => {
          await relay[Symbol.asyncDispose]()
          await process[Symbol.asyncDispose]()
        },
      }
      return stack.use(whole)
    },
  }
}

const tell = (db: Db, type: string, ...channels: string[]) =>
  writeOutbox(db, { type, channels, data: { of: type } }, null)

async function open(postgres: Postgres, type: string, ...channels: string[]): Promise<() => Promise<void>> {
  const written = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  const whole = postgres.db.transaction().execute(async (db) => {
    await tell(db, type, ...channels)
    written.resolve()
    await go.promise
  })
  await written.promise
  return () => {
    go.resolve()
    return whole
  }
}

async function until<T>(bus: Bus, topic: string, look: () => Promise<T | null>): Promise<T> {
  for (;;) {
    const woken = Promise.withResolvers<void>()
    using _watch = bus.on(topic, woken.resolve)
    const result = await look()
    if (result !== null) return result
    await woken.promise
  }
}

interface Change {
  channel: string
  offset: bigint
  type: string
  event_id: Id
}
const changesOf = async (postgres: Postgres, channel: string): Promise<Change[]> =>
  (
    await postgres.pool.query<Change>(
      'select channel, "offset", type, event_id from changes where channel = $1 order by "offset"',
      [channel],
    )
  ).rows

test('transactions that commit out of order lose no events, and each channel’s order has no gaps', async (t) => {
  const { postgres, bus, relay } = await instance(t)
  await relay()
  await relay()
  const first = await open(postgres, 'thing.first', 'chat:a', 'user:u')
  const second = await open(postgres, 'thing.second', 'chat:a')
  await second()
  bus.poke('outbox')
  const all = (n: number) => () => changesOf(postgres, 'chat:a').then((rows) => (rows.length >= n ? rows : null))
  // The open transaction delays no one.
  assert.deepEqual(
    (await until(bus, 'changes', all(1))).map(({ type, offset }) => [type, offset]),
    [['thing.second', 1n]],
  )
  await first()
  bus.poke('outbox')
  assert.deepEqual(
    (await until(bus, 'changes', all(2))).map(({ type, offset }) => [type, offset]),
    [
      ['thing.second', 1n],
      ['thing.first', 2n],
    ],
  )
  assert.deepEqual(
    (await changesOf(postgres, 'user:u')).map(({ offset }) => offset),
    [1n],
  )
  assert.equal((await postgres.pool.query('select 1 from outbox')).rowCount, 0)
})

test('every concurrent event is relayed exactly once, even when the relay changes hands', async (t) => {
  const { postgres, bus, relay } = await instance(t)
  const one = await relay()
  await relay()
  const write = async (n: number) => {
    await postgres.db.transaction().execute((db) => tell(db, `n.${n}`, 'chat:busy', `chat:${n % 3}`))
    bus.poke('outbox')
  }
  // More writers than connections; all 600 at once would time out waiting for one.
  const writers = async (from: number, to: number): Promise<void> => {
    const queue = Array.from({ length: to - from }, (_, n) => from + n).values()
    const writer = async () => {
      for (const n of queue) await write(n)
    }
    await Promise.all(Array.from({ length: 60 }, writer))
  }
  await writers(0, 100)
  const rest = writers(100, 600)
  await one[Symbol.asyncDispose]()
  await rest
  const rows = await until(bus, 'changes', () =>
    changesOf(postgres, 'chat:busy').then((changes) => (changes.length >= 600 ? changes : null)),
  )
  assert.deepEqual(
    rows.map(({ offset }) => offset),
    Array.from({ length: 600 }, (_, n) => BigInt(n + 1)),
  )
  assert.equal(new Set(rows.map(({ type }) => type)).size, 600)
})

test('a relay that lost its lease stops, and resumes when the other lease ends', async (t) => {
  const { postgres, bus, relay } = await instance(t)
  const other = await startProcess({ postgres, log })
  t.after(() => other[Symbol.asyncDispose]())
  await relay()
  const write = async (type: string) => {
    await tell(postgres.db, type, 'chat:a')
    bus.poke('outbox')
  }
  const readCarried = (n: number) =>
    until(bus, 'changes', () => changesOf(postgres, 'chat:a').then((rows) => (rows.length >= n ? rows : null)))
  await write('thing.first')
  await readCarried(1)
  const { pool } = postgres
  await pool.query(
    `update leases set holder = $1, fence = fence + 1, expires_at = now() + interval '3 seconds' where name = 'relay'`,
    [other.id],
  )
  await write('thing.second')
  for (let theirs = true; theirs;) {
    const { rows } = await pool.query<{ n: number; theirs: boolean }>(
      `select (select count(*) from changes)::int as n, expires_at > now() + interval '0.3 seconds' as theirs from leases where name = 'relay'`,
    )
    theirs = rows[0]!.theirs
    if (theirs) assert.equal(rows[0]!.n, 1)
    bus.poke('outbox')
  }
  assert.deepEqual(
    (await readCarried(2)).map(({ type, offset }) => [type, offset]),
    [
      ['thing.first', 1n],
      ['thing.second', 2n],
    ],
  )
})

test('consumers get their event types in order, and failed events again', async (t) => {
  const { postgres, relay } = await instance(t)
  const events: DeliveredEvent[] = []
  const done = Promise.withResolvers<void>()
  let failures = 1
  await relay([
    {
      name: 'counts',
      types: ['thing.a', 'thing.b'],
      async handle(event) {
        if (event.type === 'thing.a' && failures-- > 0) throw new Error('not now')
        events.push(event)
        if (events.length === 2) done.resolve()
      },
    },
  ])
  await postgres.db.transaction().execute(async (db) => {
    await tell(db, 'thing.a', 'chat:a')
    await tell(db, 'thing.other', 'chat:a')
    await tell(db, 'thing.b', 'chat:b')
  })
  await done.promise
  assert.deepEqual(
    events.map(({ type, channels, data, actor }) => ({ type, channels, data, actor })),
    [
      { type: 'thing.a', channels: ['chat:a'], data: { of: 'thing.a' }, actor: null },
      { type: 'thing.b', channels: ['chat:b'], data: { of: 'thing.b' }, actor: null },
    ],
  )
})

test('changes are kept for a day or the last 10,000 per channel, whichever is more', async (t) => {
  const { postgres } = await instance(t)
  await postgres.pool.query(`insert into channels (name, epoch, "offset") values ('old', $1, 10005), ('few', $1, 3)`, [
    newId(),
  ])
  await postgres.pool.query(
    `insert into changes (channel, "offset", event_id, type, data, at)
      select 'old', n, $1, 'x', '{}'::jsonb, now() - interval '25 hours' from generate_series(1, 10005) n
      union all select 'few', n, $1, 'x', '{}', now() - interval '25 hours' from generate_series(1, 3) n`,
    [newId()],
  )
  assert.equal(await retainChanges(postgres), 5)
  assert.deepEqual((await changesOf(postgres, 'old')).map(({ offset }) => offset).slice(0, 2), [6n, 7n])
  assert.equal((await changesOf(postgres, 'few')).length, 3)
})
