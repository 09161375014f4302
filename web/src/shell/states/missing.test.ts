import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wordsOf } from './words-of.ts'

test('of an address the words are searched for, and ids are not', () => {
  assert.equal(wordsOf('/reports/weekly-sales%20of%20May'), 'reports weekly sales of May')
  assert.equal(wordsOf('/chats/01KAJ8R3T2M6QK5W9V0XBZC4DE'), 'chats')
  assert.equal(wordsOf('/%E0%A4%A/x'), '%E0%A4%A x')
})
