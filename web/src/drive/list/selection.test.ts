import assert from 'node:assert/strict'
import { test } from 'node:test'
import { all, click, keep, nothing, step } from './selection.ts'

const ids = ['a', 'b', 'c', 'd', 'e']
const of = ({ selected }: { selected: ReadonlySet<string> }): string => [...selected].join('')

test('a range extends from the anchor to the clicked row in either direction', () => {
  const first = click(nothing, ids, 'b', 'alone')
  const down = click(first, ids, 'd', 'range')
  assert.equal(of(down), 'bcd')
  assert.equal(of(click(down, ids, 'a', 'range')), 'ab')
  assert.equal(of(click(down, ids, 'c', 'toggle')), 'bd')
  assert.equal(of(click(nothing, ids, 'c', 'range')), 'c')
})

test('the cursor stops at both ends, and Shift extends the range', () => {
  assert.equal(step(nothing, ids, 1, false).cursor, 'a')
  assert.equal(step(nothing, ids, -1, false).cursor, 'e')
  const c = click(nothing, ids, 'c', 'alone')
  const further = step(step(c, ids, 1, true), ids, 9, true)
  assert.deepEqual([of(further), further.cursor], ['cde', 'e'])
  assert.equal(of(step(further, ids, -4, true)), 'abc')
  assert.equal(of(step(c, ids, 1, false)), 'c')
})

test('removed rows are dropped from the selection', () => {
  const two = keep(all(click(nothing, ids, 'b', 'alone'), ids), ['a', 'c'])
  assert.deepEqual([of(two), two.cursor, two.anchor], ['ac', null, null])
  assert.equal(keep(two, ids), two)
})
