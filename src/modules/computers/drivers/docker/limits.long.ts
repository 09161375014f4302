import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { after, test } from 'node:test'
import { cloudsOf } from '#test/computers/cloud.ts'
import { ask, podmanHere, startPodman } from '#test/computers/podman.ts'
import { testDatabase } from '#test/database.ts'
import { needs } from '#test/needs.ts'
import { testServer } from '#test/server.ts'
import { until } from '#test/until.ts'
import { openHost } from '../host.ts'
import { totalOf } from '../limits/disk-watch.ts'

const IMAGE = 'localhost/small:1'
const here = podmanHere()
const containers = needs(here, 'podman, runc and root')
const podman = here ? await startPodman() : null
await podman?.image(IMAGE, 'sh bash cat chmod head id ls mkdir mkfifo rm sha256sum sleep stat touch'.split(' '))
const database = await testDatabase()
const server = await testServer({
  environment: {
    UK_COMPUTER_DRIVERS: here ? 'docker' : 'off',
    UK_DOCKER_SOCKET: podman?.socket ?? '',
    UK_DOCKER_IMAGES: IMAGE,
  },
  database,
})
const alice = await server.person('Alice')
const { make, ids, waitForEnd, exec, load, lifecycle, settles, snapshot } = cloudsOf(() => alice)
const { pool } = server.app.engine.postgres

after(async () => {
  for (const id of ids) await alice.delete(`/computers/${id}`)
  if (here) {
    await until(
      async () => (await pool.query('select from cloud_remains')).rowCount,
      (count) => count === 0,
    )
    rmSync(openHost(database.dataDir).folder, { recursive: true, force: true })
  }
  await server[Symbol.asyncDispose]()
  await podman?.[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

const MB = 1_048_576
const used = async (id: string): Promise<number> =>
  Number(
    (await pool.query('select disk_used_bytes from cloud_computers where computer_id = $1', [id])).rows[0]
      .disk_used_bytes,
  )
const isRunning = async (id: string): Promise<boolean> =>
  JSON.parse(await ask(podman!.socket, 'GET', '/v1.41/containers/json')).some(({ Names }: { Names: string[] }) =>
    Names.some((name) => name.includes(id.toLowerCase())),
  )

test('a container over its disk limit is stopped and can be started for cleanup', containers, async () => {
  const id = await make({ disk_mb: 32 })
  const { limits } = await load(id)
  assert.equal(limits.disk_mb, 32)
  const upload = (bytes: number) =>
    alice.request('POST', `/computers/${id}/fs/upload?path=/home/user/up&overwrite=true`, Buffer.alloc(bytes, 1), {
      'content-type': 'application/octet-stream',
    })
  const large = await upload(40_000_000)
  assert.deepEqual([large.status, large.body.error.type], [507, 'storage_full'], large.text)
  assert.equal((await upload(1_000)).status, 201)
  const one = await exec(id, 'head -c 50000000 /dev/zero > one; stat -c %s one; rm one')
  assert.equal(one.stdout, `${32 * MB}\n`)
  // Only the home is writable.
  assert.equal(
    (await exec(id, 'for at in /x /etc/x /opt/x /var/x; do echo > $at; done 2>/dev/null; ls /x /etc/x')).stdout,
    '',
  )
  if (limits.disk_enforced) return
  // Files that appear and vanish meanwhile don't hide the rest.
  const churn = '(while :; do mkdir -p churn/a/b/c; rm -r churn; done) &'
  const command = `${churn} for i in 1 2 3 4 5 6; do head -c 10000000 /dev/urandom > fill.$i; done; sleep 100`
  await alice.post(`/computers/${id}/exec`, { command, background: true })
  await settles(id, 'error')
  assert.match((await load(id)).lifecycle_reason, /^The computer used 6\d{7} bytes of its disk limit of 33554432/)
  assert.equal(await isRunning(id), false)

  await alice.post(`/computers/${id}/start`)
  await settles(id, 'running')
  const full = await upload(1_000)
  assert.deepEqual([full.status, full.body.error.details.free_bytes], [507, 0])
  assert.equal((await exec(id, 'rm -rf fill.* churn; ls')).stdout, 'up\n')
  await until(
    () => used(id),
    (bytes) => bytes < 1_000_000,
  )
  assert.equal((await upload(1_000)).status, 201)
  assert.equal(await lifecycle(id), 'running')
})

test('a computer is created from a snapshot only if its home fits the disk limit', containers, async () => {
  const id = await make({ disk_mb: 64 })
  await exec(id, 'head -c 20000000 /dev/urandom > kept; sha256sum kept > sum')
  const { status, result, error } = await snapshot(id)
  assert.equal(status, 'succeeded', JSON.stringify(error))
  assert.ok(result.home_bytes >= 20_000_000, JSON.stringify(result))
  const small = await alice.post('/app/computers', { name: 'Small', disk_mb: 16, from_snapshot: result.id })
  assert.deepEqual(
    [small.status, small.body.error.type, small.body.error.param],
    [507, 'storage_full', 'from_snapshot'],
  )
  assert.deepEqual(small.body.error.details, { free_bytes: 16 * MB, needed_bytes: result.home_bytes })
  const again = await make({ disk_mb: 32, from_snapshot: result.id })
  assert.equal((await exec(again, 'sha256sum -c sum')).stdout, 'kept: OK\n')
  // The initial bytes count.
  await until(
    () => used(again),
    (bytes) => bytes >= 20_000_000,
  )
  const more = await alice.request(
    'POST',
    `/computers/${again}/fs/upload?path=/home/user/more`,
    Buffer.alloc(16_000_000),
    { 'content-type': 'application/octet-stream' },
  )
  assert.deepEqual([more.status, more.body.error.type], [507, 'storage_full'], more.text)
  assert.equal(
    (await waitForEnd((await alice.post(`/computers/${again}/snapshots`, {})).body.data.id)).status,
    'succeeded',
  )
})

test('files removed during a measurement don’t invalidate it', () => {
  assert.equal(totalOf({ code: 0, stdout: '4096\t/a\n8192\t/b\n12288\ttotal\n' }), 12_288)
  assert.equal(totalOf({ code: 1, stdout: '12288\ttotal\n' }), 12_288)
  assert.equal(totalOf({ code: 1, stdout: '' }), null)
  assert.equal(totalOf({ code: null, stdout: '12288\ttotal\n' }), null)
})
