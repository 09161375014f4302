import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wordsOf } from './words.ts'

test('tokens become words with their times', () => {
  const recognized = {
    text: 'Hello there',
    tokens: ['▁Hel', 'lo', ' th', 'ere', '.'],
    timestamps: [0.2, 0.4, 0.8, 0.9, 1.1],
  }
  assert.deepEqual(wordsOf(recognized, 2), [
    { word: 'Hello', start: 0.2, end: 0.8 },
    { word: 'there.', start: 0.8, end: 2 },
  ])
  assert.deepEqual(
    wordsOf({ text: '你好', tokens: ['你', '好'], timestamps: [0, 0.5] }, 1)?.map(({ word }) => word),
    ['你', '好'],
  )
  assert.equal(wordsOf({ text: 'Hello', tokens: ['Hello'], timestamps: [] }, 1), null)
})
