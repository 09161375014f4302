import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Caller, caller, testServer } from '#test/server.ts'

test('alice sees which model answers where she chose none, and it does: the one of her settings, else of the instance, else one that she may use', async () => {
  await using server = await testServer({ environment: { UK_SIM: 'on' } })
  await using other = await server.twin({ UK_DEFAULT_MODEL: 'sim/script' })
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const there = caller(other.origin, alice.headers)
  const seen = (who: Caller) => who.get(`/app/chat-model?workspace_id=${alice.workspaceId}`)
  const answers = async (who: Caller, model: string): Promise<void> => {
    const shown = await seen(who)
    assert.deepEqual([shown.status, shown.body.data?.model], [200, model], shown.text)
    const chat = (await alice.post('/chats', {})).body.data
    const sent = await who.post(`/chats/${chat.id}/messages`, { content: '{"steps":[{"text":"Yes."}]}' })
    assert.deepEqual([sent.status, sent.body.data?.run.model], [200, model], sent.text)
  }
  await answers(alice, 'sim/echo')
  await answers(there, 'sim/script')
  const key = await alice.key({ allowed_models: ['sim/echo'] })
  await answers(caller(other.origin, key.headers), 'sim/echo')
  await alice.patch('/settings', { default_model: 'sim/script' })
  await answers(alice, 'sim/script')
  await alice.patch('/settings', { default_model: null })

  // Where a run would find none, none is named.
  const held = await alice.key({ allowed_models: ['sim/script'] })
  assert.equal((await seen(held)).body.data.model, null)
  const chat = (await alice.post('/chats', {})).body.data
  const refused = await held.post(`/chats/${chat.id}/messages`, { content: 'Hello' })
  assert.deepEqual([refused.status, refused.body.error.code], [400, 'missing_parameter'], refused.text)
  assert.equal((await seen(bob)).status, 404)
})
