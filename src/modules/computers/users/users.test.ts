import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { pairedBy } from '#test/link/daemon.ts'
import { daemonHome, runDaemonAt } from '#test/link/run-daemon.ts'
import { startDaemon } from '#test/link/start-daemon.ts'
import { teamOf } from '#test/makers.ts'
import { type Person, type TestServer, testServer } from '#test/server.ts'
import { PATIENCE_MS } from '#test/until.ts'

const stack = new AsyncDisposableStack()
after(() => stack.disposeAsync())
let server: TestServer
let alice: Person
let bob: Person
let id: string

before(async () => {
  server = stack.use(await testServer())
  alice = await server.person('Alice')
  bob = await server.person('Bob')
  const home = stack.use(daemonHome())
  const pairing = await pairedBy(alice)
  id = pairing.id
  stack.use(await runDaemonAt(home, server.origin, pairing))
  assert.ok(await server.app.engine.links.online(id, PATIENCE_MS))
})

const code = ({ status, body }: { status: number; body: { error?: { code?: string } } }) => [status, body?.error?.code]
const isRoot = process.getuid?.() === 0 && existsSync('/usr/sbin/useradd')
const username = `uk${process.pid}`

test('users of a computer can be created, changed and removed', { skip: !isRoot && 'needs root' }, async () => {
  const response = await alice.post(`/computers/${id}/users`, { username, shell: '/bin/sh' })
  try {
    assert.deepEqual(
      [response.status, response.body.data.shell, response.body.data.home],
      [201, '/bin/sh', `/home/${username}`],
      response.text,
    )
    assert.match(execFileSync('getent', ['passwd', username], { encoding: 'utf8' }), /:\/bin\/sh$/m)
    // Password sign-in is locked.
    assert.match(execFileSync('getent', ['shadow', username], { encoding: 'utf8' }), /^\w+:[!*]/)
    assert.deepEqual(code(await alice.post(`/computers/${id}/users`, { username })), [409, 'already_exists'])
    const list = await alice.get(`/computers/${id}/users?limit=100`)
    assert.ok(list.body.data.some((user: { username: string }) => user.username === username))
    const changed = await alice.patch(`/computers/${id}/users/${username}`, { groups: ['users'] })
    assert.ok(changed.body.data.groups.includes('users'), changed.text)
    assert.equal((await alice.get(`/computers/${id}/users/${username}`)).body.data.uid, response.body.data.uid)
    assert.deepEqual(code(await alice.patch(`/computers/${id}/users/${username}`, { groups: ['nowhere-at-all'] })), [
      400,
      'invalid_parameter',
    ])
  } finally {
    const response = await alice.delete(`/computers/${id}/users/${username}?remove_home=true&force=true`)
    assert.deepEqual(response.body, { deleted: true, id: username })
  }
  assert.equal(existsSync(`/home/${username}`), false)
  assert.equal((await alice.get(`/computers/${id}/users/${username}`)).status, 404)
})

test('system accounts can’t be managed, and non-owners need the capability', async () => {
  for (const name of ['root', 'daemon', 'nobody']) {
    assert.equal((await alice.get(`/computers/${id}/users/${name}`)).status, 404)
    const answer = await alice.delete(`/computers/${id}/users/${name}`)
    assert.ok([400, 404, 409].includes(answer.status), answer.text)
  }
  for (const name of ['', '-r', 'Ada', 'a b', 'x'.repeat(33), 'a;reboot'])
    assert.deepEqual(
      code(await alice.post(`/computers/${id}/users`, { username: name })),
      [400, 'invalid_parameter'],
      name,
    )
  const team = await teamOf(alice, [[bob, 'member']])
  assert.equal((await bob.get(`/computers/${id}/users`)).status, 404)
  await alice.post(`/computers/${id}/exposures`, { workspace_id: team, capabilities: ['exec'] })
  assert.deepEqual(code(await bob.get(`/computers/${id}/users`)), [403, 'capability_denied'])
  await alice.patch(`/computers/${id}/exposures/${team}`, { capabilities: ['users'] })
  assert.equal((await bob.get(`/computers/${id}/users`)).status, 200)
})

const nobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
const program = join(import.meta.dirname, '../../../../bin/uk')
const runsAsNobody = isRoot && spawnSync(nobody[0]!, [...nobody.slice(1), 'sh', program, '--version']).status === 0

test(
  'a daemon without root lists users and reports why it can’t change them',
  { skip: !runsAsNobody && 'needs root, and a folder of this program that others may read' },
  async () => {
    await using home = daemonHome()
    chmodSync(dirname(home.folder), 0o711)
    chownSync(home.folder, 65_534, 65_534)
    await using daemon = await startDaemon(home, server.origin, alice, ['--allow', 'users'], nobody)
    assert.equal((await alice.get(`/computers/${daemon.id}/users`)).status, 200)
    for (const answer of [
      await alice.post(`/computers/${daemon.id}/users`, { username }),
      await alice.patch(`/computers/${daemon.id}/users/${username}`, { shell: '/bin/sh' }),
      await alice.delete(`/computers/${daemon.id}/users/${username}`),
    ]) {
      assert.deepEqual(code(answer), [409, 'not_supported'])
      assert.match(answer.body.error.details.reason, /doesn’t run as root/)
    }
  },
)
