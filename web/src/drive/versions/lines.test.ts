import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hunksOf } from './lines.ts'

test('diffs have line numbers in both texts and three context lines', () => {
  const lines = Array.from({ length: 30 }, (_, at) => `line ${at + 1}`)
  const after = lines.with(9, 'another').toSpliced(25, 1)
  const hunks = hunksOf(lines.join('\n'), after.join('\n'))!
  assert.deepEqual(
    hunks.map(({ at, lines: of }) => [at, of.length]),
    [
      [7, 8],
      [23, 7],
    ],
  )
  assert.deepEqual(
    hunks[0]!.lines.filter(({ is }) => is !== 'same'),
    [
      { is: 'removed', text: 'line 10', before: 10, after: null },
      { is: 'added', text: 'another', before: null, after: 10 },
    ],
  )
  assert.deepEqual(hunksOf('same\n', 'same\n'), [])
})

test('very different texts aren’t compared completely', () => {
  const one = Array.from({ length: 6_000 }, (_, at) => `a${at}`).join('\n')
  const other = Array.from({ length: 6_000 }, (_, at) => `b${at}`).join('\n')
  assert.equal(hunksOf(one, other), null)
})
