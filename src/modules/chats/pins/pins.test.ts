import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Caller, testServer } from '#test/server.ts'

test('pins are private to the user, and unreadable chats can’t be pinned', async () => {
  await using server = await testServer()
  const [alice, bob, carol] = [await server.person('Alice'), await server.person('Bob'), await server.person('Carol')]
  const createChat = async (workspace_id: string): Promise<string> =>
    (await alice.post('/chats', { workspace_id })).body.data.id
  const shop = (await alice.post('/workspaces', { name: 'Pins' })).body.data.id
  const invited = await alice.post(`/workspaces/${shop}/invitations`, { email: bob.email, role: 'viewer' })
  await bob.post('/invitations/accept', { token: invited.body.data.token })
  const [first, second, third] = await Promise.all([1, 2, 3].map(() => createChat(shop)))
  const pinned = async (who: Caller, query = ''): Promise<string[]> =>
    (await who.get(`/app/chat-pins${query}`)).body.data.map(({ id }: { id: string }) => id)
  for (const id of [first, second, third, first]) {
    const answer = await alice.post(`/app/chat-pins/${id}`)
    assert.deepEqual([answer.status, answer.body.data.id], [200, id], answer.text)
  }
  assert.deepEqual(await pinned(alice), [third, second, first])
  const page = (await alice.get('/app/chat-pins?limit=2')).body
  assert.deepEqual(await pinned(alice, `?limit=2&cursor=${page.pagination.next_cursor}`), [first])
  assert.deepEqual(await pinned(bob), [])
  await bob.post(`/app/chat-pins/${second}`)
  assert.deepEqual(await pinned(bob), [second])
  assert.equal((await carol.post(`/app/chat-pins/${second}`)).status, 404)
  await alice.delete(`/app/chat-pins/${third}`)
  await alice.post(`/chats/${second}/archive`)
  assert.deepEqual(await pinned(alice), [second, first])
  // Members who leave the workspace no longer see their pins there.
  await alice.delete(`/workspaces/${shop}/members/${bob.id}`)
  assert.deepEqual(await pinned(bob), [])
  await alice.delete(`/chats/${first}`)
  assert.deepEqual(await pinned(alice), [second])
})
