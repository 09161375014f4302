import assert from 'node:assert/strict'
import { test } from 'node:test'
import { upload } from '#test/drive/drive.ts'
import { testServer } from '#test/server.ts'

test('an import respects the caller’s permissions and the message order', async () => {
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
  // Concurrent imports create one chat.
  const both = await Promise.all([1, 2, 3].map(() => bob.post('/chats/import', chat)))
  assert.deepEqual(
    both.map(({ status }) => status),
    [201, 201, 201],
  )
  assert.equal(both.filter(({ body }) => body.data.created).length, 1)
  assert.equal(new Set(both.map(({ body }) => body.data.id)).size, 1)
  // An import is identified by its origin, regardless of its time.
  const { id } = both[0]!.body.data
  for (const created_at of ['2025-01-01T00:00:00.000Z', '2024-06-01T00:00:00.000Z']) {
    const again = (await bob.post('/chats/import', { ...chat, created_at })).body.data
    assert.deepEqual([again.id, again.created], [id, false])
  }
  const fresh = { ...chat, external_id: 'y', created_at: '1970-01-01T00:00:00.000Z' }
  const dry = (await bob.post('/chats/import', { ...fresh, dry_run: true })).body.data
  assert.deepEqual([dry.id, dry.created, dry.message_count], [null, true, 1])
  const imported = (await bob.post('/chats/import', fresh)).body.data
  assert.ok(imported.created)
  assert.equal((await bob.get('/chats')).body.data[0].id, imported.id, 'what has no time is of today')
  await bob.delete(`/chats/${imported.id}`)
  await bob.delete(`/chats/${imported.id}/permanent-delete`)
  assert.ok((await bob.post('/chats/import', fresh)).body.data.created, 'what was deleted for good is brought again')
  // Files that the importer can't read are rejected.
  const secret = await upload(alice, { workspace_id: alice.workspaceId }, Buffer.from('x'), 'x.txt')
  const stolen = { ...fresh, external_id: 'z', messages: [{ ...message, files: [secret.body.data.id] }] }
  const refused = await bob.post('/chats/import', stolen)
  assert.deepEqual([refused.status, refused.body.error.param], [404, 'messages.0.files.0'])
  assert.ok(
    (await bob.post('/chats/import', { ...stolen, dry_run: true })).body.data.created,
    'and nothing was kept of it',
  )
  // Another user's import of the same chat is separate.
  assert.notEqual((await alice.post('/chats/import', chat)).body.data.id, both[0]!.body.data.id)
})

test('a file referenced by several messages is attached once, and the number of references is limited', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const team = (await alice.post('/workspaces', { name: 'Team' })).body.data.id
  const file = (await upload(alice, { workspace_id: alice.workspaceId }, Buffer.from('x'), 'x.txt')).body.data.id
  const chat = (messages: number, files: number) => ({
    source: 'chatgpt',
    external_id: 'x',
    title: 'T',
    workspace_id: team,
    messages: Array.from({ length: messages }, (_, i) => ({
      id: `${i}`,
      parent_id: i === 0 ? null : `${i - 1}`,
      role: 'user',
      text: 'look',
      files: Array.from({ length: files }, () => file),
    })),
  })
  const many = await alice.post('/chats/import', chat(11, 100))
  assert.deepEqual([many.status, many.body.error.param], [400, 'messages'])
  assert.equal((await alice.post('/chats/import', chat(3, 2))).status, 201)
  const copies = (await alice.get(`/drive/files?workspace_id=${team}`)).body.data
  assert.deepEqual(
    copies.filter(({ kind }: any) => kind === 'file').map(({ name }: any) => name),
    ['x.txt'],
  )
})
