import assert from 'node:assert/strict'
import { test } from 'node:test'
import { playAccess } from './access-model.ts'

test('whatever four people do with chats, agents and workspaces for long, each sees what the rules say, and the others do not know of it', async (t) => {
  const found = await playAccess({ runs: 1_000, length: 40 })
  t.diagnostic(JSON.stringify(found))
  assert.ok(found.seen > 10_000 && found.hidden > 10_000)
})
