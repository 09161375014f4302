/**
 * Writes to resources that are permanently deleted at the same moment. The deletion is held open until the write waits
 * for it.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { loadContracts } from '#modules/contracts.ts'
import { resourceTypeOf } from '#core/access.ts'
import { list } from '#core/registry.ts'
import { pathOf, requiredFields, validBody } from './least-call.ts'
import { makers } from '../makers.ts'
import { readableLog } from './readable-log.ts'
import { type Caller, type Person, type TestServer, caller, testServer } from '../server.ts'
import { until } from '../until.ts'

const writing = list(await loadContracts()).flatMap(({ name, endpoint }) => {
  const type = resourceTypeOf(endpoint.access)
  return type !== undefined && endpoint.method !== 'GET' ? [{ name, endpoint, type }] : []
})
const tables: Record<string, string> = {
  workspace: 'workspaces',
  upload: 'uploads',
  operation: 'operations',
  notification: 'notifications',
  push_subscription: 'push_subscriptions',
  webhook_endpoint: 'webhook_endpoints',
  provider_endpoint: 'provider_endpoints',
}

const { log, errors } = readableLog()
const stack = new AsyncDisposableStack()
let server: TestServer
let alice: Person
let beyond: Caller
let deleter: pg.Client
let slow: string
before(async () => {
  server = stack.use(
    await testServer({
      log,
      environment: {
        UK_LIMIT_READS: '0',
        UK_LIMIT_WRITES: '0',
        UK_FETCH_ALLOW: '127.0.0.0/8',
        UK_UPSTREAM_ALLOW: '127.0.0.0/8',
      },
    }),
  )
  const twin = stack.use(await server.twin())
  alice = await server.person('Alice')
  beyond = caller(twin.origin, alice.headers)
  deleter = new pg.Client(server.database.connection)
  await deleter.connect()
  stack.defer(() => deleter.end())
  // A provider and webhook receiver that answers after its caller has continued.
  const vendor = createServer((request, response) => {
    request.resume()
    void sleep(30).then(() => response.end(JSON.stringify({ data: [{ id: `m${Math.random()}` }] })))
  }).listen(0, '127.0.0.1')
  stack.defer(() => {
    vendor.closeAllConnections()
    vendor.close()
  })
  await once(vendor, 'listening')
  slow = `http://127.0.0.1:${(vendor.address() as AddressInfo).port}`
})
after(() => stack.disposeAsync())

/** Runs `work` during a deletion, which commits once the work waits for it or ends. */
async function whileDeleting<T>(kind: string, id: string, work: () => Promise<T>): Promise<T> {
  const { rows } = await deleter.query<{ pid: number }>('select pg_backend_pid() as pid')
  await deleter.query('begin')
  await deleter.query(`delete from ${tables[kind] ?? 'resources'} where id = $1`, [id])
  let over = false
  const working = work().finally(() => (over = true))
  await until(
    () =>
      server.app.engine.postgres.pool.query(
        'select from pg_stat_activity where datname = current_database() and $1 = any(pg_blocking_pids(pid))',
        [rows[0]!.pid],
      ),
    ({ rowCount }) => over || rowCount! > 0,
  )
  await deleter.query('commit')
  return working
}

const countHandled = () =>
  until(
    () =>
      deleter.query<{ n: number }>(
        'select ((select count(*) from outbox) + (select count(*) from deliveries))::int as n',
      ),
    ({ rows }) => rows[0]!.n === 0,
  )

for (const { name, endpoint, type } of writing)
  test(`${name}: a concurrently deleted resource is a 404 and not a server fault`, async () => {
    const before = errors().length
    const id = await makers[type]!(alice)
    const { status, text } = await whileDeleting(type, id, () =>
      alice.request(endpoint.method, pathOf(endpoint, id) + requiredFields(endpoint), validBody(endpoint)),
    )
    assert.ok(status < 500, `${status} ${text}`)
    assert.deepEqual(errors().slice(before), [])
  })

test('an event still reaches other receivers if a receiver is deleted concurrently', async () => {
  const before = errors().length
  const receiver = { workspace_id: alice.workspaceId, name: 'Ours', url: slow, events: ['agent.created'] }
  const [deletedId, keptId] = await Promise.all(
    [1, 2].map(async () => (await alice.post('/webhook-endpoints', receiver)).body.data.id as string),
  )
  await countHandled()
  await whileDeleting('webhook_endpoint', deletedId!, async () => {
    await makers.agent!(alice)
    await countHandled()
  })
  const deliveries = (await alice.get(`/webhook-endpoints/${keptId}/deliveries`)).body.data
  assert.equal(deliveries.length, 1)
  assert.deepEqual(errors().slice(before), [])
})

test('deleting provider and webhook endpoints right after creating or testing them causes no server fault', async () => {
  const before = errors().length
  const kinds = {
    '/ai-gateway/provider-endpoints': () => ({
      slug: `s${Math.random().toString(36).slice(2, 10)}`,
      shape: 'openai-chat',
      base_url: `${slow}/v1`,
      api_key: 'sk-0123456789',
    }),
    '/webhook-endpoints': () => ({ workspace_id: alice.workspaceId, name: 'Ours', url: slow, events: ['*'] }),
  }
  const rounds = Array.from({ length: 24 }, async (_, i) => {
    const [here, there] = i % 2 === 0 ? [alice, beyond] : [beyond, alice]
    for (const [at, body] of Object.entries(kinds)) {
      const response = await here.post(at, body())
      assert.equal(response.status, 201, response.text)
      const path = `${at}/${response.body.data.id}`
      const tests = i % 3 === 0 ? [] : [here.post(`${path}/test`), there.get('/models')]
      if (i % 3 === 1) await sleep(i)
      const answers = await Promise.all([...tests, there.delete(path)])
      assert.ok(
        answers.every(({ status }) => status < 500),
        answers.map(({ text }) => text).join(),
      )
    }
  })
  await Promise.all(rounds)
  await countHandled()
  assert.deepEqual(errors().slice(before), [])
})
