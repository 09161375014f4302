import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message } from '../queries.ts'
import { branchTo, followingIn, leafBelow, siblingsOf } from './tree.ts'

// q1 → a1 → q2 → a2, with another version of q2, which has an answer too, and another version of a1.
const links = { q1: null, a1: 'q1', q2: 'a1', a2: 'q2', q3: 'a1', a3: 'q3', a4: 'q1' }
const messages = new Map(
  Object.entries(links).map(([id, parent_id], seq) => [id, { id, parent_id, seq } as unknown as Message]),
)
const ids = (list: readonly Message[]): string => list.map(({ id }) => id).join(' ')

test('a branch contains the loaded messages up to its end', () => {
  assert.equal(ids(branchTo(messages, 'a3')), 'q1 a1 q3 a3')
  assert.equal(ids(branchTo(messages, null)), '')
  const newest = new Map([...messages].slice(2))
  assert.equal(ids(branchTo(newest, 'a2')), 'q2 a2')
})

test('a message has its siblings and its newest continuation', () => {
  const following = followingIn(messages)
  assert.equal(ids(siblingsOf(following, messages.get('q2')!)), 'q2 q3')
  assert.equal(ids(siblingsOf(following, messages.get('a1')!)), 'a1 a4')
  assert.equal(leafBelow(following, 'a1'), 'a3')
  assert.equal(leafBelow(following, 'q2'), 'a2')
  assert.equal(leafBelow(following, 'a4'), 'a4')
  // In any order, and with the same list for each row.
  const reversed = followingIn(new Map([...messages].toReversed()))
  assert.equal(ids(siblingsOf(reversed, messages.get('q3')!)), 'q2 q3')
  assert.equal(siblingsOf(following, messages.get('q2')!), siblingsOf(following, messages.get('q3')!))
})
