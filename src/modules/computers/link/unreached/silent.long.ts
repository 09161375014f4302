/** Stopped daemons and keepers, and a long removal, with the real limits. */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { linkUp } from '#test/link/daemon.ts'
import { daemonHome } from '#test/link/run-daemon.ts'
import { startDaemon } from '#test/link/start-daemon.ts'
import { pairedComputer } from '#test/makers.ts'
import { temporaryDir } from '#test/program.ts'
import type { Answer } from '#test/server.ts'
import { twoServers } from '#test/two-servers.ts'
import { PATIENCE_MS } from '#test/until.ts'
import { USE_LIMITS } from '../limits.ts'

const { server, alice, beyond } = await twoServers()
const stack = new AsyncDisposableStack()
after(() => stack.disposeAsync())

function assertSilent({ status, body }: Answer, what: string): void {
  assert.ok(status === 504 || (status === 409 && body.error.code === 'computer_offline'), `${what}: ${status}`)
  assert.match(body.error.details.last_seen_at, /^\d{4}-/, what)
}

test('calls to a stopped keeper or daemon end with a timeout or as offline', async () => {
  const home = stack.use(daemonHome())
  const root = stack.use(temporaryDir()).path
  mkdirSync(join(root, 'folder'))
  writeFileSync(join(root, 'x'), 'x')
  const daemon = stack.use(await startDaemon(home, server.origin, alice))
  const { id } = daemon
  assert.ok(await server.app.engine.links.online(id, PATIENCE_MS))
  const { pid: keeper } = await home.keeper().hello()
  const path = encodeURIComponent(join(root, 'x'))
  const keeperCalls = (who: typeof beyond): Record<string, Promise<Answer>> => ({
    exec: who.post(`/computers/${id}/exec`, { command: 'true', timeout_ms: 1_000 }),
    'exec without a time-out': who.post(`/computers/${id}/exec`, { command: 'true', timeout_ms: null }),
    'terminal list': who.post(`/computers/${id}/terminal`, { action: 'list' }),
    'terminal open': who.post(`/computers/${id}/terminal`, { action: 'open' }),
  })
  const daemonCalls = (who: typeof beyond): Record<string, Promise<Answer>> => ({
    ...keeperCalls(who),
    list: who.post(`/computers/${id}/fs`, { op: 'list', path: root }),
    remove: who.post(`/computers/${id}/fs`, { op: 'remove', path: join(root, 'folder') }),
    download: who.get(`/computers/${id}/fs/download?path=${path}`),
    upload: who.request('POST', `/computers/${id}/fs/upload?path=${path}&overwrite=true`, Buffer.alloc(20_000_000), {
      'content-type': 'application/octet-stream',
    }),
    ports: who.get(`/computers/${id}/ports`),
    users: who.get(`/computers/${id}/users`),
  })
  for (const [pid, calls] of [
    [keeper, keeperCalls],
    [daemon.pid!, daemonCalls],
  ] as const) {
    process.kill(pid, 'SIGSTOP')
    try {
      for (const who of [alice, beyond])
        await Promise.all(Object.entries(calls(who)).map(async ([what, answer]) => assertSilent(await answer, what)))
    } finally {
      process.kill(pid, 'SIGCONT')
    }
    assert.ok(await server.app.engine.links.online(id, PATIENCE_MS))
  }
})

test('a removal that reports progress may take longer than the limit', async () => {
  const { id, credential } = await pairedComputer(alice)
  using _linked = await linkUp(server.origin, credential, async (_, stream) => {
    for (let removed = 0; removed < (USE_LIMITS.answerMs * 1.5) / 1_000; removed++) {
      stream.event({ type: 'progress', removed })
      await sleep(1_000)
    }
    return { removed: 100 }
  })
  const { status, body } = await alice.post(`/computers/${id}/fs`, { op: 'remove', path: '/x', recursive: true })
  assert.deepEqual([status, body.data.removed], [200, 100])
})
