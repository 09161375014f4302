// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { existsSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { cloudsOf, processesWith } from '#test/computers/cloud.ts'
import { ask, podmanHere, startPodman } from '#test/computers/podman.ts'
import { testDatabase } from '#test/database.ts'
import { needs } from '#test/needs.ts'
import { type Caller, caller, testServer } from '#test/server.ts'
import { until as untilSo } from '#test/until.ts'
import { openHost } from '../host.ts'
import { run } from '../run.ts'

const IMAGE = 'localhost/small:1'
const PROGRAMS =
  'sh bash cat chmod date env grep head hostname id ln ls mkdir mkfifo mount ps rm setsid sha256sum sleep stat touch tr wc timeout'
const here = podmanHere()
const containers = needs(here, 'podman, runc and root')
const podman = here ? await startPodman() : null
await podman?.image(IMAGE, PROGRAMS.split(' '))
const database = await testDatabase()
const options = {
  environment: {
    UK_COMPUTER_DRIVERS: here ? 'docker,bubblewrap' : 'off',
    UK_DOCKER_SOCKET: podman?.socket ?? '',
    UK_DOCKER_IMAGES: `${IMAGE},localhost/missing:1`,
  },
  database,
}
let server = await testServer(options)
let alice: Caller & { workspaceId: string } = await server.person('Alice')
const { make, ids, waitForEnd, exec, load, lifecycle, settles, snapshot } = cloudsOf(() => alice)
const drivers = here ? (await alice.get('/app/computer-drivers')).body.data : []
const hostFolder = () => openHost(database.dataDir).folder
const until = (holds: () => boolean | Promise<boolean>) => untilSo(async () => holds(), Boolean)
const engine = async (path: string, method = 'GET') =>
  JSON.parse((await ask(podman!.socket, method, `/v1.41${path}`)) || 'null')
const nameOf = (id: string): string => `ukiyo-${id.toLowerCase()}`

after(async () => {
  for (const id of ids) await alice.delete(`/computers/${id}`)
  if (here) {
    await until(async () => (await server.app.engine.postgres.pool.query('select from cloud_remains')).rowCount === 0)
    assert.deepEqual(await engine('/containers/json?all=true'), [], 'no container is left')
    rmSync(hostFolder(), { recursive: true, force: true })
  }
  await server[Symbol.asyncDispose]()
  await podman?.[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

test('a computer created from an image behaves like any other', containers, async () => {
  const [docker] = drivers
  assert.deepEqual([docker.driver, docker.available], ['docker', true], docker.reason)
  assert.deepEqual(docker.images, [IMAGE, 'localhost/missing:1'])
  const id = await make({ name: 'Build box!', memory_mb: 512, cpu: 1, processes: 100 })
  const data = await load(id)
  assert.deepEqual(
    [data.kind, data.lifecycle, data.connection, data.driver, data.image, data.hostname],
    ['cloud', 'running', 'online', 'docker', IMAGE, 'build-box'],
  )
  assert.equal(data.limits.enforced, docker.limits_enforced)
  const { stdout, exit_code } = await exec(id, 'id -un; pwd; hostname; echo kept > file')
  assert.deepEqual([stdout, exit_code], ['user\n/home/user\nbuild-box\n', 0])

  const terminal = async (body: object) => (await alice.post(`/computers/${id}/terminal`, body)).body.data
  const { terminal_id } = await terminal({ action: 'open' })
  await terminal({ action: 'write', terminal_id, data: 'echo job $((40+2)) $SHELL\r' })
  await until(async () => (await terminal({ action: 'read', terminal_id })).data.includes('job 42 /bin/bash'))

  await alice.post(`/computers/${id}/stop`)
  await settles(id, 'stopped')
  await alice.post(`/computers/${id}/start`)
  await settles(id, 'running')
  assert.equal((await exec(id, 'cat file')).stdout, 'kept\n')
})

test('programs can’t see or affect the host', containers, async () => {
  const secret = createServer((socket) => socket.end('the host')).listen(0, '127.0.0.1')
  await new Promise((resolve) => secret.once('listening', resolve))
  const { port } = secret.address() as AddressInfo
  const id = await make()
  const { stdout } = await exec(
    id,
    `grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\\n\\t'; echo
    (echo > /dev/tcp/127.0.0.1/${port}) 2>/dev/null && echo reached || echo refused
    for path in /x /opt/ukiyo/x /opt/ukiyo-tools/x /run/ukiyo/link/x /etc/x; do touch $path 2>/dev/null && echo written; done
    mount -t tmpfs none /home/user 2>/dev/null && echo mounted
    ls ${process.cwd()} ${hostFolder()} 2>/dev/null | wc -l; ls /dev | grep -cE 'sda|vda|kmsg|mem'
    ls /proc | grep -c '^[0-9]'; ls /home; env | grep -cE 'UK_|DATABASE'`,
  )
  const [status, loopback, hostSecret, devices, processes, home, environment] = stdout.split('\n')
  assert.equal(status, 'CapEff:0000000000000000CapBnd:0000000000000000NoNewPrivs:1Seccomp:2')
  assert.deepEqual([loopback, hostSecret, devices, home], ['refused', '0', '0', 'user'])
  assert.ok(Number(processes) < 12, 'its own processes and no others')
  assert.equal(environment, '1', 'only the mark of its own command')
  secret.close()
  const { HostConfig, Config } = await engine(`/containers/${nameOf(id)}/json`)
  assert.equal(HostConfig.Privileged, false)
  assert.equal(HostConfig.ReadonlyRootfs, true)
  assert.notEqual(Config.User.split(':')[0], '0')
})

test('limits are enforced, and all processes end with the computer', containers, async () => {
  const id = await make({ memory_mb: 256, processes: 60 })
  const { HostConfig } = await engine(`/containers/${nameOf(id)}/json`)
  assert.deepEqual([HostConfig.Memory, HostConfig.PidsLimit], [268_435_456, 60])
  const bomb = await exec(id, 'bomb() { bomb | bomb & }; bomb; sleep 1; echo over', { timeout_ms: 8_000 })
  assert.match(bomb.stderr, /retry|Cannot fork|Resource temporarily unavailable/i)
  await alice.post(`/computers/${id}/stop`)
  await settles(id, 'stopped')
  await alice.post(`/computers/${id}/start`)
  await settles(id, 'running')
  const eaten = await exec(id, 'head -c 1000000000 /dev/zero | tr "\\\\0" a | (read -r -N 900000000 x; echo ${#x})', {
    timeout_ms: 60_000,
  })
  assert.notEqual(eaten.stdout, '900000000\n')
  // The init process reaps orphans.
  await until(async () => (await lifecycle(id)) === 'running' && (await load(id)).connection === 'online')
  await exec(id, 'for n in 1 2 3 4 5; do setsid -f true; done')
  await until(async () => !(await exec(id, 'ps -e')).stdout.includes('defunct'))
  const sleeps = `sleep ${randomInt(1e7, 1e8)}`
  await alice.post(`/computers/${id}/exec`, {
    command: `setsid -f env -i ${sleeps}; (${sleeps} &); ${sleeps}`,
    background: true,
  })
  await until(() => processesWith(sleeps).length >= 3)
  await alice.post(`/computers/${id}/stop`)
  await settles(id, 'stopped')
  assert.deepEqual(processesWith(sleeps), [])
  assert.equal(
    (await engine('/containers/json?all=true')).some((one: { Names: string[] }) => one.Names[0]?.includes(nameOf(id))),
    false,
  )
})

test(
  'internet access excludes the host, private networks and cloud metadata',
  needs(!here || drivers[0].network.includes('internet'), 'a bridge of the container engine'),
  async () => {
    if (!here) return
    const secret = createServer((socket) => socket.end('the host')).listen(0, '0.0.0.0')
    await new Promise((resolve) => secret.once('listening', resolve))
    const { port } = secret.address() as AddressInfo
    const id = await make({ network: 'internet' })
    const own = Object.values(networkInterfaces())
      .flatMap((all) => all ?? [])
      .filter(({ family }) => family === 'IPv4')
    const targets = ['169.254.169.254', '10.0.0.1', '192.168.1.1', '100.100.100.200', ...own.map((one) => one.address)]
    for (const address of targets) {
      const { stdout } = await exec(
        id,
        `timeout 2 bash -c 'exec 3<>/dev/tcp/${address}/${port}; cat <&3' 2>&1; echo done`,
      )
      assert.ok(!stdout.includes('the host') && stdout.includes('done'), address)
    }
    const { stdout } = await exec(
      id,
      `grep -E '^Cap(Eff|Bnd|Prm)' /proc/self/status /proc/1/status | grep -vc 0000000000000000`,
    )
    assert.equal(stdout, '0\n', 'nobody in it may change the rules')
    secret.close()
  },
)

test('a restarted server adopts running computers and restarts those that ended meanwhile', containers, async () => {
  const id = await make()
  const other = await make()
  await exec(id, 'setsid -f sleep 27183 > /dev/null 2>&1 < /dev/null')
  const { Id } = await engine(`/containers/${nameOf(id)}/json`)
  await server[Symbol.asyncDispose]()
  await engine(`/containers/${nameOf(other)}/kill`, 'POST')
  await engine(`/containers/${nameOf(id)}/pause`, 'POST')
  server = await testServer(options)
  alice = { ...caller(server.origin, alice.headers), workspaceId: alice.workspaceId }
  const back = async (which: string) =>
    (await lifecycle(which)) === 'running' && (await load(which)).connection === 'online'
  await until(() => back(id))
  assert.equal((await engine(`/containers/${nameOf(id)}/json`)).Id, Id, 'it is the same')
  await until(() => back(other))
  assert.equal((await exec(other, 'echo back')).stdout, 'back\n')
})

test('a missing image is reported, and the computer can be deleted', containers, async () => {
  const response = await alice.post('/app/computers', { name: 'Box', image: 'localhost/missing:1' })
  const { status, error } = await waitForEnd(response.body.data.id)
  assert.deepEqual([status, error.code], ['failed', 'not_supported'])
  assert.match(error.message, /missing/)
  const { computer_id } = error.details
  assert.equal(await lifecycle(computer_id), 'error')
  assert.equal((await alice.delete(`/computers/${computer_id}`)).status, 200)
  await until(() => !existsSync(join(hostFolder(), computer_id)))
})

const bubbles = (await run(['bwrap', '--version'])).code === 0
test(
  'a home moves from a container to a sandbox and back',
  { ...containers, ...(here && needs(bubbles, 'bubblewrap')) },
  async () => {
    const id = await make()
    const script = `mkdir -p a/b 'with space' shut; echo one > a/b/one; ln -s a/b/one link; ln a/b/one hard; head -c 3000000 /dev/urandom > big
    sha256sum big > sum; chmod 700 a; printf x > "$(printf 'line\\nbreak')"; echo s > shut/s; chmod 000 shut`
    await exec(id, script)
    await alice.post(`/computers/${id}/exec`, { command: 'while :; do date +%N > ticking; done', background: true })
    const whole = (which: string) =>
      exec(
        which,
        `sha256sum -c sum; cat link; stat -c %h hard; stat -c %a a shut; chmod 700 shut; cat shut/s; chmod 000 shut; ls -b | grep line; id -un`,
      )
    const expected = 'big: OK\none\n2\n700\n0\ns\nline\\nbreak\nuser\n'
    const first = await snapshot(id)
    assert.equal(first.status, 'succeeded', JSON.stringify(first.error))
    assert.equal((await exec(id, 'echo goes on')).stdout, 'goes on\n')
    await alice.delete(`/computers/${id}`)
    await until(() => !existsSync(join(hostFolder(), id)))
    const sandbox = await make({ driver: 'bubblewrap', from_snapshot: first.result.id })
    assert.equal((await whole(sandbox)).stdout, expected)
    const second = await snapshot(sandbox)
    assert.equal(second.result.entries, first.result.entries)
    const back = await make({ driver: 'docker', from_snapshot: second.result.id })
    assert.equal((await whole(back)).stdout, expected)
  },
)
