import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import {
  call,
  exec,
  hasExited,
  openTerminal,
  startKeeper,
  type TestKeeper,
  Viewer,
  execInput,
} from '#test/computers/keeper.ts'
import { until } from '#test/until.ts'

const HOUR = 3_600_000
const folder = mkdtempSync(join(tmpdir(), 'uk-clock-'))
const clock = join(folder, 'ahead')
const set = (ahead: number): void => writeFileSync(clock, String(ahead))
const shim = pathToFileURL(join(import.meta.dirname, '../../../../test/computers/clock.ts'))
shim.searchParams.set('file', clock)

let keeper: TestKeeper
before(async () => {
  set(0)
  keeper = await startKeeper(['--import', shim.href])
})
after(async () => {
  await keeper[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

const sh = (script: string): string[] => ['sh', '-c', script]
/** Another program in its place, which must not take the time of day for a measure either. */
const replaced = (): Promise<unknown> => keeper.client.replace()

test('timeouts are exact when the wall clock jumps', async () => {
  const go = join(folder, 'go')
  const long = keeper.client.open(
    'exec',
    execInput('long', sh(`while [ ! -e ${go} ]; do sleep 0.02; done; exit 7`), { timeout_ms: 60_000 }),
  )
  const short = keeper.client.open('exec', execInput('short', ['sleep', '1000'], { timeout_ms: 2_500 }))
  await Promise.all([(await long)[Symbol.asyncIterator]().next(), (await short)[Symbol.asyncIterator]().next()])
  set(-5 * HOUR)
  await replaced()
  set(5 * HOUR)
  await replaced()
  set(-40 * HOUR)
  await replaced()
  const result = await exec(keeper.client, execInput('short', ['false']))
  assert.deepEqual([result.end.timed_out, result.end.signal], [true, 'SIGTERM'])
  assert.ok(result.end.duration_ms >= 2_500 && result.end.duration_ms < 60_000, String(result.end.duration_ms))
  writeFileSync(go, '')
  const { end } = await exec(keeper.client, execInput('long', ['false']))
  assert.deepEqual([end.exit_code, end.timed_out], [7, false])
  assert.ok(end.duration_ms >= 0 && end.duration_ms < 60_000, String(end.duration_ms))
})

test('unread output is kept and ended commands stay readable after the wall clock jumps by days', async () => {
  set(0)
  const caller = keeper.another()
  const left = await caller.open('exec', execInput('left', sh('echo kept; exit 3')))
  const { value } = await left[Symbol.asyncIterator]().next()
  await caller.close()
  await until(async () => hasExited((value as { event: { pid: number } }).event.pid), Boolean)
  await openTerminal(keeper.client, 'ended', sh('echo seen; exit 4'))
  const viewer = await Viewer.attach(keeper.client, 'ended')
  await viewer.ended
  set(100 * HOUR)
  await exec(keeper.client, execInput('another', ['true']))
  const { terminals } = await call(keeper.client, 'terminal.list', {})
  assert.deepEqual(
    terminals.map(({ terminal_id, status, exit_code }) => [terminal_id, status, exit_code]),
    [['ended', 'ended', 4]],
  )
  const late = await Viewer.attach(keeper.client, 'ended')
  await late.ended
  assert.match(late.text(), /seen/)
  const { stdout, end } = await exec(keeper.client, execInput('left', ['false']))
  assert.deepEqual([stdout, end.exit_code], ['kept\n', 3])
})

test('nothing runs twice, however far the clock was set forward before the keeper was killed', async () => {
  set(0)
  const file = join(folder, 'count')
  const input = execInput('once', sh(`echo ran >> ${file}; exit 5`))
  assert.equal((await exec(keeper.client, input)).end.exit_code, 5)
  set(1_000 * HOUR)
  for (let time = 0; time < 2; time++) {
    await keeper.kill()
    assert.equal((await exec(keeper.client, input)).end.exit_code, 5)
  }
  assert.equal(readFileSync(file, 'utf8'), 'ran\n')
})
