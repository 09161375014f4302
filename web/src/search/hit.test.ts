import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pathOf, piecesOf } from './hit.ts'

test('a message leads to its chat, and everything else to its own page', () => {
  assert.equal(pathOf({ type: 'message', id: 'm', parent_id: 'c' }), '/chats/c')
  assert.equal(pathOf({ type: 'note', id: 'n', parent_id: null }), '/drive/file/n')
  assert.equal(pathOf({ type: 'agent', id: 'a', parent_id: null }), '/agents/a')
})

test('what was found stands apart, also where the offsets overlap or lie outside', () => {
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
