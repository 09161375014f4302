import assert from 'node:assert/strict'
import { type IncomingHttpHeaders, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { type Person, type TestServer, testServer } from '#test/server.ts'
import { until } from '#test/until.ts'

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

test('private addresses are rejected, strangers get 404, members get 403, and events the key can’t read aren’t sent', async () => {
  await using inner = await testServer()
  const dora = await inner.person('Dora')
  assert.equal(
    (await dora.post('/webhook-endpoints', { name: 'x', url: 'http://10.0.0.1/', events: ['*'] })).body.error.param,
    'url',
  )
  const created = await dora.post('/webhook-endpoints', { name: 'x', url: 'https://127.0.0.1:1/', events: ['*'] })
  await dora.post(`/webhook-endpoints/${created.body.data.id}/test`, {})
  for (;;) {
    const [delivery] = (await dora.get(`/webhook-endpoints/${created.body.data.id}/deliveries`)).body.data
    if (delivery.attempts.length > 0) {
      assert.equal(delivery.attempts[0].error, '127.0.0.1 resolves to a private or reserved address.')
      break
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const bob = await server.person('Bob')
  const workspaceId = await team()
  const { body } = await alice.post(`/workspaces/${workspaceId}/invitations`, { email: bob.email, role: 'member' })
  await bob.post('/invitations/accept', { token: body.data.token })
  await using hook = await receiver()
  const endpointInput = { workspace_id: workspaceId, name: 'x', url: hook.url, events: ['*'] }
  const member = await bob.post('/webhook-endpoints', endpointInput)
  assert.deepEqual([member.status, member.body.error.code], [403, 'insufficient_role'])
  const odd = await alice.post('/webhook-endpoints', { ...endpointInput, events: ['chat.exploded'] })
  assert.deepEqual([odd.status, odd.body.error.param], [400, 'events'])
  const key = await alice.key({ scopes: ['workspace:write', 'agent:read'] })
  assert.equal((await key.post('/webhook-endpoints', endpointInput)).status, 201)
  await alice.post('/chats', { workspace_id: workspaceId })
  await alice.post('/agents', { name: 'Helper', workspace_id: workspaceId })
  let got = JSON.parse((await hook.next()).body)
  while (got.type.startsWith('webhook_endpoint')) got = JSON.parse((await hook.next()).body)
  assert.equal(got.type, 'agent.created')
  const types = await alice.get('/webhook-endpoints/event-types?limit=100')
  assert.ok(types.body.data.some(({ type }: { type: string }) => type === 'run.failed'))
})

test('a user who changes another’s webhook URL receives only events they can read', async () => {
  const make = async (): Promise<string> => {
    const body = { name: 'All', url: 'https://127.0.0.1:9/a', events: ['chat.*'] }
    return (await alice.post('/webhook-endpoints', body)).body.data.id
  }
  const [keptEndpoint, changedEndpoint] = [await make(), await make()]
  const narrow = await alice.key({ scopes: ['workspace:write'] })
  const moved = await narrow.patch(`/webhook-endpoints/${changedEndpoint}`, { url: 'https://127.0.0.1:9/b' })
  assert.equal(moved.status, 200, moved.text)
  await alice.post('/chats', { title: 'Secret' })
  const deliveryCount = async (id: string): Promise<number> =>
    (await alice.get(`/webhook-endpoints/${id}/deliveries`)).body.data.length
  await until(
    () => deliveryCount(keptEndpoint),
    (count) => count > 0,
  )
  assert.equal(await deliveryCount(changedEndpoint), 0)
})

test('an endpoint sends only what its creator can still read, stops when they lose admin, and can be enabled by another admin', async () => {
  await using hook = await receiver()
  const workspaceId = await team()
  const [bob, carol] = [await server.person('Bob Boss'), await server.person('Carol Chief')]
  for (const person of [bob, carol]) {
    const invited = await alice.post(`/workspaces/${workspaceId}/invitations`, { email: person.email, role: 'admin' })
    await person.post('/invitations/accept', { token: invited.body.data.token })
  }
  const endpointInput = { workspace_id: workspaceId, name: 'Bob’s', url: hook.url, events: ['chat.*', 'agent.*'] }
  const { id } = (await bob.post('/webhook-endpoints', endpointInput)).body.data
  const typeOf = async (): Promise<string> => JSON.parse((await hook.next()).body).type
  await alice.post('/chats', { workspace_id: workspaceId })
  assert.equal(await typeOf(), 'chat.created')

  const at = `/workspaces/${workspaceId}/members/${bob.id}`
  assert.equal((await alice.patch(at, { permissions: ['agent:read', 'workspace:write'] })).status, 200)
  await alice.post('/chats', { workspace_id: workspaceId })
  await alice.post('/agents', { name: 'Clerk', workspace_id: workspaceId })
  assert.equal(await typeOf(), 'agent.created')

  assert.equal((await alice.delete(at)).status, 200)
  await alice.post('/agents', { name: 'Secret', workspace_id: workspaceId })
  const off = await until(
    () => carol.get(`/webhook-endpoints/${id}`),
    ({ body }) => body.data.status === 'disabled',
  )
  assert.equal(off.body.data.disabled_reason, 'rights_lost')
  assert.equal((await carol.patch(`/webhook-endpoints/${id}`, { status: 'enabled' })).status, 200)
  await alice.post('/agents', { name: 'Open', workspace_id: workspaceId })
  assert.equal(JSON.parse((await hook.next()).body).type, 'agent.created')
  assert.deepEqual(hook.unread, [])
})
