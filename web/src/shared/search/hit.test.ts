import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pathOf, piecesOf } from './hit.ts'

test('messages link to their chat, and other results to their own page', () => {
  assert.equal(pathOf({ type: 'message', id: 'm', parent_id: 'c' }), '/chats/c')
  assert.equal(pathOf({ type: 'note', id: 'n', parent_id: null }), '/drive/file/n')
  assert.equal(pathOf({ type: 'agent', id: 'a', parent_id: null }), '/agents/a')
})

test('matches are highlighted, and overlapping or out-of-range offsets are ignored', () => {
  const highlights = [
    { field: 'snippet' as const, start: 4, end: 8 },
    { field: 'snippet' as const, start: 0, end: 3 },
    { field: 'snippet' as const, start: 6, end: 9 },
    { field: 'title' as const, start: 0, end: 2 },
    { field: 'snippet' as const, start: 40, end: 44 },
  ]
  assert.deepEqual(piecesOf('red lake at dawn', { highlights }, 'snippet'), [
    { text: 'red', found: true },
    { text: ' ', found: false },
    { text: 'lake', found: true },
    { text: ' at dawn', found: false },
  ])
})
