import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readTurns } from './read-turns.ts'

test('a few long sources continue per event-loop turn, alternating between accounts', async () => {
  const resumeOrder: string[] = []
  const source = (account: string) => ({ pause: () => {}, resume: () => void resumeOrder.push(account) })
  for (let n = 0; n < 100; n++) readTurns.pace(source('many'), 'many')
  for (const account of ['one', 'other']) readTurns.pace(source(account), account)
  const perTurn: number[] = []
  for (let before = 0; before < 102; before = resumeOrder.length) {
    await new Promise(setImmediate)
    if (resumeOrder.length > before) perTurn.push(resumeOrder.length - before)
  }
  assert.ok(Math.max(...perTurn) <= 4, String(perTurn))
  assert.deepEqual(resumeOrder.slice(0, 3), ['many', 'one', 'other'])
})

test('a paused source waits once, however often it is paced', async () => {
  let resumes = 0
  const source = { pause: () => {}, resume: () => void resumes++ }
  for (let n = 0; n < 10; n++) readTurns.pace(source, 'anybody')
  const passOrder: string[] = []
  readTurns.pace({ pause: () => {}, resume: () => void passOrder.push('another') }, 'anybody')
  while (passOrder.length === 0) await new Promise(setImmediate)
  assert.equal(resumes, 1)
})
