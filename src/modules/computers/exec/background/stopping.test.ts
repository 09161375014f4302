import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { cloudsOf } from '#test/computers/cloud.ts'
import { testDatabase } from '#test/database.ts'
import { daemonHome, runDaemonAt } from '#test/link/run-daemon.ts'
import { pairedComputer } from '#test/makers.ts'
import { needs } from '#test/needs.ts'
import { type Caller, type TestServer, caller, testServer } from '#test/server.ts'
import { PATIENCE_MS, until } from '#test/until.ts'
import { openHost } from '../../drivers/host.ts'
import { run } from '../../drivers/run.ts'

const bubbles = needs((await run(['bwrap', '--version'])).code === 0, 'bubblewrap')

/** Unique sleep durations: a background command and a followed one. */
const going = 1_000_000 + process.pid
const followed = 2_000_000 + process.pid

/** Starts a background command and an attached terminal. */
async function inUse(alice: Caller, id: string): Promise<{ operation: string; over: Promise<unknown> }> {
  const response = await alice.post(`/computers/${id}/exec`, { command: `echo up; sleep ${going}`, background: true })
  assert.equal(response.status, 202, response.text)
  const operation: string = response.body.data.id
  const terminal = await alice.post(`/computers/${id}/terminal`, { action: 'open', argv: ['cat'] })
  const ticket = await alice.post(`/computers/${id}/terminals/${terminal.body.data.terminal_id}/ticket`, {})
  const socket = new WebSocket(ticket.body.data.url)
  const closed = new Promise((resolve) => socket.once('close', resolve))
  await new Promise((resolve) => socket.once('open', resolve))
  await until(
    async () => (await alice.get(`/operations/${operation}/content`)).text,
    (text) => text.includes('up'),
  )
  return { operation, over: closed }
}

/** Asserts that the followed command ended with its server and the other runs once. */
async function goesOn(exec: (argv: string[]) => Promise<string>): Promise<void> {
  const count = (seconds: number) => exec(['sh', '-c', `pgrep -cx -f 'sleep ${seconds}' || true`])
  await until(
    async () => [await count(followed), await count(going)].map(Number),
    ([followedCount, goes]) => followedCount === 0 && goes === 1,
  )
}

/** Waiting for the commands would take a million seconds. */
async function stops(server: TestServer): Promise<void> {
  const late = sleep(PATIENCE_MS, 'still there', { ref: false })
  const how = await Promise.race([server[Symbol.asyncDispose](), late])
  assert.equal(how, undefined, `it waits for ${server.app.down}`)
}

test('a server stops at once while computers are in use, and the next one continues their commands', async () => {
  await using database = await testDatabase()
  await using home = daemonHome()
  const first = await testServer({ database, environment: { UK_DRAIN_SECONDS: '600' } })
  const person = await first.person('Alice')
  const alice = await person.key()
  const { port } = new URL(first.origin)
  const pairing = await pairedComputer(person)
  await using _daemon = await runDaemonAt(home, first.origin, pairing)
  assert.ok(await first.app.engine.links.online(pairing.id, PATIENCE_MS))
  const { operation, over } = await inUse(alice, pairing.id)
  await stops(first)
  await over

  await using next = await testServer({ database, environment: { UK_PORT: port } })
  const again = caller(next.origin, alice.headers)
  assert.ok(await next.app.engine.links.online(pairing.id, PATIENCE_MS))
  const status = async () => (await again.get(`/operations/${operation}`)).body.data.status
  await until(status, (now) => now === 'running')
  await goesOn(async (argv) => (await again.post(`/computers/${pairing.id}/exec`, { argv })).body.data.stdout)
  await again.post(`/operations/${operation}/cancel`)
  await until(status, (now) => now === 'cancelled')
})

test('the same holds for cloud computers linked over local sockets', bubbles, async () => {
  await using database = await testDatabase()
  const options = { database, environment: { UK_DRAIN_SECONDS: '1', UK_COMPUTER_DRIVERS: 'bubblewrap' } }
  const first = await testServer(options)
  const person = await first.person('Alice')
  let who: Caller = await person.key()
  const clouds = cloudsOf(() => who)
  const ids = [await clouds.make(), await clouds.make()]
  const used = await Promise.all(ids.map((id) => inUse(who, id)))
  const sse = { accept: 'text/event-stream' }
  const follows = who.post(`/computers/${ids[0]}/exec`, { command: `sleep ${followed}` }, sse).catch(() => {})
  await stops(first)
  await Promise.all([follows, ...used.map(({ over }) => over)])

  await using next = await testServer(options)
  who = caller(next.origin, who.headers)
  for (const [n, id] of ids.entries()) {
    await until(
      async () => (await who.get(`/operations/${used[n]!.operation}`)).body.data.status,
      (now) => now === 'running',
    )
    assert.ok(await next.app.engine.links.online(id, PATIENCE_MS))
    await goesOn(async (argv) => (await who.post(`/computers/${id}/exec`, { argv })).body.data.stdout)
    await who.delete(`/computers/${id}`)
  }
  await until(
    async () => (await next.app.engine.postgres.pool.query('select from cloud_remains')).rowCount,
    (count) => count === 0,
  )
  rmSync(openHost(database.dataDir).folder, { recursive: true, force: true })
})
