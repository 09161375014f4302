import assert from 'node:assert/strict'
import { test } from 'node:test'
import { meant } from './keys.ts'

const shortcuts = ['c', '?', 'g c', 'g d'].map((keys) => ({ keys }))
const typed = (key: string, at: number) => ({ key, at })

test('c opens a new chat, and g then c within a second opens the chats', () => {
  assert.equal(meant(shortcuts, null, typed('c', 0)).found?.keys, 'c')
  const { found, typed: after } = meant(shortcuts, null, typed('g', 0))
  assert.equal(found, null)
  assert.equal(meant(shortcuts, after, typed('c', 900)).found?.keys, 'g c')
  assert.equal(meant(shortcuts, after, typed('c', 1_100)).found?.keys, 'c')
  assert.equal(meant(shortcuts, after, typed('x', 500)).found, null)
})

test('page shortcuts override global ones, and unbound keys do nothing', () => {
  const here = { keys: 'c', here: true }
  assert.equal(meant<{ keys: string; here?: boolean }>([...shortcuts, here], null, typed('c', 0)).found, here)
  assert.deepEqual(meant(shortcuts, null, typed('y', 0)), { found: null, typed: null })
})
