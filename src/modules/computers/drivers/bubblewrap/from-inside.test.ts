// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { cloudsOf } from '#test/computers/cloud.ts'
import { teamOf } from '#test/makers.ts'
import { needs } from '#test/needs.ts'
import { type Person, testServer } from '#test/server.ts'
import { until } from '#test/until.ts'
import { openHost } from '../host.ts'
import { run } from '../run.ts'

const there = (await run(['bwrap', '--version'])).code === 0
const sandboxes = needs(there, 'bubblewrap')
const server = await testServer({
  environment: { UK_COMPUTER_DRIVERS: 'bubblewrap', UK_COMPUTERS_PER_WORKSPACE: '20' },
})
const { folder } = openHost(server.database.dataDir)
const scratch = mkdtempSync(join(tmpdir(), 'ukiyo-hostile-'))
const alice: Person = await server.person('Alice')
const { make, ids, waitForEnd, exec, lifecycle, settles, snapshot } = cloudsOf(() => alice)
after(async () => {
  for (const id of ids) await alice.delete(`/computers/${id}`)
  await until(
    () => server.app.engine.postgres.pool.query('select from cloud_remains'),
    ({ rowCount }) => rowCount === 0,
  )
  await server[Symbol.asyncDispose]()
  for (const each of [folder, scratch]) rmSync(each, { recursive: true, force: true })
})

async function restarted(id: string): Promise<void> {
  await alice.post(`/computers/${id}/stop`)
  await settles(id, 'stopped')
  await alice.post(`/computers/${id}/start`)
  await until(
    () => lifecycle(id),
    (lifecycle) => lifecycle === 'running' || lifecycle === 'error',
  )
}

test('links and pipes in a computer’s state folder don’t mislead the server', sandboxes, async () => {
  const id = await make()
  const victim = join(scratch, 'victim')
  writeFileSync(victim, 'mine', { mode: 0o600 })
  const { uid } = statSync(victim)
  const state = '/run/ukiyo/state/computer.json'
  // Links to a host file, a missing file, a pipe without a reader, and a folder that can't be removed.
  for (const trick of [
    `ln -s ${victim} ${state}`,
    `ln -s ${join(scratch, 'new')} ${state}`,
    `mkfifo ${state}`,
    `mkdir -p ${state}/a/b && touch ${state}/a/b/c && chmod 000 ${state}/a`,
  ]) {
    const { exit_code, stderr } = await exec(id, `rm -rf ${state}; ${trick}`)
    assert.equal(exit_code, 0, stderr)
    await restarted(id)
    assert.deepEqual([readFileSync(victim, 'utf8'), statSync(victim).uid], ['mine', uid], trick)
    assert.equal(existsSync(join(scratch, 'new')), false)
    assert.equal((await exec(id, `stat -c '%a %F' ${state}`)).stdout, '600 regular file\n')
  }
})

test('only members who can change a computer can clone its snapshots', sandboxes, async () => {
  const [vera, xavier, mara] = [await server.person('Vera'), await server.person('Xavier'), await server.person('Mara')]
  const team = await teamOf(alice, [
    [vera, 'viewer'],
    [xavier, 'member'],
    [mara, 'member'],
  ])
  const id = await make({ workspace_id: team })
  await exec(id, 'echo secret > key')
  const { result } = await snapshot(id)
  const take = async (who: Pick<Person, 'post'>, more: object = {}) => {
    const { status, body } = await who.post('/app/computers', { name: 'Mine', from_snapshot: result.id, ...more })
    return [status, body.error?.code ?? body.error?.type]
  }
  assert.deepEqual((await vera.get('/app/computer-snapshots')).body.data.length, 1, 'she may know of it')
  assert.deepEqual(await take(vera), [403, 'insufficient_role'])
  assert.deepEqual(await take(await vera.key()), [403, 'insufficient_role'])
  // A member without computer permissions.
  await alice.patch(`/workspaces/${team}/members/${mara.id}`, { permissions: ['chat:read'] })
  assert.deepEqual(await take(mara), [403, 'insufficient_role'])
  // A key limited to another workspace.
  const elsewhere = (await xavier.post('/workspaces', { name: 'Elsewhere' })).body.data.id
  const workspaceKey = await xavier.key({ workspace_id: elsewhere })
  assert.deepEqual(await take(workspaceKey, { workspace_id: elsewhere }), [404, 'not_found'])
  const own = await cloudsOf(() => xavier).make({ from_snapshot: result.id })
  assert.equal((await xavier.post(`/computers/${own}/exec`, { command: 'cat key' })).body.data.stdout, 'secret\n')
  await xavier.delete(`/computers/${own}`)
  await alice.delete(`/workspaces/${team}/members/${xavier.id}`)
  assert.deepEqual(await take(xavier), [404, 'not_found'])
})

test('sparse files stay sparse in snapshots, which run one at a time', sandboxes, async () => {
  const id = await make()
  await exec(id, 'truncate -s 10T holes; head -c 30000000 /dev/urandom > full; echo end >> holes; sha256sum full > sum')
  const responses = await Promise.all([1, 2].map(() => alice.post(`/computers/${id}/snapshots`, {})))
  assert.deepEqual(responses.map(({ status, body }) => body.error?.code ?? status).toSorted(), [202, 'invalid_state'])
  const accepted = responses.find(({ status }) => status === 202)!
  const { result, error } = await waitForEnd(accepted.body.data.id)
  assert.equal(result?.status, 'ready', JSON.stringify(error))
  const next = await make({ from_snapshot: result.id })
  const { stdout } = await exec(next, 'stat -c %s holes; tail -c 4 holes; sha256sum -c sum; du -m holes | cut -f1')
  assert.equal(stdout, '10995116277764\nend\nfull: OK\n1\n')
})

test('host programs that read a computer’s files aren’t killed with it', sandboxes, async () => {
  const id = await make()
  const reader = spawn('tail', ['-f', join(folder, id, 'log')], { stdio: 'ignore' })
  const script = spawn('sh', ['-c', 'sleep 1000; : "$0"', join(folder, id, 'home')], {
    stdio: 'ignore',
    detached: true,
  })
  await restarted(id)
  await alice.delete(`/computers/${id}`)
  await until(
    async () => existsSync(join(folder, id)),
    (there) => !there,
  )
  assert.deepEqual([reader.exitCode, reader.signalCode, script.exitCode, script.signalCode], [null, null, null, null])
  reader.kill('SIGKILL')
  process.kill(-script.pid!, 'SIGKILL')
})

test('every computer is managed, even when there are many', sandboxes, async () => {
  const many = await Promise.all(Array.from({ length: 9 }, () => make()))
  const last = many.toSorted().at(-1)!
  await alice.post(`/computers/${last}/stop`)
  await settles(last, 'stopped')
  await alice.delete(`/computers/${last}`)
  await until(
    async () => existsSync(join(folder, last)),
    (there) => !there,
  )
  await Promise.all(many.map((id) => alice.delete(`/computers/${id}`)))
})

test('a computer that floods the link socket doesn’t block others for long', sandboxes, async () => {
  const id = await make()
  const other = await make()
  // Connections that send nothing, half a request or a false credential, and never close.
  const script = `cat > flood.py <<'P'
import os, socket, sys, time
paths = ["/run/ukiyo/link/" + name for name in os.listdir("/run/ukiyo/link")]
words = [b"", b"GET /v1/computers/link HTTP/1.1\\r\\nhost: x\\r\\n", b"GET /v1/computers/link HTTP/1.1\\r\\nhost: x\\r\\nconnection: upgrade\\r\\nupgrade: websocket\\r\\nsec-websocket-version: 13\\r\\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\\r\\nauthorization: Bearer ukm_no\\r\\n\\r\\n"]
kept = []
for i in range(1500):
  s = socket.socket(socket.AF_UNIX)
  try:
    s.connect(paths[i % len(paths)]); s.sendall(words[i % 3]); kept.append(s)
  except OSError: pass
print("open", flush=True)
time.sleep(600)
P
python3 flood.py`
  const open = () => readdirSync('/proc/self/fd').length
  const before = open()
  const { id: operation } = (await alice.post(`/computers/${id}/exec`, { command: script, background: true })).body.data
  await until(
    async () => (await alice.get(`/operations/${operation}/content`)).text,
    (text) => text.includes('open'),
  )
  assert.ok(open() < before + 200, `${open() - before} more descriptors`)
  assert.equal((await exec(other, 'echo there')).stdout, 'there\n')
  await restarted(other)
  assert.equal((await exec(other, 'echo back')).stdout, 'back\n')
  await alice.post(`/operations/${operation}/cancel`)
})
