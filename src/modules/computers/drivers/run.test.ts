import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { until } from '#test/until.ts'
import { run } from './run.ts'

test('a program is killed with a child that keeps its output open', async () => {
  const { code, stdout } = await run(['sh', '-c', 'sleep 3000 & echo $!; exit 3'], { timeoutMs: 500 })
  assert.equal(code, 3)
  // A zombie until its parent reaps it.
  const state = async () => /\) (\w)/.exec(readStat(Number(stdout)))?.[1] ?? 'gone'
  await until(state, (letter) => letter === 'Z' || letter === 'gone')
})

test('a program that ignores signals is killed at its timeout', async () => {
  const { code } = await run(['sh', '-c', 'trap "" TERM INT HUP; while :; do sleep 1; done'], { timeoutMs: 300 })
  assert.equal(code, null)
})

test('an exit is reported at once, and a missing program with the reason', async () => {
  assert.deepEqual(await run(['sh', '-c', 'echo out; echo err >&2; exit 2']), {
    code: 2,
    stdout: 'out\n',
    bytes: 4,
    stderr: 'err\n',
  })
  assert.match((await run(['no-such-program-here'])).stderr, /ENOENT/)
})

function readStat(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1')
  } catch {
    return ''
  }
}
