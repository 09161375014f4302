import assert from 'node:assert/strict'
import { test } from 'node:test'
import { headingLevels } from './heading-levels.ts'

const headings = (depths: readonly number[]) =>
  depths.map((depth) => ({ type: depth === 0 ? 'paragraph' : 'heading', depth }))

/** All sequences of `length` blocks: a paragraph or a heading of any depth. */
function* sequences(length: number): Generator<number[]> {
  if (length === 0) return yield []
  for (const rest of sequences(length - 1)) for (let depth = 0; depth <= 6; depth++) yield [depth, ...rest]
}

test('heading levels start at the first one and never skip, for every sequence of four blocks', () => {
  for (const first of [2, 3])
    for (const depths of sequences(4)) {
      const blocks = headings(depths)
      let last = first - 1
      for (const [at, level] of headingLevels(blocks, first).entries()) {
        assert.ok(level >= first && level <= Math.min(6, last + 1), `${depths.join()}: ${level} after ${last}`)
        if (blocks[at]!.type === 'heading') last = level
      }
    }
})

test('headings of the same depth under the same heading have the same level', () => {
  assert.deepEqual(headingLevels(headings([1, 2, 3, 2, 3, 1]), 2), [2, 3, 4, 3, 4, 2])
  assert.deepEqual(headingLevels(headings([3, 3, 0, 1, 5]), 2), [2, 2, 3, 2, 3])
})
