import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readTurns } from './read-turns.ts'

test('long sources go on a few per turn of the event loop, the accounts one after the other', async () => {
  const resumed: string[] = []
  const source = (account: string) => ({ pause: () => {}, resume: () => void resumed.push(account) })
  for (let n = 0; n < 100; n++) readTurns.pace(source('many'), 'many')
  for (const account of ['one', 'other']) readTurns.pace(source(account), account)
  const perTurn: number[] = []
  for (let before = 0; before < 102; before = resumed.length) {
    await new Promise(setImmediate)
    if (resumed.length > before) perTurn.push(resumed.length - before)
  }
  assert.ok(Math.max(...perTurn) <= 4, String(perTurn))
  assert.deepEqual(resumed.slice(0, 3), ['many', 'one', 'other'])
})

test('a paused source waits once, however often it is paced', async () => {
  let resumes = 0
  const source = { pause: () => {}, resume: () => void resumes++ }
  for (let n = 0; n < 10; n++) readTurns.pace(source, 'anybody')
  const passed: string[] = []
  readTurns.pace({ pause: () => {}, resume: () => void passed.push('another') }, 'anybody')
  while (passed.length === 0) await new Promise(setImmediate)
  assert.equal(resumes, 1)
})
