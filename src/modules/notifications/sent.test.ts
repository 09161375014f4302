import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testServer } from '#test/server.ts'
import { join } from '#test/workspaces/team.ts'
import { types } from './preferences/types.ts'

test('messages from people link only to this server and never pretend to come from it', async () => {
  await using server = await testServer()
  const [alice, bob] = [await server.person('Alice'), await server.person('Bob')]
  const team = (await alice.post('/workspaces', { name: 'Team' })).body.data.id
  await join(alice, bob, team, { role: 'member' })
  const addresses = [
    'javascript:alert(1)',
    'https://evil.example/login',
    '//evil.example',
    '/\\evil.example',
    '/app\\..\\x',
    '/ /evil.example',
    'app/chats',
    '',
  ]
  for (const user_id of [bob.id, alice.id]) {
    for (const action_url of addresses) {
      const answer = await alice.post('/notifications', { user_id, title: 'x', action_url })
      assert.deepEqual([answer.status, answer.body.error?.param], [400, 'action_url'], action_url)
    }
    for (const type of [...Object.keys(types).filter((type) => type !== 'message'), 'account.deleted', 'cap']) {
      const answer = await alice.post('/notifications', { user_id, title: 'x', type })
      assert.deepEqual([answer.status, answer.body.error?.param], [400, 'type'], type)
    }
    for (const type of ['message', 'build.failed', 'accounting.closed'])
      assert.equal((await alice.post('/notifications', { user_id, title: 'x', type })).status, 201, type)
  }
})
