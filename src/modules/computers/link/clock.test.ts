// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { proxyTo } from '#test/link/proxy.ts'
import { daemonHome } from '#test/link/run-daemon.ts'
import { startDaemon } from '#test/link/start-daemon.ts'
import { type Person, type TestServer, testServer } from '#test/server.ts'
import { PATIENCE_MS, until } from '#test/until.ts'

const HOUR = 3_600_000
const folder = mkdtempSync(join(tmpdir(), 'uk-clock-'))
const clock = join(folder, 'ahead')
const set = (ahead: number): void => writeFileSync(clock, String(ahead))
const shim = pathToFileURL(join(import.meta.dirname, '../../../../test/computers/clock.ts'))
shim.searchParams.set('file', clock)

let server: TestServer
let alice: Person

before(async () => {
  server = await testServer()
  alice = await server.person('Alice')
})
after(async () => {
  await server[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

test('wrong clocks, clock jumps and sleep don’t affect links, commands, terminals or locks', async () => {
  await using proxy = await proxyTo(server.origin)
  await using home = daemonHome()
  set(-7 * HOUR)
  await using daemon = await startDaemon(home, proxy.origin, alice, [], ['env', `NODE_OPTIONS=--import=${shim.href}`])
  const at = `/computers/${daemon.id}`
  assert.ok(await server.app.engine.links.online(daemon.id, PATIENCE_MS))
  const ask = async (path: string, body: object) => {
    const answer = await alice.post(`${at}/${path}`, body)
    assert.equal(answer.status, 200, answer.text)
    return answer.body.data
  }
  const epoch = async () => {
    const { rows } = await server.app.engine.postgres.pool.query('select link_epoch from computers where id = $1', [
      daemon.id,
    ])
    return rows[0].link_epoch
  }
  const { clock_difference_ms } = await ask('test-connection', {})
  assert.ok(Math.abs(clock_difference_ms + 7 * HOUR) < HOUR, String(clock_difference_ms))
  const first = await epoch()
  const { terminal_id } = await ask('terminal', { action: 'open', argv: ['cat'] })

  const go = join(folder, 'go')
  const result = ask('exec', {
    command: `while [ ! -e ${go} ]; do sleep 0.05; done; echo done; exit 3`,
    timeout_ms: 60_000,
  })
  set(9 * HOUR)
  await until(
    async () => (await ask('test-connection', {})).clock_difference_ms as number,
    (difference) => Math.abs(difference - 9 * HOUR) < HOUR,
  )
  await ask('exec', { command: `touch ${go}` })
  const ran = await result
  assert.deepEqual([ran.exit_code, ran.timed_out, ran.stdout, ran.duration_ms < 60_000], [3, false, 'done\n', true])
  assert.equal(await epoch(), first)

  // The lid is closed: processes freeze, the network drops, and the machine wakes days later.
  const keeper = (await home.keeper().hello()).pid
  const [dreams, wake] = [join(folder, 'dreams'), join(folder, 'wake')]
  const command = `touch ${dreams}; while [ ! -e ${wake} ]; do sleep 0.05; done; echo awake`
  const asleep = ask('exec', { command, timeout_ms: 60_000 })
  await until(async () => existsSync(dreams), Boolean)
  for (const pid of [daemon.pid!, keeper]) process.kill(pid, 'SIGSTOP')
  proxy.stall('now')
  set(90 * HOUR)
  for (const pid of [daemon.pid!, keeper]) process.kill(pid, 'SIGCONT')
  writeFileSync(wake, '')
  const woken = await asleep
  assert.deepEqual([woken.exit_code, woken.timed_out, woken.stdout], [0, false, 'awake\n'])
  assert.ok((await epoch()) > first, 'it has noticed by its clock that its link is dead')
  const { status } = await ask('terminal', { action: 'read', terminal_id })
  assert.equal(status, 'open')

  // Rotated credentials expire by the server's clock only.
  const rotated = await alice.post(`${at}/rotate-credential`, { overlap_seconds: 0 })
  assert.equal(rotated.status, 200, rotated.text)
  set(-2_000 * HOUR)
  proxy.cut()
  await until(
    async () => (await alice.post(`${at}/exec`, { command: 'echo back' })).body.data?.stdout,
    (stdout) => stdout === 'back\n',
  )
  assert.ok(readFileSync(join(home.folder, 'computer.json'), 'utf8').includes('"previous"'))
})
