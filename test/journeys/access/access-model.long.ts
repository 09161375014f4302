import assert from 'node:assert/strict'
import { test } from 'node:test'
import { playAccess } from './access-model.ts'

test('random actions of four users on chats, agents and workspaces never show more or less than the access rules allow', async (t) => {
  const found = await playAccess({ runs: 1_000, length: 40 })
  t.diagnostic(JSON.stringify(found))
  assert.ok(found.seen > 10_000 && found.hidden > 10_000)
})
