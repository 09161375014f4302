// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { type Caller, testServer } from '#test/server.ts'
import { cloudsOf, processesWith } from '#test/computers/cloud.ts'
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
const hostFolder = () => openHost(database.dataDir).folder
const { make, ids: createdIds, waitForEnd, exec, lifecycle, settles } = cloudsOf(() => alice)
const until = (ask: () => boolean | Promise<boolean>) => untilSo(async () => ask(), Boolean)
after(async () => {
  for (const id of createdIds) await alice.delete(`/computers/${id}`)
  await until(async () => (await server.app.engine.postgres.pool.query('select from cloud_remains')).rowCount === 0)
  const folder = hostFolder()
  await server[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
  await database[Symbol.asyncDispose]()
})

test('all processes of a computer end with it', sandboxes, async () => {
  const id = await make()
  const command =
    'setsid -f env -i sleep 31415; (sleep 31415 &) ; setsid -f sh -c "trap : TERM HUP; sleep 31415; sleep 31415"; wait; sleep 31415'
  await alice.post(`/computers/${id}/exec`, { command, background: true })
  await until(() => processesWith('sleep 31415').length >= 3)
  await alice.post(`/computers/${id}/stop`)
  await settles(id, 'stopped')
  assert.deepEqual(processesWith('sleep 31415'), [])
  assert.deepEqual(processesWith(`computers/${id}/`), [])
})

test('fork bombs and memory hogs affect only their own computer', sandboxes, async () => {
  const id = await make({ processes: 60, memory_mb: 256, cpu: 1 })
  const { data } = (await alice.get(`/computers/${id}`)).body
  const bomb = await exec(id, 'bomb() { bomb | bomb & }; bomb; sleep 1; echo over', { timeout_ms: 8_000 })
  assert.match(bomb.stderr, /retry|Cannot fork|Resource temporarily unavailable/i)
  assert.ok(processesWith(`computers/${id}/`).length < 10)
  await alice.post(`/computers/${id}/stop`)
  await settles(id, 'stopped')
  assert.deepEqual(processesWith(`computers/${id}/`), [])
  if (!data.limits.enforced) return
  await alice.post(`/computers/${id}/start`)
  await settles(id, 'running')
  const eaten = await exec(id, `perl -e '$x = "a" x 1000000000; print length $x'`, { timeout_ms: 30_000 })
  assert.notEqual(eaten.exit_code, 0)
})

test('a computer over its disk limit is stopped and can be started for cleanup', sandboxes, async () => {
  const id = await make({ disk_mb: 32 })
  const { limits } = (await alice.get(`/computers/${id}`)).body.data
  assert.equal(limits.disk_mb, 32)
  const upload = (bytes: number) =>
    alice.request('POST', `/computers/${id}/fs/upload?path=/home/user/up&overwrite=true`, Buffer.alloc(bytes, 1), {
      'content-type': 'application/octet-stream',
    })
  const large = await upload(40_000_000)
  assert.deepEqual([large.status, large.body.error.type], [507, 'storage_full'], large.text)
  const { free_bytes, needed_bytes } = large.body.error.details
  assert.ok(free_bytes <= 32 * 1_048_576 && needed_bytes === 40_000_000, large.text)
  assert.equal((await upload(1_000)).status, 201)
  // Single files have the same limit, with or without quotas.
  const one = await exec(id, 'head -c 50000000 /dev/zero > one; stat -c %s one; rm one')
  assert.equal(one.stdout, `${32 * 1_048_576}\n`)
  const filling = 'for i in 1 2 3 4 5 6; do head -c 10000000 /dev/urandom > fill.$i; done; sleep 100'
  if (limits.disk_enforced) return
  await alice.post(`/computers/${id}/exec`, { command: filling, background: true })
  await settles(id, 'error')
  const { lifecycle_reason } = (await alice.get(`/computers/${id}`)).body.data
  assert.match(lifecycle_reason, /^The computer used 6\d{7} bytes of its disk limit of 33554432/)
  assert.deepEqual(processesWith(`computers/${id}/`), [])

  await alice.post(`/computers/${id}/start`)
  await settles(id, 'running')
  const used = async () => {
    const text = 'select disk_used_bytes from cloud_computers where computer_id = $1'
    return Number((await server.app.engine.postgres.pool.query(text, [id])).rows[0].disk_used_bytes)
  }
  const full = await upload(1_000)
  assert.deepEqual([full.status, full.body.error.details.free_bytes], [507, 0])
  assert.equal((await exec(id, 'rm fill.*; ls')).stdout, 'up\n')
  await until(async () => (await used()) < 1_000_000)
  assert.equal((await upload(1_000)).status, 201)
  assert.equal(await lifecycle(id), 'running')

  await exec(id, 'head -c 20000000 /dev/urandom > kept')
  const response = await alice.post(`/computers/${id}/snapshots`, {})
  const { result } = await waitForEnd(response.body.data.id)
  assert.ok(result.home_bytes >= 20_000_000, JSON.stringify(result))
  const small = await alice.post('/app/computers', { name: 'Small', disk_mb: 16, from_snapshot: result.id })
  assert.deepEqual(
    [small.status, small.body.error.type, small.body.error.param],
    [507, 'storage_full', 'from_snapshot'],
  )
  assert.deepEqual(small.body.error.details, { free_bytes: 16 * 1_048_576, needed_bytes: result.home_bytes })
})

test('with many computers running, new ones start and crashed ones are noticed', sandboxes, async () => {
  const ids = await Promise.all(Array.from({ length: 10 }, () => make()))
  const last = await make()
  assert.equal((await exec(last, 'echo here')).stdout, 'here\n')
  for (const id of [...ids, last]) assert.equal((await alice.delete(`/computers/${id}`)).status, 200)
  await until(() => !existsSync(join(hostFolder(), last)))
})
