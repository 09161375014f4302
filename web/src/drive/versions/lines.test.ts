import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hunksOf } from './lines.ts'

test('differences are told by lines, with their numbers in both texts and three lines around them', () => {
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

test('texts that have next to nothing in common are not compared to the end', () => {
  const one = Array.from({ length: 6_000 }, (_, at) => `a${at}`).join('\n')
  const other = Array.from({ length: 6_000 }, (_, at) => `b${at}`).join('\n')
  assert.equal(hunksOf(one, other), null)
})
