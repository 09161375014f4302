// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { type Caller, caller, testServer } from '#test/server.ts'
import { cloudsOf, processesWith } from '#test/computers/cloud.ts'
import { pairedBy } from '#test/link/daemon.ts'
import { testDatabase } from '#test/database.ts'
import { needs } from '#test/needs.ts'
import { openHost } from '../host.ts'
import { run } from '../run.ts'
import { until as untilSo } from '#test/until.ts'

const there = (await run(['bwrap', '--version'])).code === 0
const sandboxes = needs(there, 'bubblewrap')
const database = await testDatabase()
const options = {
  environment: { UK_COMPUTER_DRIVERS: 'bubblewrap', UK_COMPUTERS_PER_WORKSPACE: '100' },
  database,
}

let server = await testServer(options)
let alice: Caller & { workspaceId: string } = await server.person('Alice')
const [bubbles] = there ? (await alice.get('/app/computer-drivers')).body.data : []
const hostFolder = () => openHost(database.dataDir).folder
/** Replaces the server process. `meanwhile` runs while there is none. */
async function restart(meanwhile: () => Promise<void>): Promise<void> {
  await server[Symbol.asyncDispose]()
  await meanwhile()
  server = await testServer(options)
  alice = { ...caller(server.origin, alice.headers), workspaceId: alice.workspaceId }
}

const { make, ids, waitForEnd, exec, lifecycle, settles } = cloudsOf(() => alice)
const until = (ask: () => boolean | Promise<boolean>) => untilSo(async () => ask(), Boolean)
after(async () => {
  for (const id of ids) await alice.delete(`/computers/${id}`)
  await until(async () => (await server.app.engine.postgres.pool.query('select from cloud_remains')).rowCount === 0)
  const folder = hostFolder()
  await server[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
  await database[Symbol.asyncDispose]()
})

test('a created computer runs commands and behaves like any other', sandboxes, async () => {
  const [driver] = (await alice.get('/app/computer-drivers')).body.data
  assert.deepEqual([driver.driver, driver.available, driver.images], ['bubblewrap', true, ['host']])
  assert.equal((await alice.post('/computers', {})).status, 405)
  const id = await make({ name: 'Build box!' })
  const { data } = (await alice.get(`/computers/${id}`)).body
  assert.deepEqual(
    [data.kind, data.lifecycle, data.connection, data.driver, data.image, data.hostname, data.lifecycle_reason],
    ['cloud', 'running', 'online', 'bubblewrap', 'host', 'build-box', null],
  )
  assert.deepEqual(data.limits, {
    cpu: null,
    memory_mb: null,
    processes: 512,
    enforced: driver.limits_enforced,
    disk_mb: null,
    disk_enforced: driver.disk_limits_enforced,
  })
  const { stdout, exit_code } = await exec(id, 'id -un; pwd; hostname; echo kept > file')
  assert.deepEqual([stdout, exit_code], ['user\n/home/user\nbuild-box\n', 0])
  const terminal = async (body: object) => (await alice.post(`/computers/${id}/terminal`, body)).body.data
  const { terminal_id } = await terminal({ action: 'open', shell: '/bin/bash' })
  await terminal({ action: 'write', terminal_id, data: 'sleep 1000\r' })
  await until(async () => (await exec(id, 'pgrep -c sleep || true')).stdout.trim() === '1')
  await terminal({ action: 'write', terminal_id, data: '\u0003' })
  await terminal({ action: 'write', terminal_id, data: 'echo job $((40+2)); tty\r' })
  await until(async () => (await terminal({ action: 'read', terminal_id })).data.includes('job 42'))
  await until(async () => (await terminal({ action: 'read', terminal_id })).data.includes('/dev/pts/'))

  const engine = await alice.post(`/computers/${id}/local-inference`, { action: 'start', engine: 'llama' })
  assert.deepEqual([engine.status, engine.body.error?.code], [409, 'not_supported'], engine.text)
  assert.match(engine.body.error.message, /has no network access .*, so llama\.cpp can’t be downloaded/)

  const response = await alice.post(`/computers/${id}/stop`)
  assert.deepEqual([response.status, response.body.data.lifecycle], [200, 'stopping'])
  await settles(id, 'stopped')
  assert.equal((await alice.post(`/computers/${id}/stop`)).body.data.lifecycle, 'stopped')
  const away = await alice.post(`/computers/${id}/exec`, { command: 'true' })
  assert.deepEqual([away.status, away.body.error.code], [409, 'computer_offline'])
  assert.match(away.body.error.message, new RegExp(`^The computer is stopped. Start it with .uk computers start ${id}`))
  assert.equal((await alice.post(`/computers/${id}/start`)).body.data.lifecycle, 'starting')
  await settles(id, 'running')
  assert.equal((await exec(id, 'cat file')).stdout, 'kept\n')
})

test('programs can’t see or affect the host', sandboxes, async () => {
  const secret = createServer((socket) => socket.end('the host')).listen(0, '127.0.0.1')
  await new Promise((resolve) => secret.once('listening', resolve))
  const { port } = secret.address() as AddressInfo
  const id = await make()
  const { stdout, stderr } = await exec(
    id,
    `ls / | tr '\\n' ' '; echo; ls /home /root /work /var/lib 2>/dev/null | tr '\\n' ' '; echo
    grep CapEff /proc/self/status; unshare -U true 2>&1 | head -c 7; echo
    (echo > /dev/tcp/127.0.0.1/${port}) 2>/dev/null && echo reached || echo refused
    touch /usr/x /x /opt/ukiyo/x /run/ukiyo/link/x 2>/dev/null && echo written || echo kept
    env | grep -cE 'UK_|DATABASE' ; ls /proc | grep -c '^[0-9]'; cat /etc/shadow 2>&1 | tail -c 26; ls /run/ukiyo/link | wc -l`,
    { argv: undefined },
  )
  const lines = stdout.split('\n')
  assert.match(lines[0], /^bin dev etc home lib (lib32 )?lib64 opt proc run sbin tmp usr var $/, stderr)
  assert.equal(lines[1].trim(), '/home: user')
  assert.equal(lines[2], 'CapEff:\t0000000000000000')
  assert.equal(lines[3], 'unshare')
  assert.deepEqual(lines.slice(4, 6), ['refused', 'kept'])
  assert.equal(lines[6], '1', 'only the mark of its own command')
  assert.ok(Number(lines[7]) < 12, 'its own processes and no others')
  secret.close()
})

test('unneeded system calls are refused before they reach the kernel', sandboxes, async () => {
  const id = await make()
  const calls = { keyctl: [250, 219], bpf: [321, 280], io_uring_setup: [425, 425], mount: [165, 40], setns: [308, 268] }
  const column = process.arch === 'x64' ? 0 : 1
  const script = Object.values(calls)
    .map((numbers) => `print syscall(${numbers[column]}, 0, 0, 0, 0, 0), ":", $! + 0, " ";`)
    .join(' ')
  assert.equal((await exec(id, `perl -e '${script}'`)).stdout, '-1:1 '.repeat(Object.keys(calls).length))
  assert.match((await exec(id, 'grep Seccomp: /proc/self/status')).stdout, /2$/m)
  const threads = `node -e 'new (require("worker_threads").Worker)("console.log(42)", { eval: true })'`
  assert.equal((await exec(id, threads.replace('node', '/opt/ukiyo/node'))).stdout, '42\n')
})

test(
  'internet access excludes the host, private networks and cloud metadata',
  needs(bubbles?.network.includes('internet') ?? false, 'pasta'),
  async () => {
    const secret = createServer((socket) => socket.end('the host')).listen(0, '0.0.0.0')
    await new Promise((resolve) => secret.once('listening', resolve))
    const { port } = secret.address() as AddressInfo
    const own = Object.values(networkInterfaces())
      .flatMap((all) => all ?? [])
      .filter(({ family }) => family === 'IPv4')
    const id = await make({ network: 'internet' })
    const gateway = (await exec(id, `ip -o route show default | sed 's/.*via \\([^ ]*\\).*/\\1/'`)).stdout.trim()
    const targets = [
      '169.254.169.254',
      '10.0.0.1',
      '192.168.1.1',
      '100.100.100.200',
      gateway,
      ...own.map(({ address }) => address),
    ]
    for (const address of targets) {
      const script = `timeout 2 bash -c 'exec 3<>/dev/tcp/${address}/${port}; cat <&3' 2>&1`
      assert.ok(!(await exec(id, script)).stdout.includes('the host'), address)
    }
    const { stdout } = await exec(
      id,
      `cat > t.py <<'P'
import socket
for device in (None, b"${(await exec(id, "ip -o route show default | sed 's/.*dev \\([^ ]*\\).*/\\1/'")).stdout.trim()}"):
  for family, to in ((socket.AF_INET, "169.254.169.254"), (socket.AF_INET6, "fd00:ec2::254")):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
      s = socket.socket(family, kind); s.settimeout(2)
      try:
        if device: s.setsockopt(socket.SOL_SOCKET, 25, device)
        s.connect((to, 80)); print("reached", device, to)
      except OSError as error: print(error.errno)
P
python3 t.py; ip xfrm policy flush 2>&1 | head -1`,
    )
    assert.ok(!stdout.includes('reached'), stdout)
    assert.match(stdout, /not permitted/)
    secret.close()
  },
)

test('paired computers can’t be started or stopped by the server', async () => {
  const { id } = await pairedBy(alice)
  for (const verb of ['start', 'stop', 'snapshots']) {
    const { status, body } = await alice.post(`/computers/${id}/${verb}`, {})
    assert.deepEqual([status, body.error.code], [409, 'not_supported'])
  }
})

test('a restarted server adopts running computers and restarts those that ended meanwhile', sandboxes, async () => {
  // A unique duration, so that leftovers of other runs don't match.
  const seconds = String(randomInt(1e7, 1e8))
  const id = await make()
  const other = await make()
  await alice.post(`/computers/${id}/terminal`, { action: 'open', argv: ['/bin/sleep', seconds] })
  await until(() => processesWith(`sleep ${seconds}`).length > 0)
  const [pid] = processesWith(`sleep ${seconds}`)
  await restart(async () => {
    process.kill(Number.parseInt(readFileSync(join(hostFolder(), other, 'pid'), 'utf8'), 10), 'SIGKILL')
    await until(() => processesWith(`computers/${other}/`).length === 0)
  })
  await until(async () => (await alice.get(`/computers/${id}`)).body.data.connection === 'online')
  assert.deepEqual(processesWith(`sleep ${seconds}`), [pid])
  assert.equal((await exec(id, 'pgrep -c sleep')).stdout, '1\n')
  await until(
    async () =>
      (await lifecycle(other)) === 'running' &&
      (await alice.get(`/computers/${other}`)).body.data.connection === 'online',
  )
  assert.equal((await exec(other, 'echo back')).stdout, 'back\n')
})

test('a crashed computer is restarted, and reports an error if that doesn’t help', sandboxes, async () => {
  const id = await make()
  const kill = () => alice.post(`/computers/${id}/exec`, { command: 'kill -9 -1', background: true })
  for (let death = 1; death < 3; death++) {
    await kill()
    await until(async () => {
      const { rows } = await server.app.engine.postgres.pool.query(
        'select deaths from cloud_computers where computer_id = $1',
        [id],
      )
      const { data } = (await alice.get(`/computers/${id}`)).body
      return rows[0].deaths === death && data.lifecycle === 'running' && data.connection === 'online'
    })
  }
  await kill()
  await settles(id, 'error')
  assert.match((await alice.get(`/computers/${id}`)).body.data.lifecycle_reason, /exited unexpectedly 3 times/)
  await alice.post(`/computers/${id}/start`)
  await settles(id, 'running')
})

test('idle computers are stopped, busy ones aren’t', sandboxes, async () => {
  const id = await make({ idle_stop_seconds: 10 })
  const busy = await make({ idle_stop_seconds: 10 })
  const { id: operation } = (await alice.post(`/computers/${busy}/exec`, { command: 'sleep 60', background: true }))
    .body.data
  await settles(id, 'stopped')
  assert.equal(await lifecycle(busy), 'running')
  await alice.post(`/operations/${operation}/cancel`)
})

test('a snapshot outlives its computer, and a new computer starts from it', sandboxes, async () => {
  const id = await make()
  await exec(
    id,
    `mkdir -p a/b 'with space'; echo one > a/b/one; ln -s a/b/one link; ln a/b/one hard; head -c 3000000 /dev/urandom > big
    sha256sum big > sum; chmod 700 a; printf x > "$(printf 'line\\nbreak')"; mkdir shut; echo s > shut/s; chmod 000 shut;`,
  )
  await alice.post(`/computers/${id}/exec`, { command: 'while :; do date +%N > ticking; done', background: true })
  const snapshotResponse = await alice.post(`/computers/${id}/snapshots`, { name: 'before' })
  assert.equal(snapshotResponse.status, 202, snapshotResponse.text)
  const { result, status, error } = await waitForEnd(snapshotResponse.body.data.id)
  assert.equal(status, 'succeeded', JSON.stringify(error))
  assert.deepEqual([result.status, result.name, result.computer_id], ['ready', 'before', id])
  assert.ok(
    result.entries >= 12 && result.size_bytes > 3_000_000 && result.size_bytes < 3_500_000,
    JSON.stringify(result),
  )
  assert.equal((await exec(id, 'echo goes on')).stdout, 'goes on\n')
  assert.deepEqual(
    (await alice.get(`/computers/${id}/snapshots`)).body.data.map((one: { id: string }) => one.id),
    [result.id],
  )
  const home = join(hostFolder(), id)
  await alice.delete(`/computers/${id}`)
  await until(() => !existsSync(home))
  assert.equal((await alice.get(`/computers/${id}/snapshots`)).status, 404)

  const next = await make({ name: 'Next', from_snapshot: result.id })
  const { stdout } = await exec(
    next,
    `sha256sum -c sum; cat link; stat -c %h hard; stat -c %a a shut; chmod 700 shut; cat shut/s; ls -b | grep line; whoami`,
  )
  assert.equal(stdout, 'big: OK\none\n2\n700\n0\ns\nline\\nbreak\nuser\n')

  const bob = await server.person('Bob')
  const stolen = await bob.post('/app/computers', { name: 'Mine', from_snapshot: result.id })
  assert.deepEqual([stolen.status, stolen.body.error.param], [404, 'from_snapshot'])
  assert.equal((await bob.delete(`/app/computer-snapshots/${result.id}`)).status, 404)
  assert.equal((await alice.delete(`/app/computer-snapshots/${result.id}`)).status, 200)
  const lateResponse = await alice.post('/app/computers', { name: 'Late', from_snapshot: result.id })
  assert.equal(lateResponse.status, 404)
})

test('creating a computer with an unsupported option names that option', sandboxes, async () => {
  for (const [options, param] of [
    [{ driver: 'none' }, 'driver'],
    [{ image: 'windows' }, 'image'],
    [{ from_snapshot: '01ARZ3NDEKTSV4RRFFQ69G5FAV' }, 'from_snapshot'],
  ] as const) {
    const { body } = await alice.post('/app/computers', { name: 'Box', ...options })
    assert.equal(body.error.param, param)
  }
})
