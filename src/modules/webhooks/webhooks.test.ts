import assert from 'node:assert/strict'
import { type IncomingHttpHeaders, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { type Person, type TestServer, caller, testServer } from '#test/server.ts'
import { PATIENCE_MS, until } from '#test/until.ts'
import { webhookSchedules } from './service.ts'

let server: TestServer
let alice: Person
before(async () => {
  server = await testServer({ environment: { UK_FETCH_ALLOW: '127.0.0.0/8' } })
  alice = await server.person('Alice')
})

after(() => server[Symbol.asyncDispose]())

interface Got {
  headers: IncomingHttpHeaders
  body: string
}

/** A loopback webhook receiver. */
async function receiver() {
  let answer: (got: Got) => { status: number; headers?: Record<string, string>; body?: string } = () => ({
    status: 204,
  })
  const unread: Got[] = []
  const waiting: ((got: Got) => void)[] = []
  const http = createServer((request, response) => {
    let body = ''
    request.on('data', (part: Buffer) => (body += part.toString()))
    request.on('end', () => {
      const got = { headers: request.headers, body }
      const { status, headers, body: said = '' } = answer(got)
      response.writeHead(status, headers).end(said)
      const take = waiting.shift()
      if (take) take(got)
      else unread.push(got)
    })
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/hook`,
    answer: (how: typeof answer) => (answer = how),
    next: (): Promise<Got> =>
      new Promise((resolve) => {
        const got = unread.shift()
        if (got) resolve(got)
        else waiting.push(resolve)
      }),
    unread,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        http.closeAllConnections()
        http.close(() => resolve())
      }),
  }
}

async function team(): Promise<string> {
  const id = (await alice.post('/workspaces', { name: 'Team' })).body.data.id as string
  const { pool } = server.app.engine.postgres
  await until(
    () => pool.query('select 1 from outbox limit 1'),
    ({ rowCount }) => rowCount === 0,
  )
  return id
}

const endpointFor = async (workspace_id: string, url: string, events: string[]) => {
  const created = await alice.post('/webhook-endpoints', { workspace_id, name: 'Ours', url, events })
  assert.equal(created.status, 201, created.text)
  return created.body.data
}

async function settled(endpointId: string, status: string): Promise<any> {
  for (;;) {
    const { body } = await alice.get(`/webhook-endpoints/${endpointId}/deliveries?status=${status}`)
    if (body.data.length > 0) return body.data[0]
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

test('deliveries are signed as the standard’s library verifies, and the secret is shown once', async () => {
  await using hook = await receiver()
  const workspaceId = await team()
  const endpoint = await endpointFor(workspaceId, hook.url, ['chat.*'])
  assert.match(endpoint.secret, /^whsec_[\w+/]{43}=$/)
  assert.equal((await alice.get(`/webhook-endpoints/${endpoint.id}`)).body.data.secret, null)
  await alice.post('/agents', { name: 'Not asked for', workspace_id: workspaceId })
  const chat = (await alice.post('/chats', { title: 'Plans', workspace_id: workspaceId })).body.data
  const { headers, body } = await hook.next()
  const verified = new Webhook(endpoint.secret).verify(body, headers as Record<string, string>) as any
  assert.deepEqual(
    [verified.type, verified.workspace_id, verified.resource, verified.id],
    ['chat.created', workspaceId, { type: 'chat', id: chat.id }, headers['webhook-id']],
  )
  const delivery = await settled(endpoint.id, 'succeeded')
  assert.deepEqual(
    [delivery.message_id, delivery.payload, delivery.attempts[0].response_status],
    [verified.id, body, 204],
  )
  const { rows } = await server.app.engine.postgres.pool.query('select secret from webhook_endpoints')
  assert.ok(rows.every(({ secret }: { secret: string }) => !secret.includes(endpoint.secret.slice(6, 30))))

  // After rotation, both secrets verify during the overlap, then only the new one.
  const { secret } = (await alice.post(`/webhook-endpoints/${endpoint.id}/rotate-secret`, { overlap_seconds: 60 })).body
    .data
  const again = await alice.post(`/webhook-endpoints/${endpoint.id}/deliveries/${delivery.id}/redeliver`, {})
  assert.deepEqual([again.status, again.body.data.redelivery_of], [201, delivery.id])
  const both = await hook.next()
  assert.deepEqual([both.body, both.headers['webhook-id']], [body, headers['webhook-id']])
  for (const validSecret of [endpoint.secret, secret])
    assert.ok(new Webhook(validSecret).verify(both.body, both.headers as Record<string, string>))
  await server.app.engine.postgres.pool.query('update webhook_endpoints set previous_expires_at = now()')
  assert.equal((await alice.post(`/webhook-endpoints/${endpoint.id}/test`, {})).body.data.event_type, 'webhook.test')
  const last = await hook.next()
  assert.ok(new Webhook(secret).verify(last.body, last.headers as Record<string, string>))
  assert.throws(() => new Webhook(endpoint.secret).verify(last.body, last.headers as Record<string, string>))
})

test('rotated secrets sign for their overlap, even after repeated rotations, and without overlap end at once', async () => {
  await using hook = await receiver()
  const endpoint = await endpointFor(await team(), hook.url, ['chat.*'])
  const at = `/webhook-endpoints/${endpoint.id}`
  const rotate = async (overlap_seconds: number): Promise<string> =>
    (await alice.post(`${at}/rotate-secret`, { overlap_seconds })).body.data.secret
  const verifying = async (secrets: readonly string[]): Promise<string[]> => {
    await alice.post(`${at}/test`, {})
    const { body, headers } = await hook.next()
    return secrets.filter((secret) => {
      try {
        return new Webhook(secret).verify(body, headers as Record<string, string>) !== undefined
      } catch {
        return false
      }
    })
  }
  const all = [endpoint.secret, await rotate(3_600), ...(await Promise.all([rotate(600), rotate(600)]))]
  assert.equal(new Set(all).size, 4)
  assert.deepEqual(await verifying(all), all)
  const { secret_rotation_ends_at: ends } = (await alice.get(at)).body.data
  assert.ok(Date.parse(ends) - Date.now() > 3_000_000, 'the longest promise')
  await server.app.engine.postgres.pool.query(
    `update webhook_endpoint_secrets set expires_at = now() where expires_at < now() + interval '20 minutes'`,
  )
  assert.equal((await verifying(all)).length, 2, 'the first, and the newest')
  const last = await rotate(0)
  assert.deepEqual(await verifying([...all, last]), [last])
  assert.equal((await alice.get(at)).body.data.secret_rotation_ends_at, null)
})

test('failures are retried with the same ID, 410 disables the endpoint at once, and days of failures disable it with a notification', async () => {
  await using hook = await receiver()
  const workspaceId = await team()
  const endpoint = await endpointFor(workspaceId, hook.url, ['agent.created'])
  hook.answer(() => ({ status: 500, body: 'no\0\ud800pe' }))
  await alice.post('/agents', { name: 'One', workspace_id: workspaceId })
  const first = await hook.next()
  const { pool } = server.app.engine.postgres
  const due = () =>
    pool.query(`update webhook_deliveries set due_at = now() where endpoint_id = $1 and status = 'waiting'`, [
      endpoint.id,
    ])
  const waiting = await until(
    () => settled(endpoint.id, 'waiting'),
    ({ attempts }) => attempts.length > 0,
  )
  assert.equal(waiting.attempts[0].error, 'The response status was 500.')
  const seconds = (Date.parse(waiting.next_attempt_at) - Date.parse(waiting.attempts[0].at)) / 1000
  assert.ok(seconds >= 4.9 && seconds < 20, `${seconds} s`)
  hook.answer(() => ({ status: 302, headers: { location: 'http://127.0.0.1:1/' } }))
  await due()
  const second = await hook.next()
  assert.equal(second.headers['webhook-id'], first.headers['webhook-id'])
  hook.answer(() => ({ status: 200 }))
  // The redirect counted as a failure too.
  await until(
    () => settled(endpoint.id, 'waiting'),
    ({ attempts }) => attempts.length >= 2,
  )
  await due()
  assert.equal((await hook.next()).headers['webhook-id'], first.headers['webhook-id'])
  assert.equal((await settled(endpoint.id, 'succeeded')).attempts.length, 3)
  assert.equal((await alice.get(`/webhook-endpoints/${endpoint.id}`)).body.data.failing_since, null)

  hook.answer(() => ({ status: 503 }))
  await pool.query(`update webhook_endpoints set failing_since = now() - interval '73 hours' where id = $1`, [
    endpoint.id,
  ])
  await alice.post('/agents', { name: 'Two', workspace_id: workspaceId })
  await hook.next()
  for (;;) {
    const { data } = (await alice.get('/notifications?type=webhook.disabled')).body
    if (data.length > 0) {
      assert.deepEqual([data[0].severity, data[0].resource.id], ['error', endpoint.id])
      break
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const off = (await alice.get(`/webhook-endpoints/${endpoint.id}`)).body.data
  assert.deepEqual([off.status, off.disabled_reason], ['disabled', 'failing'])
  await settled(endpoint.id, 'cancelled')
  assert.equal((await alice.post(`/webhook-endpoints/${endpoint.id}/test`, {})).body.error.code, 'invalid_state')
  const on = await alice.patch(`/webhook-endpoints/${endpoint.id}`, { status: 'enabled' })
  assert.deepEqual(
    [on.body.data.status, on.body.data.disabled_reason, on.body.data.failing_since],
    ['enabled', null, null],
  )
  hook.answer(() => ({ status: 410 }))
  await alice.post(`/webhook-endpoints/${endpoint.id}/test`, {})
  await hook.next()
  await until(
    async () => (await alice.get(`/webhook-endpoints/${endpoint.id}`)).body.data.disabled_reason,
    (reason) => reason === 'gone',
  )
})

test('two processes send each event once, and one resends a delivery that the other lost', async () => {
  await using twin = await server.twin()
  await using hook = await receiver()
  const workspaceId = await team()
  const endpoint = await endpointFor(workspaceId, hook.url, ['chat.created'])
  const there = caller(twin.origin, alice.headers)
  const chatIds = await Promise.all(
    Array.from({ length: 40 }, async (_, i) => {
      const by = i % 2 === 0 ? alice : there
      return (await by.post('/chats', { workspace_id: workspaceId })).body.data.id as string
    }),
  )
  const messageIds: string[] = []
  while (messageIds.length < chatIds.length) messageIds.push(JSON.parse((await hook.next()).body).resource.id)
  assert.deepEqual(messageIds.toSorted(), chatIds.toSorted())
  const { pool } = server.app.engine.postgres
  const waiting = async (): Promise<number> =>
    (await pool.query(`select 1 from webhook_deliveries where endpoint_id = $1 and status = 'waiting'`, [endpoint.id]))
      .rowCount!
  await until(waiting, (count) => count === 0)
  assert.equal(hook.unread.length, 0)
  // Simulates a process killed a minute ago while sending.
  await pool.query(
    `update webhook_deliveries set status = 'waiting', attempts = '[]', completed_at = null, due_at = now() where id = (
      select id from webhook_deliveries where endpoint_id = $1 limit 1)`,
    [endpoint.id],
  )
  assert.ok(chatIds.includes(JSON.parse((await hook.next()).body).resource.id))
  await until(waiting, (count) => count === 0)
  assert.equal(hook.unread.length, 0)
})

test('an unresponsive receiver delays only its own deliveries', async () => {
  await using hook = await receiver()
  const stuck = createServer(() => {})
  await new Promise<void>((resolve) => stuck.listen(0, '127.0.0.1', resolve))
  const workspaceId = await team()
  const slow = await endpointFor(workspaceId, `http://127.0.0.1:${(stuck.address() as AddressInfo).port}/`, [
    'chat.created',
  ])
  await endpointFor(workspaceId, hook.url, ['chat.created'])
  for (let i = 0; i < 8; i++) await alice.post('/chats', { workspace_id: workspaceId })
  for (let i = 0; i < 8; i++) await hook.next()
  const { body } = await alice.get(`/webhook-endpoints/${slow.id}/deliveries?status=waiting`)
  assert.equal(body.data.length, 8)
  await alice.delete(`/webhook-endpoints/${slow.id}`)
  stuck.closeAllConnections()
  stuck.close()
})

test('deliveries are kept for thirty days', async () => {
  await using hook = await receiver()
  const endpoint = await endpointFor(await team(), hook.url, ['chat.created'])
  const at = `/webhook-endpoints/${endpoint.id}`
  const [old, young] = [await alice.post(`${at}/test`), await alice.post(`${at}/test`)]
  const { engine } = server.app
  for (const [{ body }, days] of [
    [old, 31],
    [young, 29],
  ] as const)
    await engine.postgres.pool.query(
      'update webhook_deliveries set created_at = now() - make_interval(days => $2) where id = $1',
      [body.data.id, days],
    )
  for (const { run } of webhookSchedules(engine)) await run({ signal: AbortSignal.timeout(PATIENCE_MS) })
  const remainingDeliveries = (await alice.get(`${at}/deliveries`)).body.data
  assert.deepEqual(
    remainingDeliveries.map(({ id }: { id: string }) => id),
    [young.body.data.id],
  )
})
