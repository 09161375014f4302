import assert from 'node:assert/strict'
import { test } from 'node:test'
import { meant } from './keys.ts'

const shortcuts = ['c', '?', 'g c', 'g d'].map((keys) => ({ keys }))
const typed = (key: string, at: number) => ({ key, at })

test('c is a chat, and behind g it is the chats, for a second', () => {
  assert.equal(meant(shortcuts, null, typed('c', 0)).found?.keys, 'c')
  const { found, typed: after } = meant(shortcuts, null, typed('g', 0))
  assert.equal(found, null)
  assert.equal(meant(shortcuts, after, typed('c', 900)).found?.keys, 'g c')
  assert.equal(meant(shortcuts, after, typed('c', 1_100)).found?.keys, 'c')
  assert.equal(meant(shortcuts, after, typed('x', 500)).found, null)
})

test('what a page binds takes the place of what is bound everywhere, and a key nobody bound does nothing', () => {
  const here = { keys: 'c', here: true }
  assert.equal(meant<{ keys: string; here?: boolean }>([...shortcuts, here], null, typed('c', 0)).found, here)
  assert.deepEqual(meant(shortcuts, null, typed('y', 0)), { found: null, typed: null })
})
