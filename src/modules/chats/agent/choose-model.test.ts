import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Caller, caller, testServer } from '#test/server.ts'

test('without a chosen model, the shown and used model comes from settings, then the instance, then the usable models', async () => {
  await using server = await testServer({ environment: { UK_SIM: 'on' } })
  await using other = await server.twin({ UK_DEFAULT_MODEL: 'sim/script' })
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const onOther = caller(other.origin, alice.headers)
  const getModel = (who: Caller) => who.get(`/app/chat-model?workspace_id=${alice.workspaceId}`)
  const answers = async (who: Caller, model: string): Promise<void> => {
    const shownModel = await getModel(who)
    assert.deepEqual([shownModel.status, shownModel.body.data?.model], [200, model], shownModel.text)
    const chat = (await alice.post('/chats', {})).body.data
    const response = await who.post(`/chats/${chat.id}/messages`, { content: '{"steps":[{"text":"Yes."}]}' })
    assert.deepEqual([response.status, response.body.data?.run.model], [200, model], response.text)
  }
  await answers(alice, 'sim/echo')
  await answers(onOther, 'sim/script')
  const key = await alice.key({ allowed_models: ['sim/echo'] })
  await answers(caller(other.origin, key.headers), 'sim/echo')
  await alice.patch('/settings', { default_model: 'sim/script' })
  await answers(alice, 'sim/script')
  await alice.patch('/settings', { default_model: 'sim/eco' })
  const lost = await alice.post(`/chats/${(await alice.post('/chats', {})).body.data.id}/messages`, {
    content: 'Hello',
  })
  assert.deepEqual([lost.status, lost.body.error.param], [404, 'model'], lost.text)
  assert.match(lost.body.error.message, /`sim\/eco` doesn’t exist.* This is the default model in your settings/)
  await alice.patch('/settings', { default_model: null })

  // Shows no model if a run would find none.
  const limitedKey = await alice.key({ allowed_models: ['sim/script'] })
  assert.equal((await getModel(limitedKey)).body.data.model, null)
  const chat = (await alice.post('/chats', {})).body.data
  const refused = await limitedKey.post(`/chats/${chat.id}/messages`, { content: 'Hello' })
  assert.deepEqual([refused.status, refused.body.error.code], [400, 'missing_parameter'], refused.text)
  assert.equal((await getModel(bob)).status, 404)
})

test('a user a chat is shared with sees the model that answers them; viewers see none', async () => {
  await using server = await testServer({ environment: { UK_SIM: 'on' } })
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const carol = await server.person('Carol')
  await alice.post(`/admin/accounts/${bob.id}/credits`, { amount_usd: 5, note: 'to write with' })
  const agent = (await alice.post('/agents', { name: 'Scribe', model: 'sim/script' })).body.data
  const plain = (await alice.post('/chats', {})).body.data
  const behind = (await alice.post('/chats', { agent_id: agent.id })).body.data
  const chatWithModel = (await alice.post('/chats', { model: 'sim/script' })).body.data
  for (const { id: resource_id } of [plain, behind, chatWithModel])
    for (const [{ email }, access, who] of [
      [bob, 'edit', bob],
      [carol, 'view', carol],
    ] as const) {
      const share = { resource_type: 'chat', resource_id, grantee: { email }, access }
      await who.post('/invitations/accept', { token: (await alice.post('/shares', share)).body.data.token })
    }
  const answers = async (id: string, model: string): Promise<void> => {
    const shownModel = await bob.get(`/app/chat-models/${id}`)
    assert.deepEqual([shownModel.status, shownModel.body.data?.model], [200, model], shownModel.text)
    const response = await bob.post(`/chats/${id}/messages`, { content: '{"steps":[{"text":"Yes."}]}' })
    assert.deepEqual([response.status, response.body.data?.run.model], [200, model], response.text)
  }
  // The agent is hidden from him but still answers.
  assert.equal((await bob.get(`/agents/${agent.id}`)).status, 404)
  await answers(plain.id, 'sim/echo')
  await answers(behind.id, 'sim/script')
  await answers(chatWithModel.id, 'sim/script')
  assert.equal((await carol.get(`/chats/${plain.id}`)).status, 200)
  assert.equal((await carol.get(`/app/chat-models/${plain.id}`)).status, 403)
  assert.equal((await (await server.person('Dan')).get(`/app/chat-models/${plain.id}`)).status, 404)

  await alice.delete(`/agents/${agent.id}`)
  const notFound = await bob.get(`/app/chat-models/${behind.id}`)
  assert.deepEqual([notFound.status, notFound.body.error.param], [409, 'agent_id'], notFound.text)
})
