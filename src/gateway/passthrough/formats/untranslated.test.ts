import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openaiImages } from './untranslated.ts'

test('images are counted by a number in JSON or a form; any other value counts as one', () => {
  const count = (n: unknown) => openaiImages[0]!.media!.images!({ n })
  assert.deepEqual([3, '3', undefined, null, 0, -1, '', 'x'].map(count), [3, 3, 1, 1, 1, 1, 1, 1])
  assert.equal(count({ toString: 1, valueOf: 1 }), 1)
  assert.equal(count(1e9), 1_000_000)
})
