// Thorough: run by the merge check, or by name. Bundles program versions and runs each on trial for ten seconds.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { KeeperClient } from '#daemon/keeper/client.ts'
import { versionsIn } from '#test/computers/installed.ts'
import { tamperingProxy } from '#test/computers/tampering.ts'
import { releaseAt, updating } from '#test/computers/updating.ts'
import { linkUp, pairedBy } from '#test/link/daemon.ts'
import type { Caller } from '#test/server.ts'
import { until } from '#test/until.ts'

const { server, alice, updated, installed, show, at } = await updating()

test('a daemon updates to its server’s version while a shell and a command keep running', async () => {
  await using proxy = await tamperingProxy(server.origin)
  await using box = await installed(proxy)
  const id = box.computerId()
  const [pid, first] = [box.pid(), box.release()]
  const terminal = async (input: object, by: Caller = alice) => {
    const { status, body } = await by.post(`/computers/${id}/terminal`, input)
    assert.equal(status, 200, JSON.stringify(body))
    return body.data
  }
  const { terminal_id } = await terminal({ action: 'open', argv: ['sh', '-i'] })
  await terminal({ action: 'write', terminal_id, data: 'WORD=kept\n' })
  const counting = await alice.post(`/computers/${id}/exec`, {
    command: 'i=0; while [ $i -lt 150 ]; do i=$((i+1)); echo $i; sleep 0.1; done',
    background: true,
  })
  assert.equal(counting.status, 202, counting.text)

  await using later = await updated('0.2.0')
  const offered = await releaseAt(later.origin)
  assert.notEqual(offered, first)
  proxy.to(later.origin)
  // A separate process tries the new program. Then the main process, which a service manager may watch, runs it under
  // the same PID.
  await until(
    () => show(id),
    (row) =>
      row.daemon_version === '0.2.0' && row.connection === 'online' && box.release() === offered && box.pid() === pid,
  )
  const beyond = at(later)
  await terminal({ action: 'write', terminal_id, data: 'echo "it is $WORD"\n' }, beyond)
  await until(
    async () => (await terminal({ action: 'read', terminal_id, from: 0 }, beyond)).data as string,
    (data) => data.includes('it is kept'),
  )
  const updatedRow = await until(
    async () => (await beyond.get(`/operations/${counting.body.data.id}`)).body.data,
    ({ status }) => status !== 'running' && status !== 'queued',
  )
  assert.deepEqual([updatedRow.status, updatedRow.result.exit_code], ['succeeded', 0], JSON.stringify(updatedRow))
  assert.equal(updatedRow.result.stdout.trim().split('\n').length, 150)
  assert.deepEqual(versionsIn(box).toSorted(), [first, offered].toSorted())
  const { updates, allows } = JSON.parse((await box.uk('computer', 'status', '--json')).output)
  assert.deepEqual([updates, allows.length], [true, 7])
  // After a rollback by the operator, the machine reuses the stored version without downloading it.
  const before = proxy.paths.length
  proxy.to(server.origin)
  await until(
    async () => box.release(),
    (release) => release === first,
  )
  assert.deepEqual(
    proxy.paths.slice(before).filter((path) => path.includes('/files/')),
    [],
  )
})

test('a version with a new keeper replaces the old one while a shell keeps running', async () => {
  await using proxy = await tamperingProxy(server.origin)
  await using box = await installed(proxy)
  const id = box.computerId()
  const open = await alice.post(`/computers/${id}/terminal`, { action: 'open', argv: ['sh', '-i'] })
  const { terminal_id } = open.body.data
  await alice.post(`/computers/${id}/terminal`, { action: 'write', terminal_id, data: 'WORD=carried\n' })
  const keeper = () => new KeeperClient({ folder: join(box.folder, 'keeper') }).find()
  const before = (await keeper())!
  await using later = await updated('0.2.0', {
    'daemon/keeper/run.ts': ['KEEPER_PROTOCOL = 2', 'KEEPER_PROTOCOL = 3'],
  })
  proxy.to(later.origin)
  const after = await until(keeper, (hello) => hello?.protocol === 3)
  assert.deepEqual([after?.keeper_id, after?.pid, after?.generation], [before.keeper_id, before.pid, 1])
  const beyond = at(later)
  await until(
    () => beyond.post(`/computers/${id}/terminal`, { action: 'write', terminal_id, data: 'echo "it was $WORD"\n' }),
    ({ status }) => status === 200,
  )
  await until(
    async () =>
      (await beyond.post(`/computers/${id}/terminal`, { action: 'read', terminal_id, from: 0 })).body.data
        ?.data as string,
    (data) => data?.includes('it was carried'),
  )
  // No rollback here: the previous version can't talk to this keeper and says so, so the newer one stays.
  proxy.to(server.origin)
  await until(
    async () => box.log(),
    (log) => /rejected .*: .*older than the running keeper/.test(log),
  )
  const { body } = await alice.post(`/computers/${id}/exec`, { command: 'echo still' })
  assert.equal(body.data.stdout, 'still\n')
})

test('daemons with the previous protocol work and aren’t offered updates', async () => {
  const { id, credential } = await pairedBy(alice)
  const older = {
    protocol: 1,
    daemon_version: '0.1.0',
    os: 'linux',
    arch: 'x64',
    hostname: 'old',
    boot_id: null,
    keeper_id: null,
    allows: ['exec'],
  }
  using linked = await linkUp(server.origin, credential, async () => ({ found: true }), older)
  assert.deepEqual([linked.greeting.protocol, linked.greeting.update], [1, null])
  const signal = new AbortController().signal
  const { links } = server.app.engine
  assert.deepEqual(await links.ask(id, 'exec.kill', { key: 'x', signal: null }, { signal }), { found: true })
  // A current daemon with an unknown release is offered this server's.
  const release = 'a'.repeat(64)
  using newer = await linkUp(server.origin, credential, undefined, { ...older, protocol: 2, release })
  assert.equal((newer.greeting.update as { sha256: string }).sha256, await releaseAt(server.origin))
  for (const wrong of [{ release: 'latest' }, { failed_update: { sha256: release, why: 'x'.repeat(501) } }])
    await assert.rejects(linkUp(server.origin, credential, undefined, { ...older, protocol: 2, ...wrong }), /4002/)
})
