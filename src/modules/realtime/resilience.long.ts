import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { newId } from '#core/ids.ts'
import { type TestDatabase, testDatabase } from '#test/database.ts'
import { readEvents } from '#test/events.ts'
import { needs } from '#test/needs.ts'
import { type BrokerKind, broker, hasBroker } from '#test/realtime/broker.ts'
import { startChild } from '#test/realtime/children.ts'
import { killsUnderSubscribers } from '#test/realtime/rounds.ts'
import { type Person, caller, testServer } from '#test/server.ts'

test('16 subscribers receive every change once and in order while servers are killed 20 times', async (t) => {
  const result = await killsUnderSubscribers({ rounds: 20, readers: 16 })
  t.diagnostic(JSON.stringify(result))
  assert.ok(result.acknowledged > 500 && result.told >= 16 * result.acknowledged && result.resumed >= 16 * 10)
})

for (const kind of ['nats', 'redis'] as const satisfies BrokerKind[])
  test(
    `8 subscribers receive every change once and in order while servers and ${kind} are killed 6 times each`,
    needs(hasBroker(kind), `${kind}-server`),
    async (t) => {
      await using bus = await broker(kind)
      const result = await killsUnderSubscribers({ rounds: 6, readers: 8, bus })
      t.diagnostic(JSON.stringify(result))
      assert.ok(result.acknowledged > 100 && result.told >= 8 * result.acknowledged)
    },
  )

test('presence through a killed server ends once on the other server', async () => {
  await using database = await testDatabase()
  await using steady = await testServer({ database })
  const alice = await steady.person('Alice')
  const channel = `workspace:${alice.workspaceId}`
  const events = readEvents(alice, `/realtime/subscribe?channels=${channel}`)
  await events.next()
  const nextPresence = async (): Promise<[boolean, boolean]> => {
    for (;;) {
      const { event, data } = (await events.next()).value!
      if (event === 'presence') return [data.joined, data.left]
    }
  }
  {
    await using child = await startChild(database)
    const there = caller(child.origin, alice.headers)
    assert.equal((await there.post(`/realtime/${channel}/presence`, {})).status, 200)
    assert.deepEqual(await nextPresence(), [true, false])
  }
  const startedAt = performance.now()
  assert.deepEqual(await nextPresence(), [false, true])
  const lasted = performance.now() - startedAt
  assert.ok(lasted > 20_000 && lasted < 33_000, `${lasted} ms`)
  assert.equal((await alice.post(`/realtime/${channel}/presence`, {})).status, 200)
  assert.deepEqual(await nextPresence(), [true, false])
  await events.return()
})

const CHANGES = 25_000
const WORDS = 'x'.repeat(4_000)
const SLEEPERS = 100

test('100 stalled readers are disconnected after 100 MB of changes, memory stays flat, and resuming readers miss nothing', async (t) => {
  await using database = await testDatabase()
  const alice = await signUp(database)
  await using server = await startChild(database, { UK_LIMIT_IN_FLIGHT: '0' })
  const key = caller(server.origin, alice.headers)
  const id = (await key.post('/workspaces', { name: 'Team' })).body.data.id as string
  const channel = `workspace:${id}`
  const client = new pg.Client(database.connection)
  await client.connect()
  await using _client = { [Symbol.asyncDispose]: () => client.end() }
  let most = 0
  using _watching = every(100, () => (most = Math.max(most, server.rssMegabytes())))
  const pass = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i += 250) {
      await client.query(
        `insert into outbox (id, type, channels, resource_type, resource_id, data)
         select $1::text, 'chat.updated', array[$2::text], 'chat', $1::text, json_build_object('n', n, 'words', $3::text) from generate_series($4::int, $5::int) n`,
        [newId(), channel, WORDS, i, i + 249],
      )
      await client.query(`select pg_notify('ukiyo', 'longtest!outbox')`)
    }
    while ((await client.query('select 1 from outbox limit 1')).rowCount !== 0) await sleep(50)
  }

  const start = async (): Promise<string> =>
    (await readEvents(key, `/realtime/subscribe?channels=${channel}`).next()).value!.id
  /** Receives `count` changes from `position`, each once and in order, reconnecting when it is too slow. */
  async function hear(count: number, position: string): Promise<void> {
    let next = 0
    for (let last = position; next < count;) {
      const events = readEvents(key, `/realtime/subscribe?channels=${channel}&last_event_id=${last}`)
      try {
        for await (const { id, event, data } of events) {
          assert.notEqual(event, 'reset')
          last = id
          if (event === 'change') assert.equal(data.data.n, next++)
          if (next === count) break
        }
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error
      }
    }
  }

  // Warm up: measure memory growth from a server that has already worked hard.
  const first = await start()
  await Promise.all([pass(CHANGES / 2), hear(CHANGES / 2, first)])
  const before = most
  const position = await start()

  const { hostname, port } = new URL(server.origin)
  const { promise: cut, resolve: allCut } = Promise.withResolvers<void>()
  let remaining = SLEEPERS
  const sleepers = await Promise.all(
    Array.from({ length: SLEEPERS }, async () => {
      const socket = connect(Number(port), hostname)
      socket.on('error', () => {}).once('close', () => void (--remaining === 0 && allCut()))
      socket.write(
        `GET /v1/realtime/subscribe?channels=${channel} HTTP/1.1\r\nHost: ${hostname}\r\nCookie: ${alice.headers.cookie}\r\n\r\n`,
      )
      let received = ''
      while (!received.includes('event: subscribed'))
        received += String((await once(socket, 'readable'), socket.read() as Buffer | null) ?? '')
      return socket
    }),
  )
  await pass(CHANGES)
  const grown = most - before
  t.diagnostic(`${before.toFixed()} MB before, ${grown.toFixed()} MB more`)
  for (const socket of sleepers) socket.resume()
  await cut
  assert.ok(grown < 60, `${grown} MB`)

  await hear(CHANGES, position)
})

async function signUp(database: TestDatabase): Promise<Person> {
  await using server = await testServer({ database })
  return await server.person('Alice')
}

function every(ms: number, work: () => void): Disposable {
  const timer = setInterval(work, ms)
  return { [Symbol.dispose]: () => clearInterval(timer) }
}
