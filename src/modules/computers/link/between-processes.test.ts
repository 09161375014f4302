// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { sql } from 'kysely'
import { type Mux, overSocket } from '#daemon-protocol/link.ts'
import { linkUp, pairedBy } from '#test/link/daemon.ts'
import type { Answerer } from '#test/link/pair.ts'
import { twoServers } from '#test/two-servers.ts'
import { until as untilSo } from '#test/until.ts'
import { LinkLost } from '#packages/mux/stream.ts'
import { unlinkDeadProcesses } from './state.ts'

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

test('calls, streams and refusals are relayed to the process that holds the link', async () => {
  const { id, credential } = await pairedBy(alice)
  using _linked = await linkUp(server.origin, credential, async (request, stream, call) => {
    if (request.op === 'fs.stat') throw Object.assign(new Error('hidden'), {})
    return answer(request, stream, call)
  })
  assert.equal(await beyondLinks.online(id, 0), true)
  assert.deepEqual(await beyondLinks.ask(id, 'daemon.probe', {}, { signal }), probed)
  const input = { path: '/x', offset: 0, length: null, archive: null }
  const stream = await beyondLinks.open(id, 'fs.read', input, { signal })
  let size = 0
  for await (const item of stream) {
    if (item.type !== 'bytes') continue
    assert.equal(item.offset, size)
    size += item.bytes.length
  }
  assert.deepEqual([size, await stream.output], [3_000_000, { bytes: 3_000_000 }])
  await assert.rejects(beyondLinks.ask(id, 'fs.stat', { path: '/x' }, { signal }), { code: 'internal_error' })
})

test('a newer link replaces the older one across processes', async () => {
  const { id, credential } = await pairedBy(alice)
  const first = await linkUp(server.origin, credential)
  const second = await linkUp(server.origin, credential)
  assert.equal(await first.closed, 4001)
  assert.ok((second.greeting.epoch as number) > (first.greeting.epoch as number))
  using third = await linkUp(twin.origin, credential, answer)
  assert.equal(await second.closed, 4001)
  assert.deepEqual(await links.ask(id, 'daemon.probe', {}, { signal }), probed)
  assert.equal(await connection(id), 'online')
  assert.equal(third.mux.closed, false)
})

test('peers must prove that they belong to the instance', async () => {
  const { id, credential } = await pairedBy(alice)
  using _linked = await linkUp(server.origin, credential, answer)
  const { rows } = await sql<{
    peer: string
  }>`select peer from processes where id = ${server.app.engine.processId}`.execute(server.app.engine.postgres.db)
  const [host, port] = rows[0]!.peer.split(':')
  for (const words of [null, {}, { nonce: 'x', proof: 'x' }, { nonce: 'x', proof: 'A'.repeat(43) }]) {
    const socket = connect(Number(port), host)
    const closed = Promise.withResolvers<void>()
    const stranger: Mux = overSocket(socket, {
      opens: 'even',
      onHello: () => (words === null ? undefined : stranger.hello(words)),
      answer: () => Promise.resolve({}),
      onClose: () => closed.resolve(),
    })
    if (words === null) socket.write(Buffer.alloc(64, 0xff))
    const stream = stranger.open({ op: 'daemon.probe', input: {}, computer_id: id })
    await assert.rejects(stream.output, LinkLost)
    await closed.promise
  }
  assert.deepEqual(await beyondLinks.ask(id, 'daemon.probe', {}, { signal }), probed)
})

test('one caller’s concurrent calls don’t block others to the same process', async () => {
  const busy = await Promise.all([pairedBy(alice), pairedBy(alice)])
  const silent = () => new Promise<never>(() => {})
  const linked = await Promise.all(busy.map(({ credential }) => linkUp(server.origin, credential, silent)))
  const leaving = new AbortController()
  const input = { path: '/x', offset: 0, length: null, archive: null }
  for (const { id } of busy)
    for (let n = 0; n < 60; n++)
      await Promise.all(
        Array.from({ length: 10 }, () => beyondLinks.open(id, 'fs.read', input, { signal: leaving.signal })),
      )
  const { id, credential } = await pairedBy(alice)
  using _other = await linkUp(server.origin, credential, answer)
  assert.deepEqual(await beyondLinks.ask(id, 'daemon.probe', {}, { signal }), probed)
  leaving.abort()
  await until(() => linked.every(({ mux }) => mux.streams === 0))
  for (const one of linked) one.mux.close(1000, 'done')
})

test('a link that survives a database outage becomes visible to every process again', async () => {
  const { id, credential } = await pairedBy(alice)
  using linked = await linkUp(server.origin, credential, answer)
  await see(id, 'online')
  const { postgres } = twin.app.engine
  // The state after a minute without a database, if the other process checks the old row first.
  await sql`update computers set last_seen_at = now() - interval '1 minute' where id = ${id}`.execute(postgres.db)
  await unlinkDeadProcesses(twin.app.engine)
  assert.equal(await connection(id), 'offline')
  await see(id, 'online')
  assert.deepEqual(await beyondLinks.ask(id, 'daemon.probe', {}, { signal }), probed)
  assert.equal(linked.mux.closed, false)
})
