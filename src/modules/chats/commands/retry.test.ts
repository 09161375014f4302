import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call, say, script } from '#test/chats/chats.ts'
import { twoServers } from '#test/two-servers.ts'

const { server, alice, beyond } = await twoServers()
const bob = await server.person('Bob')

const failing = script({ error: { type: 'server_error', message: 'no paper' } })
const create = async (path: string, body: object): Promise<string> => (await alice.post(path, body)).body.data.id

/** Sends a message that fails, and returns its retry URL. */
async function failed(chat: string, more: object = {}): Promise<string> {
  const { body } = await alice.post(`/chats/${chat}/messages`, { content: failing, ...more })
  return `/chats/${chat}/runs/${body.error.details.run_id}/retry`
}
const answer = ({ status, body }: { status: number; body: any }) => [status, body.data?.model, body.data?.run.attempt]

test('a failed run can be retried with a named model', async () => {
  const id = await create('/chats', { model: 'sim/script' })
  const at = await failed(id)
  const [unknown, response] = await Promise.all(
    [at, `/chats/${id}/messages`].map((path) =>
      alice.post(path, { model: 'sim/none', ...(path !== at && { content: 'x' }) }),
    ),
  )
  assert.deepEqual([unknown!.status, unknown!.body.error], [response!.status, response!.body.error], 'as for a message')
  const again = await alice.post(at, { model: 'sim/echo' })
  assert.deepEqual([...answer(again), again.body.data.text], [200, 'sim/echo', 2, failing])
})

test('a retry uses the chat’s new model after a change', async () => {
  const chat = await create('/chats', { model: 'sim/script' })
  const at = await failed(chat)
  assert.equal((await beyond.patch(`/chats/${chat}`, { model: 'sim/echo' })).status, 200)
  assert.deepEqual(answer(await alice.post(at, {})), [200, 'sim/echo', 2])
})

test('a retry uses the current model of the chat’s agent or of the user’s settings', async () => {
  const agent = await create('/agents', { name: 'Helper', model: 'sim/script' })
  const ofAgent = await failed(await create('/chats', { agent_id: agent }))
  assert.equal((await alice.patch(`/agents/${agent}`, { model: 'sim/echo' })).status, 200)
  assert.deepEqual(answer(await alice.post(ofAgent, {})), [200, 'sim/echo', 2])

  await alice.patch('/settings', { default_model: 'sim/script' })
  const ofSettings = await failed(await create('/chats', {}))
  await alice.patch('/settings', { default_model: 'sim/echo' })
  assert.deepEqual(answer(await alice.post(ofSettings, {})), [200, 'sim/echo', 2])
})

test('a model named in the message is kept for retries, and one named in a retry applies only to that attempt', async () => {
  const chat = await create('/chats', { model: 'sim/echo' })
  for (const path of ['messages', 'messages/stream']) {
    const body = { content: failing, model: 'sim/script' }
    await alice.post(`/chats/${chat}/${path}`, body)
    const [run] = (await alice.get(`/chats/${chat}/runs`)).body.data
    const at = `/chats/${chat}/runs/${run.id}/retry`
    const modelNow = async () => {
      const { status, model, attempt } = (await alice.get(`/chats/${chat}/runs/${run.id}`)).body.data
      return [status, model, attempt]
    }
    assert.equal((await beyond.post(at, {})).body.error?.message, 'no paper')
    assert.deepEqual(await modelNow(), ['failed', 'sim/script', 2])
    // Nothing listens at Alice's provider.
    const slug = `mute-${path.length}`
    const endpoint = {
      slug,
      name: slug,
      shape: 'openai-chat',
      base_url: 'http://127.0.0.1:1/v1',
      models: [{ id: 'm' }],
    }
    await create('/ai-gateway/provider-endpoints', { ...endpoint, api_key: 'sk-0123456789', instance: true })
    assert.ok((await alice.post(at, { model: `${slug}/m` })).status >= 500)
    assert.deepEqual(await modelNow(), ['failed', `${slug}/m`, 3])
    assert.equal((await alice.post(at, {})).body.error?.message, 'no paper')
    assert.deepEqual(await modelNow(), ['failed', 'sim/script', 4])
    assert.deepEqual(answer(await alice.post(at, { model: 'sim/echo' })), [200, 'sim/echo', 5])
  }
})

test('retrying a delegated task uses the agent’s current model', async () => {
  const helper = await create('/agents', { name: 'Helper', model: 'sim/script' })
  const boss = await create('/agents', {
    name: 'Boss',
    model: 'sim/script',
    subagents: [{ agent_id: helper, policy: 'allow' }],
  })
  const chat = await create('/chats', { agent_id: boss })
  const content = script([call('delegate', { agent_id: helper, task: failing })], [say('It failed.')])
  assert.equal((await alice.post(`/chats/${chat}/messages`, { content })).status, 200)
  const [task] = (await alice.get(`/chats?parent_chat_id=${chat}`)).body.data
  const [run] = (await alice.get(`/chats/${task.id}/runs`)).body.data
  await alice.patch(`/agents/${helper}`, { model: 'sim/echo' })
  assert.deepEqual(answer(await alice.post(`/chats/${task.id}/runs/${run.id}/retry`, {})), [200, 'sim/echo', 2])
})

test('a retry is rejected for runs that haven’t failed, for strangers, and when no model is usable', async () => {
  const chat = await create('/chats', { model: 'sim/script' })
  const at = await failed(chat)
  assert.equal((await bob.post(at, {})).status, 404)
  await alice.patch(`/chats/${chat}`, { model: 'sim/echo' })
  assert.equal((await alice.post(at, {})).status, 200)
  const overLimit = await alice.post(at, {})
  assert.deepEqual([overLimit.status, overLimit.body.error.details.status], [409, 'completed'])
  assert.equal((await alice.post(at.replace(/runs\/\w+/, `runs/${chat}`), {})).body.error.param, 'run_id')

  const agent = await create('/agents', { name: 'Gone', model: 'sim/script' })
  const ofAgent = await failed(await create('/chats', { agent_id: agent }))
  await alice.delete(`/agents/${agent}`)
  const refused = await alice.post(ofAgent, {})
  assert.deepEqual([refused.status, refused.body.error.param], [409, 'agent_id'])
})
