import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OTHERS, scaleFor, stackOf } from './stack.ts'
import { viewIn } from '../shared/views/usage.ts'
import { daysUpTo } from './days.ts'

const days = ['2026-11-19', '2026-11-20', '2026-11-21']

test('every day has a column, the largest series comes first, and totals match the parts', () => {
  const stack = stackOf(
    [
      { day: days[0]!, name: 'a', value: 1 },
      { day: days[2]!, name: 'b', value: 5 },
      { day: days[2]!, name: null, value: 2 },
      { day: '2020-01-01', name: 'b', value: 100 },
    ],
    days,
    'a session',
  )
  assert.deepEqual(stack.names, ['b', 'a session', 'a'])
  assert.deepEqual(
    stack.days.map(({ total }) => total),
    [1, 0, 7],
  )
  assert.equal(stack.peak, 7)
})

test('series beyond the sixth are merged without losing values', () => {
  const parts = Array.from({ length: 9 }, (_, i) => ({ day: days[1]!, name: `model ${i}`, value: i + 1 }))
  const stack = stackOf(parts, days, '')
  assert.equal(stack.names.length, 6)
  assert.equal(stack.names.at(-1), OTHERS)
  assert.deepEqual(stack.days[1]!.values, [9, 8, 7, 6, 5, 1 + 2 + 3 + 4])
})

test('scales end at a round number', () => {
  assert.deepEqual([0.034, 0.9, 1, 7, 12, 451].map(scaleFor), [0.05, 1, 1, 10, 20, 500])
  assert.equal(scaleFor(0), 1)
})

test('any address parses to a view, and days count back from today', () => {
  assert.deepEqual(viewIn({ days: '7', by: 'nonsense', whose: 3 }), {
    days: 7,
    by: 'model',
    measure: 'cost',
    whose: 'mine',
  })
  assert.deepEqual(daysUpTo('2026-03-01', 3), ['2026-02-27', '2026-02-28', '2026-03-01'])
})
