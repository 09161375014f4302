import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WebSocket } from 'ws'
import { type Linked, hello, linkUp, pairedBy } from '#test/link/daemon.ts'
import type { Answerer } from '#test/link/pair.ts'
import { teamOf } from '#test/makers.ts'
import { twoServers } from '#test/two-servers.ts'
import { until as untilSo } from '#test/until.ts'
import { encodeFrame } from '#packages/mux/frames.ts'

const { server, twin, alice } = await twoServers()
const links = server.app.engine.links
const beyondLinks = twin.app.engine.links
const signal = new AbortController().signal
const until = (ask: () => boolean | Promise<boolean>) => untilSo(async () => ask(), Boolean)
const probed = {
  now: new Date().toISOString(),
  uptime_seconds: 1,
  load: 0,
  memory_bytes: 1,
  memory_free_bytes: 1,
  home: null,
  disk_bytes: null,
  disk_free_bytes: null,
}

const answer: Answerer = async ({ op, input }, stream) => {
  if (op === 'fs.read') {
    for (let i = 0; i < 30; i++) await stream.write(Buffer.alloc(100_000, i))
    return { bytes: 3_000_000 }
  }
  return op === 'daemon.probe' ? probed : { found: true, input }
}

const connection = async (id: string) => (await alice.get(`/computers/${id}`)).body.data.connection
const see = (id: string, state: string) => until(async () => (await connection(id)) === state)

test('a machine is online while linked and offline afterwards', async () => {
  const { id, credential } = await pairedBy(alice)
  assert.equal(await connection(id), 'never_connected')
  await assert.rejects(links.ask(id, 'daemon.probe', {}, { signal }), { code: 'computer_offline' })
  const linked = await linkUp(server.origin, credential, answer, { ...hello, hostname: 'renamed', allows: ['exec'] })
  assert.equal(linked.greeting.computer_id, id)
  const { data } = (await alice.get(`/computers/${id}`)).body
  assert.deepEqual([data.connection, data.hostname, data.allows], ['online', 'renamed', ['exec']])
  assert.deepEqual(await links.ask(id, 'daemon.probe', {}, { signal }), probed)
  linked.mux.close(1000, 'done')
  await see(id, 'offline')
  await assert.rejects(links.ask(id, 'daemon.probe', {}, { signal }), (error: any) => {
    assert.equal(error.code, 'computer_offline')
    return typeof error.details.last_seen_at === 'string'
  })
})

test('members with access get connected and disconnected events', async () => {
  const { id, credential } = await pairedBy(alice)
  const linked = await linkUp(server.origin, credential)
  linked.mux.close(1000, 'done')
  const { db } = server.app.engine.postgres
  const types = async () =>
    (await db
      // A table of the realtime module, not in this module's types.
      .selectFrom('changes' as never)
      .selectAll()
      .execute()) as { type: string; resource_id: string }[]
  await until(async () => {
    const eventTypes = (await types()).filter((row) => row.resource_id === id).map(({ type }) => type)
    return eventTypes.includes('computer.connected') && eventTypes.includes('computer.disconnected')
  })
})

test('repeatable calls continue over the next link; others report an unknown result', async () => {
  const { id, credential } = await pairedBy(alice)
  let calls = 0
  const first = await linkUp(server.origin, credential, ({ op }) => {
    // The server also requests the models of a machine on connect.
    if (op === 'exec.kill' || op === 'fs.remove') calls++
    return new Promise(() => {})
  })
  const repeatable = links.ask(id, 'exec.kill', { key: 'a', signal: null }, { signal })
  const once = links.ask(id, 'fs.remove', { path: '/x', recursive: false }, { signal })
  once.catch(() => {})
  await until(() => calls === 2)
  first.mux.close(1000, 'cut')
  await assert.rejects(once, { code: 'interrupted' })
  using _second = await linkUp(twin.origin, credential, () => Promise.resolve({ found: true }))
  assert.deepEqual(await repeatable, { found: true })
})

test('canceling a call also ends it on the machine', async () => {
  const { id, credential } = await pairedBy(alice)
  let aborts = 0
  let callCount = 0
  using _linked = await linkUp(server.origin, credential, (_asked, _stream, call) => {
    callCount++
    call.signal.addEventListener('abort', () => aborts++)
    return new Promise(() => {})
  })
  const calls = [links, beyondLinks].map(async (way) => {
    const leaving = new AbortController()
    const call = way.ask(id, 'daemon.probe', {}, { signal: leaving.signal })
    const callsBefore = callCount
    await until(() => callCount > callsBefore || callCount === 2)
    leaving.abort()
    await assert.rejects(call, { name: 'AbortError' })
  })
  await Promise.all(calls)
  await until(() => aborts === 2)
})

test('a machine acts only for itself, with a valid credential', async () => {
  const mine = await pairedBy(alice)
  const other = await pairedBy(alice)
  for (const credential of ['nonsense', mine.credential.slice(0, -1), `${mine.credential.slice(0, -4)}AAAA`])
    await assert.rejects(linkUp(server.origin, credential), { status: 401 })
  const { key } = await alice.key()
  await assert.rejects(linkUp(server.origin, key), { status: 401 })
  // The credential decides which machine a daemon is, whatever it claims.
  using linked = await linkUp(server.origin, mine.credential, answer, { ...hello, computer_id: other.id })
  assert.equal(linked.greeting.computer_id, mine.id)
  assert.equal(await connection(other.id), 'never_connected')
  const stream = linked.mux.open({ op: 'daemon.probe', input: {}, computer_id: other.id })
  await assert.rejects(stream.output, { code: 'not_found' })
})

test('a link ends with its credential', async () => {
  const { id, credential } = await pairedBy(alice)
  const linked = await linkUp(server.origin, credential)
  const { db } = server.app.engine.postgres
  await db.deleteFrom('computer_credentials').where('computer_id', '=', id).execute()
  server.app.engine.bus.poke('computers')
  assert.equal(await linked.closed, 4004)
  await assert.rejects(linkUp(server.origin, credential), { status: 401 })
})

test('a protocol violation closes only that daemon’s link', async () => {
  const good = await pairedBy(alice)
  using otherLink = await linkUp(server.origin, good.credential, answer)
  const bad = await pairedBy(alice)
  await assert.rejects(linkUp(server.origin, bad.credential, answer, { nothing: true }), /4002/)
  await assert.rejects(linkUp(server.origin, bad.credential, answer, { ...hello, protocol: 0 }), /4002/)
  await assert.rejects(linkUp(server.origin, bad.credential, answer, { ...hello, hostname: 'a\0b' }), /4002/)
  await assert.rejects(linkUp(server.origin, bad.credential, answer, { ...hello, allows: ['root'] }), /4002/)
  // An unknown frame type.
  for (const message of ['text', Buffer.from('short'), encodeFrame(99 as never, 0, 2, 0)]) {
    const socket = new WebSocket(`${server.origin.replace('http', 'ws')}/v1/computers/link`, {
      headers: { authorization: `Bearer ${bad.credential}` },
    })
    socket.on('open', () => socket.send(message))
    assert.equal(await new Promise((resolve) => socket.on('close', resolve)), 4002)
  }
  using lies = await linkUp(server.origin, bad.credential, () => Promise.resolve({ anything: 'else' }))
  await assert.rejects(links.ask(bad.id, 'daemon.probe', {}, { signal }), { code: 'upstream_error' })
  assert.equal(lies.mux.closed || otherLink.mux.closed, false)
  assert.deepEqual(await links.ask(good.id, 'daemon.probe', {}, { signal }), probed)
})

test('flow control limits what a daemon sends to a reader that doesn’t read', async () => {
  const { id, credential } = await pairedBy(alice)
  let sentBytes = 0
  using linked = await linkUp(server.origin, credential, async ({ op }, stream) => {
    if (op !== 'fs.read') return {}
    for (;;) {
      await stream.write(Buffer.alloc(16_384))
      sentBytes += 16_384
    }
  })
  const leaving = new AbortController()
  const input = { path: '/x', offset: 0, length: null, archive: null }
  const open = () => links.open(id, 'fs.read', input, { signal: leaving.signal })
  await Promise.all(Array.from({ length: 40 }, open))
  await until(() => sentBytes >= 40 * 65_536)
  // Late bytes would arrive before the replies to later requests.
  for (let time = 0; time < 10; time++) await links.ask(id, 'fs.upload_drop', { path: '/x', key: 'k' }, { signal })
  assert.ok(sentBytes <= 40 * 2 * 65_536, `${sentBytes} bytes`)
  assert.equal(linked.mux.closed, false)
  leaving.abort()
  await until(() => linked.mux.streams === 0)
})

test('a canceled call doesn’t wait for an offline computer', async () => {
  const { id, credential } = await pairedBy(alice)
  const request = Promise.withResolvers<void>()
  const linked = await linkUp(server.origin, credential, ({ op }) => {
    if (op === 'exec.kill') request.resolve()
    return new Promise(() => {})
  })
  const leaving = new AbortController()
  const call = links.ask(id, 'exec.kill', { key: 'a', signal: null }, { signal: leaving.signal })
  await request.promise
  linked.mux.close(1000, 'cut')
  await see(id, 'offline')
  leaving.abort()
  // Waiting for a recently lost computer would end with a refusal instead.
  await assert.rejects(call, { name: 'AbortError' })
})

test('losing permission stops the removal of a folder', async () => {
  const bob = await server.person('Bob')
  const team = await teamOf(alice, [[bob, 'member']])
  const { id, credential } = await pairedBy(alice)
  await alice.post(`/computers/${id}/exposures`, { workspace_id: team, capabilities: ['fs_write'] })
  const request = Promise.withResolvers<void>()
  const abort = Promise.withResolvers<void>()
  using _linked = await linkUp(server.origin, credential, ({ op }, _stream, call) => {
    if (op !== 'fs.remove') return Promise.resolve({})
    request.resolve()
    call.signal.addEventListener('abort', () => abort.resolve())
    return new Promise(() => {})
  })
  const removal = bob.post(`/computers/${id}/fs`, { op: 'remove', path: '/huge', recursive: true })
  await request.promise
  await alice.delete(`/computers/${id}/exposures/${team}`)
  await abort.promise
  assert.equal((await removal).status, 404)
})

test('lists longer than one message are returned completely', async () => {
  const { id, credential } = await pairedBy(alice)
  const home = `/home/${'x'.repeat(60)}`
  const users = Array.from({ length: 2_000 }, (_, i) => ({
    username: `u${i}`,
    uid: 1_000 + i,
    home,
    shell: '',
    groups: [],
  }))
  const ports = Array.from({ length: 2_000 }, (_, i) => ({ port: i + 1, protocol: 'tcp', process: home, pid: i }))
  const created_at = new Date().toISOString()
  const terminals = Array.from({ length: 500 }, (_, i) => ({
    terminal_id: `t${i}`,
    name: home,
    status: 'ended',
    cols: 80,
    rows: 24,
    offset: 0,
    exit_code: 0,
    signal: null,
    created_at,
    ended_at: created_at,
  }))
  using _linked = await linkUp(server.origin, credential, async ({ op, input }) => {
    const { from = 0 } = input as { from?: number }
    const lists = { 'users.list': { users }, 'ports.list': { ports }, 'terminal.list': { terminals } }
    const [[name, all]] = Object.entries(lists[op as 'users.list'] ?? { none: [] }) as [[string, unknown[]]]
    return { [name]: all.slice(from, from + 150), next: from + 150 < all.length ? from + 150 : null }
  })
  const last = await alice.get(`/computers/${id}/users/u1999`)
  assert.equal(last.body.data?.uid, 2_999, last.text)
  const { body: firstPage } = await alice.get(`/computers/${id}/ports?limit=100`)
  assert.deepEqual([firstPage.data.length, firstPage.pagination.has_more], [100, true])
  const portNumbers = new Set<string>()
  for (let cursor: string | undefined; ;) {
    const query = `limit=100${cursor === undefined ? '' : `&cursor=${cursor}`}`
    const { body } = await alice.post(`/computers/${id}/terminal?${query}`, { action: 'list' })
    assert.ok(Array.isArray(body.data), JSON.stringify(body))
    for (const { terminal_id } of body.data) portNumbers.add(terminal_id)
    cursor = body.pagination.next_cursor ?? undefined
    if (cursor === undefined) break
  }
  assert.equal(portNumbers.size, 500)
})

test('WebSocket upgrades on other paths get the normal response', async () => {
  for (const [path, status] of [
    ['/v1/computers', 401],
    ['/healthz', 200],
    ['/v1/computers/link/x', 404],
  ] as const) {
    const socket = new WebSocket(`${server.origin.replace('http', 'ws')}${path}`)
    const upgradeStatus = await new Promise<number>((resolve) => {
      socket.on('unexpected-response', (_request, response) => resolve(response.statusCode!))
      socket.on('error', () => {})
    })
    assert.equal(upgradeStatus, status, path)
  }
  assert.equal((await server.stranger.get('/computers/link')).status, 401)
})

test('a stopping server sends its daemons to another process at once', async () => {
  const { id, credential } = await pairedBy(alice)
  const third = await server.twin()
  const linked: Linked = await linkUp(third.origin, credential)
  await third[Symbol.asyncDispose]()
  assert.equal(await linked.closed, 1012)
  assert.equal(await connection(id), 'offline')
})
