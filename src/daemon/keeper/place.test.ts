import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { exec, hasExited, keeperCommand, openTerminal, startKeeper, execInput } from '#test/computers/keeper.ts'
import { until } from '#test/until.ts'
import { KeeperClient } from './client.ts'
import { socketPath } from './place.ts'

test('daemons that start keepers at the same time share one', async () => {
  await using keeper = await startKeeper()
  await keeper.kill()
  const clients = Array.from({ length: 5 }, () => keeper.another())
  const hellos = await Promise.all(clients.map((client) => client.hello()))
  assert.equal(new Set(hellos.map(({ keeper_id }) => keeper_id)).size, 1)
})

test('the socket is private to the user, also when the folder’s path is too long for a socket', async () => {
  const folder = join(mkdtempSync(join(tmpdir(), 'uk-long-')), 'x'.repeat(100), 'keeper')
  mkdirSync(folder, { recursive: true })
  const client = new KeeperClient({ folder, command: keeperCommand })
  const { pid } = await client.hello()
  assert.equal((await exec(client, execInput('true', ['true']))).end.exit_code, 0)
  assert.ok(Buffer.byteLength(socketPath(folder)) <= 107)
  assert.equal(statSync(socketPath(folder)).mode & 0o777, 0o600)
  assert.equal(statSync(join(socketPath(folder), '..')).mode & 0o777, 0o700)
  assert.equal(statSync(folder).mode & 0o777, 0o700)
  await client.close()
  process.kill(pid)
  await until(async () => hasExited(pid), Boolean)
  rmSync(join(folder, '../..'), { recursive: true, force: true })
})

test('an idle keeper exits only when it holds nothing and has no connections', async () => {
  await using keeper = await startKeeper()
  const { pid } = await keeper.client.hello()
  const over = join(keeper.folder, 'over')
  await openTerminal(keeper.client, 'holds', ['sh', '-c', `while [ ! -e ${over} ]; do sleep 0.05; done`])
  await keeper.client.close()
  // A second keeper, which holds nothing and whose last client leaves later, exits.
  await using other = await startKeeper()
  const idle = (await other.client.hello()).pid
  await other.client.close()
  await until(async () => hasExited(idle), Boolean)
  assert.ok(!hasExited(pid))
  writeFileSync(over, '')
  await until(async () => hasExited(pid), Boolean)
  assert.equal((await keeper.client.hello()).generation, 0)
})
