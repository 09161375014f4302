// Bundles program versions and runs each on trial for ten seconds.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { versionsIn } from '#test/computers/installed.ts'
import { tamperingProxy } from '#test/computers/tampering.ts'
import { releaseAt, updating } from '#test/computers/updating.ts'
import type { Caller } from '#test/server.ts'
import { until } from '#test/until.ts'

const { server, updated, installed, show, at } = await updating()

test('a version that fails to run or crashes after linking is rolled back and never retried', async () => {
  await using proxy = await tamperingProxy(server.origin)
  await using box = await installed(proxy)
  const id = box.computerId()
  const [pid, first] = [box.pid(), box.release()]
  const echo = async (by: Caller) =>
    (await by.post(`/computers/${id}/exec`, { command: 'echo here' })).body.data?.stdout as string
  {
    await using broken = await updated('0.2.0', {
      'interfaces/cli/commands/computer-program.ts': ['loadAddon(ownAddon)', "throw new Error('this one is broken')"],
    })
    proxy.to(broken.origin)
    await until(
      async () => box.log(),
      (log) => /rejected .*this one is broken/.test(log),
    )
    assert.equal(await echo(at(broken)), 'here\n')
    // The previous program reports why, also on its next link, and isn't offered the update again.
    proxy.to(broken.origin)
    await until(
      () => show(id),
      (row) => row.connection === 'online',
    )
  }
  await using crashes = await updated('0.3.0', {
    'daemon/run.ts': ['parts.ready?.()', 'parts.ready?.()\n      setTimeout(() => process.exit(9), 300)'],
  })
  proxy.to(crashes.origin)
  await until(
    async () => box.log(),
    (log) => /failed; keeping the current version: it exited with code 9/.test(log),
  )
  await until(
    () => show(id),
    (row) => row.connection === 'online' && row.daemon_version !== '0.3.0',
  )
  assert.equal(await echo(at(crashes)), 'here\n')
  assert.deepEqual([box.pid(), box.release()], [pid, first])
  const { failed_update } = JSON.parse((await box.uk('computer', 'status', '--json')).output)
  assert.equal(failed_update.sha256, await releaseAt(crashes.origin))
  const trialCount = () => box.log().match(/trying version/g)!.length
  proxy.to(crashes.origin)
  const connected = () => box.log().match(/connected to/g)!.length
  const links = connected()
  await until(
    async () => connected(),
    (count) => count > links,
  )
  assert.equal(trialCount(), 1)
})

test('after a daemon is killed during a trial, the next one updates', async () => {
  await using proxy = await tamperingProxy(server.origin)
  await using box = await installed(proxy)
  const [pid, first] = [box.pid()!, box.release()]
  await using later = await updated('0.2.0')
  proxy.to(later.origin)
  await until(
    async () => box.pid(),
    (holder) => holder !== null && holder !== pid,
  )
  process.kill(pid, 'SIGKILL')
  await until(
    async () => box.pid(),
    (holder) => holder === null,
  )
  assert.equal(box.release(), first)
  const { code, output } = await box.uk('computer', 'run', '--detach')
  assert.equal(code, 0, output)
  const offered = await releaseAt(later.origin)
  await until(
    async () => box.release(),
    (release) => release === offered,
  )
})

test('updates must match their hash and come from the server: altered or redirected downloads are refused', async () => {
  await using proxy = await tamperingProxy(server.origin)
  await using box = await installed(proxy)
  const first = box.release()
  await using later = await updated('0.2.0')
  await using elsewhere = await tamperingProxy(later.origin)
  proxy.redirect(/\/files\//, elsewhere.origin)
  proxy.to(later.origin)
  await until(
    async () => box.log(),
    (log) => /can't download .* answered with 302; retrying/.test(log),
  )
  assert.deepEqual(elsewhere.paths, [])
  proxy.redirect(null, '')
  proxy.spoil(/\/files\//)
  await until(
    async () => box.log(),
    (log) => /rejected .*: (the hash doesn't match|the download is larger)/.test(log),
  )
  assert.deepEqual([versionsIn(box), box.release()], [[first], first])
})

test('updates are refused by daemons that don’t allow commands or disabled updates', async () => {
  await using proxy = await tamperingProxy(server.origin)
  await using reads = await installed(proxy, ['--allow', 'fs_read', '--root', '/tmp'])
  await using pinned = await installed(proxy, ['--no-update'])
  await using asks = await installed(proxy, ['--allow', 'fs_read', '--root', '/tmp', '--update'])
  await using later = await updated('0.2.0')
  const offered = await releaseAt(later.origin)
  proxy.paths.length = 0
  proxy.to(later.origin)
  await until(
    async () => asks.release(),
    (release) => release === offered,
  )
  for (const box of [reads, pinned]) {
    await until(
      () => show(box.computerId()),
      (row) => row.connection === 'online',
    )
    assert.equal(JSON.parse((await box.uk('computer', 'status', '--json')).output).updates, false)
    assert.doesNotMatch(box.log(), /offers/)
    assert.notEqual(box.release(), offered)
  }
  assert.deepEqual((await show(asks.computerId())).allows, ['fs_read'])
})
