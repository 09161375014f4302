import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type SentEvent, readEvents } from '#test/events.ts'
import { type Caller, type Person, type TestServer, testServer } from '#test/server.ts'
import { until } from '#test/until.ts'

let server: TestServer
let alice: Person
let bob: Person
before(async () => {
  server = await testServer()
  alice = await server.person('Alice')
  bob = await server.person('Bob')
  // Known from one workspace, a user can be added to others.
  const first = (await alice.post('/workspaces', { name: 'First' })).body.data.id as string
  const invited = await alice.post(`/workspaces/${first}/invitations`, { email: bob.email, role: 'viewer' })
  assert.equal((await bob.post('/invitations/accept', { token: invited.body.data.token })).status, 200)
})

after(() => server[Symbol.asyncDispose]())

/** Resolves once subscribed, so that no event is missed. */
async function follow(who: Caller, channels: string, lastEventId?: string) {
  const events = readEvents(who, `/realtime/subscribe?channels=${channels}`, {
    ...(lastEventId !== undefined && { headers: { 'last-event-id': lastEventId } }),
  })
  const next = async (): Promise<SentEvent> => {
    const { value, done } = await events.next()
    if (done) throw new Error('the stream ended')
    return value
  }
  const subscribed = await next()
  assert.equal(subscribed.event, 'subscribed')
  return {
    subscribed,
    next,
    /** Skips other events. */
    async changes(n: number): Promise<SentEvent[]> {
      const changeEvents: SentEvent[] = []
      while (changeEvents.length < n) {
        const event = await next()
        if (event.event === 'change') changeEvents.push(event)
      }
      return changeEvents
    },
    ended: async () => (await events.next()).done === true,
    async [Symbol.asyncDispose]() {
      await events.return()
    },
  }
}

const team = async (...members: Person[]): Promise<string> => {
  const id = (await alice.post('/workspaces', { name: 'Team' })).body.data.id as string
  for (const { id: user_id } of members)
    assert.equal((await alice.post(`/workspaces/${id}/members`, { user_id, role: 'member' })).status, 201)
  // Waits until the setup's events are in the log.
  const { pool } = server.app.engine.postgres
  await until(
    () => pool.query('select 1 from outbox limit 1'),
    ({ rowCount }) => rowCount === 0,
  )
  return id
}

test('a removed member receives `revoked` for that channel, and the other channels continue', async () => {
  const workspaceId = await team(bob)
  await using twin = await server.twin()
  await using bobs = await follow({ ...bob, origin: twin.origin }, `workspace:${workspaceId},user:${bob.id}`)
  const members = await alice.get(`/workspaces/${workspaceId}/members`)
  const member = members.body.data.find(({ user_id }: { user_id: string }) => user_id === bob.id)
  await alice.delete(`/workspaces/${workspaceId}/members/${member.id}`)
  for (;;) {
    const { event, data } = await bobs.next()
    if (event === 'change') continue
    assert.deepEqual([event, data], ['revoked', { channel: `workspace:${workspaceId}` }])
    break
  }
  await alice.post('/chats', { workspace_id: workspaceId })
  await bob.patch('/settings', { time_zone: 'Asia/Tokyo' })
  for (;;) {
    const { event, data } = await bobs.next()
    assert.notEqual(data.channel, `workspace:${workspaceId}`)
    if (event === 'change' && data.type === 'settings.updated') break
  }
})

test('repeated permission changes are checked one at a time, and the last one applies', async () => {
  const workspaceId = await team(bob)
  const chat = (await alice.post('/chats', { workspace_id: workspaceId })).body.data.id as string
  await using bobs = await follow(bob, `chat:${chat},workspace:${workspaceId}`)
  const members = await alice.get(`/workspaces/${workspaceId}/members`)
  const { id } = members.body.data.find(({ user_id }: { user_id: string }) => user_id === bob.id)
  const allow = async (...more: string[]): Promise<void> => {
    const permissions = ['workspace:read', 'realtime:read', 'chat:read', ...more]
    assert.equal((await alice.patch(`/workspaces/${workspaceId}/members/${id}`, { permissions })).status, 200)
    await new Promise((resolve) => setTimeout(resolve, 600))
  }
  const { pool } = server.app.engine.postgres
  const looks = async (): Promise<number> =>
    (
      await pool.query(
        `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like 'select r.*, c.*%'`,
      )
    ).rowCount!
  const client = await pool.connect()
  try {
    // Blocks the access check.
    await client.query('begin')
    await client.query('lock table chats in access exclusive mode')
    await allow('agent:read')
    await until(looks, (count) => count > 0)
    for (const more of [['agent:write'], ['agent:read'], []]) await allow(...more)
    assert.equal(await looks(), 1)
  } finally {
    await client.query('rollback')
    client.release()
  }
  /** Whether bob's stream shows an agent before a chat created after it. */
  const hearsOfAgents = async (): Promise<boolean> => {
    await alice.post('/agents', { name: 'Not for bob', workspace_id: workspaceId })
    const chatId = (await alice.post('/chats', { workspace_id: workspaceId })).body.data.id
    for (let hasAgentEvent = false; ;) {
      const { event, data } = await bobs.next()
      hasAgentEvent ||= data.type === 'agent.created'
      if (event === 'change' && data.resource.id === chatId) return hasAgentEvent
    }
  }
  await until(hearsOfAgents, (heard) => !heard)
  assert.equal(await hearsOfAgents(), false)
})

test('a deleted chat is revoked for its readers, and a stream without channels ends', async () => {
  const from = await team(bob)
  const chat = (await alice.post('/chats', { workspace_id: from })).body.data.id as string
  await using bobs = await follow(bob, `chat:${chat}`)
  await alice.delete(`/chats/${chat}`)
  assert.equal((await alice.delete(`/chats/${chat}/permanent-delete`)).status, 200)
  for (;;) {
    const { event, data } = await bobs.next()
    if (event === 'revoked') {
      assert.equal(data.channel, `chat:${chat}`)
      break
    }
  }
  assert.ok(await bobs.ended())
})

test('a shared chat’s viewers can subscribe and its editors can also send, but not while it is in the trash', async () => {
  const chat = (await alice.post('/chats', { title: 'Shared' })).body.data.id as string
  const share = (access: string) =>
    alice.post('/shares', { resource_type: 'chat', resource_id: chat, grantee: { user_id: bob.id }, access })
  assert.equal((await share('view')).status, 201)
  await using bobs = await follow(bob, `chat:${chat}`)
  await alice.post(`/realtime/chat:${chat}/broadcast`, { event: 'typing' })
  while ((await bobs.next()).event !== 'broadcast');
  const silent = await bob.post(`/realtime/chat:${chat}/broadcast`, { event: 'typing' })
  assert.deepEqual([silent.status, silent.body.error.code], [403, 'insufficient_role'])
  await alice.patch('/shares', {
    resource_type: 'chat',
    resource_id: chat,
    grantee: { user_id: bob.id },
    access: 'edit',
  })
  assert.equal((await bob.post(`/realtime/chat:${chat}/presence`, {})).status, 200)
  await alice.delete(`/chats/${chat}`)
  while ((await bobs.next()).event !== 'revoked');
  assert.ok(await bobs.ended())
})

test('a key receives only what its scopes can read, and a revoked key is disconnected', async () => {
  const workspaceId = await team()
  const key = await alice.key({ scopes: ['realtime:read', 'workspace:read', 'agent:read'] })
  await using keys = await follow(key, `workspace:${workspaceId}`)
  await alice.post('/chats', { workspace_id: workspaceId })
  const agent = await alice.post('/agents', { name: 'Helper', workspace_id: workspaceId })
  const [change] = await keys.changes(1)
  assert.deepEqual([change!.data.type, change!.data.resource.id], ['agent.created', agent.body.data.id])
  const chat = (await alice.post('/chats', { workspace_id: workspaceId })).body.data.id as string
  assert.equal((await key.get(`/realtime/subscribe?channels=chat:${chat}`)).status, 404)
  const limitedKey = await alice.key({ workspace_id: workspaceId })
  assert.equal((await limitedKey.get(`/realtime/subscribe?channels=user:${alice.id}`)).status, 404)
  await alice.delete(`/api-keys/${key.keyId}`)
  assert.ok(await keys.ended())
})
