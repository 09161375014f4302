import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testServer } from '#test/server.ts'

test('an import keeps to the rights of its caller, and to the order of what it is given', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const message = { id: '1', parent_id: null, role: 'user', text: 'hello' }
  const chat = { source: 'chatgpt', external_id: 'x', title: 'T', messages: [message] }
  const other = await bob.post('/chats/import', { ...chat, workspace_id: alice.workspaceId })
  assert.equal(other.status, 404)
  const reader = await alice.key({ scopes: ['chat:read'] })
  assert.equal((await reader.post('/chats/import', chat)).status, 403)
  for (const [wrong, param] of [
    [{ ...chat, messages: [message, { ...message, id: '2', parent_id: '3' }] }, 'messages.1.parent_id'],
    [{ ...chat, messages: [message, message] }, 'messages.1.id'],
    [{ ...chat, head_id: '9' }, 'head_id'],
    [{ ...chat, source: 'Chat GPT' }, 'source'],
  ] as const) {
    const refused = await alice.post('/chats/import', wrong)
    assert.deepEqual([refused.status, refused.body.error.param], [400, param])
  }
  // Two at once make one.
  const both = await Promise.all([1, 2, 3].map(() => bob.post('/chats/import', chat)))
  assert.deepEqual(
    both.map(({ status }) => status),
    [201, 201, 201],
  )
  assert.equal(both.filter(({ body }) => body.data.created).length, 1)
  assert.equal(new Set(both.map(({ body }) => body.data.id)).size, 1)
  // The same chat of somebody else is another one.
  assert.notEqual((await alice.post('/chats/import', chat)).body.data.id, both[0]!.body.data.id)
})
