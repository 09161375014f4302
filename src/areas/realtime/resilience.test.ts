import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { testDatabase } from '#test/database.ts'
import { type Sent, readEvents } from '#test/events.ts'
import { needs } from '#test/needs.ts'
import { type BrokerKind, broker, hasBroker } from '#test/realtime/broker.ts'
import { type Caller, caller, testServer } from '#test/server.ts'

/** Follows through whatever ends the stream, from where it was, on whichever server is there. */
async function followThrough(
  origins: () => string,
  headers: Record<string, string>,
  channels: string,
  enough: (got: Sent[]) => boolean,
) {
  const got: Sent[] = []
  const resets: Sent[] = []
  let last = ''
  while (!enough(got)) {
    try {
      const from: Record<string, string> = last === '' ? {} : { 'last-event-id': last }
      for await (const event of readEvents(caller(origins(), headers), `/realtime/subscribe?channels=${channels}`, {
        headers: from,
      })) {
        if (event.event === 'reset') resets.push(event)
        if (event.event === 'change') got.push(event)
        if (event.id) last = event.id
        if (enough(got)) break
      }
    } catch {
      // Killed; the other server, or the next, goes on.
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  return { got, resets }
}

test(
  'a server is killed under load: subscribers who go on elsewhere hear every change once and in order',
  { timeout: 120_000 },
  async (t) => {
    const database = await testDatabase()
    t.after(() => database[Symbol.asyncDispose]())
    const startChild = async (): Promise<{ child: ChildProcess; origin: string }> => {
      for (;;) {
        const child = spawn(
          process.execPath,
          [
            join(import.meta.dirname, '../../../test/realtime/child.ts'),
            JSON.stringify(database.connection),
            database.dataDir,
            '{}',
          ],
          { stdio: ['ignore', 'pipe', 'ignore'] },
        )
        const origin = await new Promise<string | null>((resolve) => {
          // It may log before it is ready.
          let said = ''
          child.stdout.on('data', (part: Buffer) => {
            said += part.toString()
            const found = /^http:\S+$/m.exec(said)
            if (found) resolve(found[0])
          })
          child.once('exit', () => resolve(null))
        })
        if (origin !== null) return { child, origin }
      }
    }
    await using steady = await testServer({ database, environment: { UK_LIMIT_WRITES: '0', UK_LIMIT_READS: '0' } })
    const alice = await steady.person('Alice')
    let { child, origin } = await startChild()
    t.after(() => child.kill('SIGKILL'))
    const workspaces = await Promise.all(
      [1, 2].map(async () => (await alice.post('/workspaces', { name: 'Team' })).body.data.id as string),
    )
    const channels = workspaces.map((id) => `workspace:${id}`).join(',')
    const made = new Map(workspaces.map((id) => [id, [] as string[]]))
    const load = new AbortController()
    const created = (got: Sent[]): Sent[] => got.filter(({ data }) => data.type === 'agent.created')
    const expected = () => [...made.values()].reduce((sum, ids) => sum + ids.length, 0)
    const enough = (got: Sent[]): boolean => {
      if (!load.signal.aborted) return false
      const heard = new Set(created(got).map(({ data }) => data.resource.id as string))
      return [...made.values()].flat().every((id) => heard.has(id))
    }
    const readers = Array.from({ length: 4 }, (_, i) =>
      followThrough(() => (i % 2 === 0 ? origin : steady.origin), alice.headers, channels, enough),
    )
    // Two write, one through the server that is killed: what it has not acknowledged may be there or not.
    const write = async (at: () => string) => {
      while (!load.signal.aborted) {
        for (const workspace_id of workspaces) {
          const answer = await caller(at(), alice.headers)
            .post('/agents', { name: 'Under load', workspace_id })
            .catch(() => null)
          if (answer?.status === 201) made.get(workspace_id)!.push(answer.body.data.id)
          else await new Promise((resolve) => setTimeout(resolve, 20))
        }
      }
    }
    const writers = [write(() => steady.origin), write(() => origin)]
    while (expected() < 30) await new Promise((resolve) => setTimeout(resolve, 10))
    child.kill('SIGKILL')
    await once(child, 'exit')
    ;({ child, origin } = await startChild())
    const before = expected()
    while (expected() < before + 20) await new Promise((resolve) => setTimeout(resolve, 10))
    load.abort()
    await Promise.all(writers)
    // The last of each channel ends the readers, whatever was not acknowledged.
    for (const workspace_id of workspaces)
      made.get(workspace_id)!.push((await alice.post('/agents', { name: 'Last', workspace_id })).body.data.id as string)
    // Each of them heard everything that was acknowledged, for else it would still listen.
    for (const { got, resets } of await Promise.all(readers)) {
      assert.deepEqual(resets, [])
      for (const id of workspaces) {
        const offsets = got
          .filter(({ data }) => data.channel === `workspace:${id}`)
          .map(({ data }) => data.offset as number)
        assert.deepEqual(
          offsets,
          offsets.map((_, i) => offsets[0]! + i),
          'each once, in order',
        )
      }
    }
  },
)

for (const kind of ['nats', 'redis'] as const satisfies BrokerKind[])
  test(
    `over ${kind} two processes tell each other; while it is away changes arrive all the same, and then it goes on`,
    { timeout: 60_000, ...needs(hasBroker(kind), `${kind}-server`) },
    async () => {
      await using bus = await broker(kind)
      await using near = await testServer({ environment: { UK_BUS: bus.url } })
      await using far = await near.twin()
      const alice = await near.person('Alice')
      const there: Caller = caller(far.origin, alice.headers)
      const channel = `custom:${alice.workspaceId}:room`
      const events = readEvents(there, `/realtime/subscribe?channels=${channel},user:${alice.id}`)
      const next = async (event: string): Promise<Sent> => {
        for (;;) {
          const { value } = await events.next()
          if (value!.event === event) return value!
        }
      }
      /** Older changes of the account may come behind the beginning. */
      const told = async (type: string): Promise<void> => {
        while ((await next('change')).data.type !== type);
      }
      await next('subscribed')
      const data = { words: 'ü\n'.repeat(5_000) }
      await alice.post(`/realtime/${channel}/broadcast`, { event: 'first', data })
      assert.deepEqual((await next('broadcast')).data.data, data)
      await alice.patch('/settings', { time_zone: 'Asia/Tokyo' })
      await told('settings.updated')

      await bus.stop()
      await alice.patch('/settings', { time_zone: 'Europe/Berlin' })
      assert.equal((await next('change')).data.data.time_zone, 'Europe/Berlin')
      await bus.start()
      // Both come back by themselves.
      const broadcasting = setInterval(
        () => void alice.post(`/realtime/${channel}/broadcast`, { event: 'second' }).catch(() => {}),
        200,
      )
      assert.equal((await next('broadcast')).data.event, 'second')
      clearInterval(broadcasting)
      await events.return()
    },
  )

test('a reader that takes nothing is cut off, and the server does not grow with what it would have got', async () => {
  await using server = await testServer({ environment: { UK_LIMIT_WRITES: '0' } })
  const alice = await server.person('Alice')
  const channel = `custom:${alice.workspaceId}:flood`
  const { hostname, port } = new URL(server.origin)
  const socket = connect(Number(port), hostname)
  socket.write(
    `GET /v1/realtime/subscribe?channels=${channel} HTTP/1.1\r\nHost: ${hostname}\r\nCookie: ${alice.headers.cookie}\r\n\r\n`,
  )
  await once(socket, 'data')
  socket.pause()
  const data = 'x'.repeat(60_000)
  // The kernel's buffers hold some megabytes of the 24.
  for (let i = 0; i < 400; i++) await alice.post(`/realtime/${channel}/broadcast`, { event: 'x', data })
  let taken = 0
  socket.on('data', (part: Buffer) => (taken += part.length))
  socket.on('error', () => {})
  socket.resume()
  await once(socket, 'close')
  assert.ok(taken < 400 * 60_000, `${taken} bytes`)
  socket.destroy()
})
