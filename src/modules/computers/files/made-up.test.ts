import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { after, test } from 'node:test'
import { daemonHome, runDaemonAt } from '#test/link/run-daemon.ts'
import { linkUp } from '#test/link/daemon.ts'
import { pairedComputer } from '#test/makers.ts'
import { needs } from '#test/needs.ts'
import { testServer } from '#test/server.ts'
import { PATIENCE_MS } from '#test/until.ts'
import { Refusal } from '#core/errors.ts'

const stack = new AsyncDisposableStack()
after(() => stack.disposeAsync())
const server = stack.use(await testServer())
const alice = await server.person('Alice')

const pairing = await pairedComputer(alice)
const { id } = pairing
stack.use(await runDaemonAt(stack.use(daemonHome()), server.origin, pairing))
assert.ok(await server.app.engine.links.online(id, PATIENCE_MS))

const SOURCE = '/proc/version'

test(
  'a file of /proc is downloaded whole and copied to the drive',
  needs(process.platform === 'linux', 'Linux'),
  async () => {
    const whole = readFileSync(SOURCE)
    const get = (method: string, headers: Record<string, string> = {}) =>
      fetch(`${server.origin}/v1/computers/${id}/fs/download?path=${SOURCE}`, {
        method,
        headers: { ...alice.headers, ...headers },
      })
    for (const headers of [{}, { range: 'bytes=0-3' }]) {
      const answer = await get('GET', headers)
      assert.deepEqual([answer.status, answer.headers.get('content-length')], [200, null])
      assert.equal(await answer.text(), whole.toString())
    }
    const head = await get('HEAD')
    assert.deepEqual([head.status, head.headers.get('content-length')], [200, null])
    const copied = await alice.post('/drive/files', {
      workspace_id: alice.workspaceId,
      name: 'version.txt',
      computer_source: { computer_id: id, path: SOURCE },
    })
    assert.deepEqual(
      [copied.status, copied.body.data.sha256],
      [201, createHash('sha256').update(whole).digest('hex')],
      copied.text,
    )
  },
)

test('without a path, list and stat start at the home, and changes need a path', async () => {
  const fs = (op: string) => alice.post(`/computers/${id}/fs`, { op })
  const { status, body } = await fs('stat')
  assert.deepEqual([status, body.data.path, body.data.type], [200, realpathSync(homedir()), 'folder'])
  assert.equal((await fs('list')).status, 200)
  for (const op of ['mkdir', 'remove']) {
    const { status, body } = await fs(op)
    assert.deepEqual([status, body.error.code, body.error.param], [400, 'missing_parameter', 'path'], op)
  }
})

test('with an earlier daemon, browsing starts at its home', async () => {
  const { id, credential } = await pairedComputer(alice)
  const probe = { now: new Date(0).toISOString(), uptime_seconds: 1, load: 0, memory_bytes: 1, memory_free_bytes: 1 }
  const inputs: unknown[] = []
  using _linked = await linkUp(server.origin, credential, async ({ op, input }) => {
    if (op === 'daemon.probe') return { ...probe, home: '/home/ada' }
    if (op !== 'fs.list') throw new Refusal('not_supported')
    inputs.push((input as { path: string }).path)
    return { entries: [], next_cursor: null }
  })
  assert.equal((await alice.post(`/computers/${id}/fs`, { op: 'list' })).status, 200)
  assert.deepEqual(inputs, ['/home/ada'])
})
