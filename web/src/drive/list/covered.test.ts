import assert from 'node:assert/strict'
import { test } from 'node:test'
import { covered } from './covered.ts'

const rows = { count: 5, columns: 1, pitch: 48, height: 48, gap: 0 }
/** Three columns of 100 pixels with gaps of 12; tiles of 176 in rows of 188. */
const tiles = { count: 7, columns: 3, pitch: 188, height: 176, gap: 12 }

test('a selection box covers the rows it touches, within the list', () => {
  assert.deepEqual(covered({ left: 10, top: 50, right: 20, bottom: 100 }, 300, rows), [1, 2])
  assert.deepEqual(covered({ left: 10, top: -40, right: 20, bottom: 900 }, 300, rows), [0, 1, 2, 3, 4])
  assert.deepEqual(covered({ left: 10, top: 400, right: 20, bottom: 900 }, 300, rows), [])
})

test('a selection box covers the tiles it touches, not their neighbors or gaps', () => {
  assert.deepEqual(covered({ left: 90, top: 100, right: 130, bottom: 200 }, 324, tiles), [0, 1, 3, 4])
  assert.deepEqual(covered({ left: 101, top: 0, right: 111, bottom: 500 }, 324, tiles), [])
  assert.deepEqual(covered({ left: 0, top: 178, right: 324, bottom: 186 }, 324, tiles), [])
  assert.deepEqual(covered({ left: 0, top: 380, right: 324, bottom: 500 }, 324, tiles), [6])
})
