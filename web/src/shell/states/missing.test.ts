import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wordsOf } from './words-of.ts'

test('the search on the not-found page uses the words of the address, without IDs', () => {
  assert.equal(wordsOf('/reports/weekly-sales%20of%20May'), 'reports weekly sales of May')
  assert.equal(wordsOf('/chats/01KAJ8R3T2M6QK5W9V0XBZC4DE'), 'chats')
  assert.equal(wordsOf('/%E0%A4%A/x'), '%E0%A4%A x')
})
