import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { call, results, script } from '../../../chats/chats.ts'
import { startAnthropic } from '../../../vendors/anthropic/anthropic.ts'
import { startOpenAI } from '../../../vendors/openai/openai.ts'
import type { Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel, userMessages } from '../world.ts'

let world: World
let gpt: Vendor
let claude: Vendor

before(async () => {
  gpt = await startOpenAI()
  claude = await startAnthropic()
  world = await gatewayWorld()
  await world.bring(gpt, 'oa', { models: [pricedModel('gpt-4o')] })
  await world.bring(claude, 'cl', {
    shape: 'anthropic-messages',
    base_url: claude.origin,
    models: [pricedModel('claude-haiku-4-5')],
  })
})

after(async () => {
  await world[Symbol.asyncDispose]()
  await gpt[Symbol.asyncDispose]()
  await claude[Symbol.asyncDispose]()
})

const paths = {
  a: '/compat-a/v1/chat/completions',
  b: '/compat-b/v1/messages',
  c: '/compat-c/v1/chat/completions',
  responses: '/compat-a/v1/responses',
} as const

type Surface = keyof typeof paths

/** Builds a request from its messages. */
const asking = (surface: Surface, messages: readonly object[], model = 'sim/echo') =>
  surface === 'responses' ? { model, input: messages } : { model, max_tokens: 9, messages }

test('the error for an unknown model says where models are listed', async () => {
  for (const [surface, root] of [
    ['a', 'compat-a'],
    ['b', 'compat-b'],
    ['c', 'compat-c'],
    ['responses', 'compat-a'],
  ] as const) {
    const list = `/${root}/v1/models`
    for (const answer of [
      await world.key.post(paths[surface], asking(surface, userMessages('hi'), 'sim/ecko')),
      await world.key.get(`${list}/sim/ecko`),
    ])
      assert.ok(
        answer.body.error.message.endsWith(` Did you mean \`sim/echo\`? \`GET ${list}\` lists the available models.`),
        answer.text,
      )
    assert.equal((await world.key.get(list)).status, 200)
  }
})

test('a misspelled name gets a suggestion on every surface, but only from the caller’s own models', async () => {
  const bob = await (await world.server.person('Bob')).key()
  const model = 'cl/claude-haiku-5-4'
  for (const [by, near] of [
    [world.key, ' Did you mean `cl/claude-haiku-4-5`?'],
    [bob, ''],
  ] as const) {
    const chat = (await by.post('/chats', {})).body.data.id
    const plain = { model, messages: userMessages('hi') }
    for (const answer of [
      await by.post(paths.a, plain),
      await by.get(`/compat-c/v1/models/${model}/endpoints`),
      await by.post('/inference/text', plain),
      await by.post('/inference/text', { ...plain, background: true }),
      await by.post('/ai-gateway/routing-preview', { model }),
      await by.post(`/chats/${chat}/messages`, { content: 'hi', model }),
    ]) {
      const { message } = answer.body.error
      assert.ok(message.includes(`\`${model}\` doesn’t exist, or you don’t have access to it.${near}`), answer.text)
      assert.equal(message.includes('mean'), near !== '')
    }
  }
})

test('callers that may not list models, and other readers of a chat, get no model names', async () => {
  const model = 'cl/claude-haiku-5-4'
  const plain = { model, messages: userMessages('hi') }
  const { person } = world
  const running = await person.key({ scopes: ['inference:run', 'gateway:read', 'gateway:run'] })
  const chatting = await person.key({ scopes: ['chat:run', 'chat:write'] })
  const chat = (await person.post('/chats', {})).body.data.id
  for (const answer of [
    await running.post('/inference/text', plain),
    await running.post('/inference/text', { ...plain, background: true }),
    await running.post('/ai-gateway/routing-preview', { model }),
    await chatting.post(`/chats/${chat}/messages`, { content: 'hi', model }),
  ]) {
    assert.equal(answer.status, 404, answer.text)
    assert.ok(!answer.text.includes('mean'), answer.text)
  }
  assert.equal((await running.get('/models')).status, 403)
  // The gateways list what they serve to every key that may call them.
  assert.match((await running.post(paths.a, plain)).text, /Did you mean/)

  const names = ['ai_gateway.routing_preview', 'inference.text']
  const agent = await person.post('/agents', {
    name: 'Asker',
    model: 'sim/script',
    tools: names.map((name) => ({ name, policy: 'allow' })),
  })
  const chatId = (await person.post('/chats', { agent_id: agent.body.data.id })).body.data.id
  const content = script([call('ai_gateway_routing_preview', { model }), call('inference_text', plain)], [])
  const answer = await person.post(`/chats/${chatId}/messages`, { content })
  assert.equal(answer.status, 200, answer.text)
  const errorMessages = results(answer.body.data).map(({ output }) => output.error.message)
  for (const message of errorMessages)
    assert.equal(message, `The model \`${model}\` doesn’t exist, or you don’t have access to it.`)
  assert.equal(errorMessages.length, 2)
})

test('requests in a workspace get suggestions from that workspace', async () => {
  const { person } = world
  const workspace_id = (await person.post('/workspaces', { name: 'Models of a team' })).body.data.id
  const endpoint = { workspace_id, slug: 'team', shape: 'openai-chat', base_url: 'http://127.0.0.1:9/v1', test: false }
  const teamEndpoint = await person.post('/ai-gateway/provider-endpoints', {
    ...endpoint,
    models: [pricedModel('large-one')],
  })
  assert.equal(teamEndpoint.status, 201, teamEndpoint.text)
  const answer = await person.post('/inference/text', {
    model: 'team/large-on',
    messages: userMessages('hi'),
    workspace_id,
  })
  assert.match(answer.body.error.message, /Did you mean `team\/large-one`/)
})

test('the suggested name is served on the surface of the request', async () => {
  const chat = (await world.key.post('/chats', {})).body.data.id
  const near = async (to: string, body: object) => {
    const { status, body: answer } = await world.key.post(to, body)
    return status === 200 ? 200 : (/Did you mean `(.*)`\?/.exec(answer.error.message)?.[1] ?? null)
  }
  for (const model of ['sim/echo:nitro', 'sim/ecko:nitro']) {
    for (const surface of ['a', 'b', 'responses'] as const)
      assert.equal(await near(paths[surface], asking(surface, userMessages('hi'), model)), 'sim/echo')
    assert.equal(await near(`/chats/${chat}/messages`, { content: 'hi', model }), 'sim/echo')
    assert.equal(await near('/inference/text', { model, messages: userMessages('hi') }), 'sim/echo')
  }
  for (const [to, more] of [
    [paths.c, { messages: userMessages('hi') }],
    ['/ai-gateway/routing-preview', {}],
  ] as const) {
    assert.equal(await near(to, { model: 'sim/ecko:nitro', ...more }), 'sim/echo:nitro')
    assert.equal(await near(to, { model: 'sim/echo:nitro', ...more }), 200)
  }
})
