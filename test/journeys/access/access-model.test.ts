// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { playAccess } from './access-model.ts'

test('random actions of four users on chats, agents and workspaces never show more or less than the access rules allow', async (t) => {
  const found = await playAccess({ runs: 30, length: 10, listers: 1 })
  t.diagnostic(JSON.stringify(found))
  assert.ok(found.seen > 180 && found.hidden > 90)
})
