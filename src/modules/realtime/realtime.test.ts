import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { retainChanges } from '#infra/outbox/changes.ts'
import { newId } from '#core/ids.ts'
import { type SentEvent, readEvents } from '#test/events.ts'
import { type Caller, type Person, type TestServer, testServer } from '#test/server.ts'
import { until } from '#test/until.ts'

let server: TestServer
let alice: Person
let bob: Person
let carol: Person
before(async () => {
  server = await testServer()
  alice = await server.person('Alice')
  bob = await server.person('Bob')
  carol = await server.person('Carol')
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

test('workspace subscribers receive a new chat, and outsiders get 404', async () => {
  const workspaceId = await team(bob)
  await using bobs = await follow(bob, `workspace:${workspaceId}`)
  const [position] = bobs.subscribed.data.channels
  assert.deepEqual(Object.keys(position).toSorted(), ['channel', 'epoch', 'offset', 'recovered'])
  assert.equal(position.recovered, false)
  const chat = await alice.post('/chats', { title: 'Plans', workspace_id: workspaceId })
  const { event, id, data } = await bobs.next()
  assert.equal(event, 'change')
  assert.match(id, /^[\w-]{22}$/)
  assert.deepEqual(Object.keys(data), ['channel', 'epoch', 'offset', 'type', 'resource', 'data', 'at'])
  assert.deepEqual(
    [data.channel, data.epoch, data.offset, data.type, data.resource],
    [
      `workspace:${workspaceId}`,
      position.epoch,
      position.offset + 1,
      'chat.created',
      { type: 'chat', id: chat.body.data.id },
    ],
  )
  for (const channels of [
    `workspace:${workspaceId}`,
    `user:${carol.id},chat:${chat.body.data.id}`,
    `user:${bob.id}`,
    `custom:${workspaceId}:cursors`,
    'nonsense',
    `custom:${carol.workspaceId}:no/slash`,
    `operation:${newId()}`,
  ]) {
    const answer = await carol.get(`/realtime/subscribe?channels=${encodeURIComponent(channels)}`)
    assert.deepEqual([answer.status, answer.body.error.param], [404, 'channels'], channels)
  }
})

test('a resuming subscriber receives missed changes on every channel, once and in order', async () => {
  const workspaceId = await team()
  const channels = `workspace:${workspaceId},user:${alice.id}`
  let last: string
  {
    await using first = await follow(alice, channels)
    await alice.post('/chats', { workspace_id: workspaceId })
    last = (await first.changes(1))[0]!.id
  }
  const chatIds: string[] = []
  for (let i = 0; i < 5; i++)
    chatIds.push((await alice.post('/chats', { workspace_id: workspaceId })).body.data.id as string)
  await alice.patch('/settings', { time_zone: 'Europe/Berlin' })
  await using again = await follow(alice, channels, last)
  assert.deepEqual(
    again.subscribed.data.channels.map(({ recovered }: { recovered: boolean }) => recovered),
    [true, true],
  )
  const missed = await again.changes(6)
  assert.deepEqual(
    missed.filter(({ data }) => data.type === 'chat.created').map(({ data }) => data.resource.id),
    chatIds,
  )
  const offsets = missed.filter(({ data }) => data.channel.startsWith('workspace')).map(({ data }) => data.offset)
  const start = again.subscribed.data.channels[0].offset as number
  assert.deepEqual(
    offsets,
    [1, 2, 3, 4, 5].map((i) => start + i),
  )
  // New changes follow the replayed ones.
  chatIds.push((await alice.post('/chats', { workspace_id: workspaceId })).body.data.id as string)
  assert.equal((await again.changes(1))[0]!.data.resource.id, chatIds.at(-1))
})

test('channels with missing history are reset with a reason', async () => {
  const workspaceId = await team()
  const channel = `workspace:${workspaceId}`
  let last: string
  {
    await using first = await follow(alice, channel)
    last = first.subscribed.id
  }
  await alice.post('/chats', { workspace_id: workspaceId })
  for (const strange of ['garbage', 'AAAAAAAAAAAAAAAAAAAAAA']) {
    await using reset = await follow(alice, channel, strange)
    assert.equal(reset.subscribed.data.channels[0].recovered, false)
    const { event, data } = await reset.next()
    assert.deepEqual([event, data.channel, data.reason], ['reset', channel, 'unknown_epoch'])
    assert.equal(data.offset, reset.subscribed.data.channels[0].offset)
  }
  const { pool } = server.app.engine.postgres
  await using settled = await follow(alice, channel, last)
  await settled.changes(1)
  await pool.query(`update channels set "offset" = "offset" + 20000 where name = $1`, [channel])
  await pool.query(`update changes set at = now() - interval '25 hours' where channel = $1`, [channel])
  assert.ok((await retainChanges(server.app.engine.postgres)) > 0)
  await using gone = await follow(alice, `${channel},user:${alice.id}`, last)
  assert.deepEqual(
    gone.subscribed.data.channels.map(({ recovered }: { recovered: boolean }) => recovered),
    [false, true],
  )
  const { event, data } = await gone.next()
  assert.deepEqual([event, data.channel, data.reason], ['reset', channel, 'history_gone'])
  await alice.post('/chats', { workspace_id: workspaceId })
  assert.equal((await gone.changes(1))[0]!.data.offset, data.offset + 1)
})

test('channels idle for a month are deleted, and resuming them reports it', async () => {
  const workspaceId = await team()
  const channel = `workspace:${workspaceId}`
  await using before = await follow(alice, channel)
  const last = before.subscribed.id
  const { epoch } = before.subscribed.data.channels[0]
  await alice.post('/chats', { workspace_id: workspaceId })
  await before.changes(1)
  const { postgres } = server.app.engine
  await postgres.pool.query(`update channels set touched_at = now() - interval '31 days' where name = $1`, [channel])
  await retainChanges(postgres)
  await using after = await follow(alice, channel, last)
  assert.equal((await after.next()).data.reason, 'history_gone')
  assert.notEqual(after.subscribed.data.channels[0].epoch, epoch)
  await alice.post('/chats', { workspace_id: workspaceId })
  // A reader that stayed connected continues in the new history.
  for (const reader of [before, after]) {
    const { data } = (await reader.changes(1))[0]!
    assert.deepEqual([data.epoch, data.offset], [after.subscribed.data.channels[0].epoch, 1])
  }
})

test('a broadcast up to 64 KiB reaches current subscribers in every process, and no later ones', async () => {
  const workspaceId = await team(bob)
  const channel = `custom:${workspaceId}:canvas.1`
  await using twin = await server.twin()
  const there = { ...bob, origin: twin.origin }
  await using near = await follow(alice, channel)
  await using far = await follow(there, channel)
  const data = { words: 'ü"\n'.repeat(10_000) }
  const broadcastResponse = await alice.post(`/realtime/${channel}/broadcast`, { event: 'stroke', data })
  assert.equal(broadcastResponse.status, 200, broadcastResponse.text)
  for (const reader of [near, far]) {
    const { event, data: got, id } = await reader.next()
    assert.equal(event, 'broadcast')
    assert.equal(id, undefined)
    assert.deepEqual(
      [got.channel, got.event, got.data, got.sender, got.at],
      [channel, 'stroke', data, alice.id, broadcastResponse.body.data.created_at],
    )
  }
  await using late = await follow(alice, channel)
  await bob.post(`/realtime/${channel}/broadcast`, { event: 'second' })
  assert.deepEqual([(await late.next()).data.event, (await far.next()).data.event], ['second', 'second'])
  const big = await alice.post(`/realtime/${channel}/broadcast`, { event: 'x', data: 'x'.repeat(65_536) })
  assert.equal(big.status, 413)
  const stranger = await carol.post(`/realtime/${channel}/broadcast`, { event: 'x' })
  assert.deepEqual([stranger.status, stranger.body.error.param], [404, 'channel'])
  const reads = await alice.key({ scopes: ['realtime:read', 'workspace:read'] })
  assert.equal((await reads.post(`/realtime/${channel}/broadcast`, { event: 'x' })).status, 403)
})

test('presence is reported in both processes once per person, and ends 30 s after the last heartbeat', async () => {
  const workspaceId = await team(bob)
  const channel = `workspace:${workspaceId}`
  await using twin = await server.twin()
  await using alices = await follow(alice, channel)
  const first = await bob.post(`/realtime/${channel}/presence`, { data: { cursor: 3 } })
  assert.equal(first.status, 200, first.text)
  const lasts = Date.parse(first.body.data.expires_at) - Date.parse(first.body.data.updated_at)
  assert.ok(lasts > 29_000 && lasts <= 30_500, `${lasts} ms`)
  const joined = await alices.next()
  assert.equal(joined.event, 'presence')
  assert.deepEqual(joined.data, { channel, joined: true, left: false, member: first.body.data })
  const second = await { ...bob, ...callerAt(bob, twin) }.post(`/realtime/${channel}/presence`, {})
  assert.deepEqual([second.body.data.id, second.body.data.data], [first.body.data.id, { cursor: 3 }])
  assert.ok(second.body.data.updated_at > first.body.data.updated_at)
  const list = await callerAt(alice, twin).get(`/realtime/${channel}/presence`)
  assert.deepEqual(list.body.data, [second.body.data])
  assert.equal((await carol.get(`/realtime/${channel}/presence`)).status, 404)
  await server.app.engine.postgres.pool.query(`update presence set expires_at = now() where channel = $1`, [channel])
  const departure = await alices.next()
  assert.deepEqual([departure.event, departure.data.left, departure.data.member.user_id], ['presence', true, bob.id])
  assert.deepEqual((await alice.get(`/realtime/${channel}/presence`)).body.data, [])
})

const callerAt = (who: Person, { stranger }: TestServer): Caller => {
  const at = stranger.origin
  const request: Caller['request'] = async (method, path, body, headers = {}) => {
    const response = await fetch(new URL(`/v1${path}`, at), {
      method,
      headers: { ...who.headers, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, body: text ? JSON.parse(text) : null }
  }
  return {
    ...who,
    origin: at,
    request,
    get: (path) => request('GET', path),
    post: (path, body) => request('POST', path, body),
  }
}

test('invalid parameters are rejected', async () => {
  for (const channels of ['', ',', Array.from({ length: 101 }, () => `user:${newId()}`).join(',')]) {
    const answer = await alice.get(`/realtime/subscribe?channels=${channels}`)
    assert.deepEqual([answer.status, answer.body.error.param], [400, 'channels'])
  }
  assert.equal((await alice.get('/realtime/subscribe')).status, 400)
  const tooLarge = await alice.post(`/realtime/user:${alice.id}/presence`, { data: { words: 'x'.repeat(5_000) } })
  assert.deepEqual([tooLarge.status, tooLarge.body.error.param], [400, 'data'])
})
