import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startAnthropic } from '../../../vendors/anthropic/anthropic.ts'
import { startOpenAI } from '../../../vendors/openai/openai.ts'
import type { Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel, userMessages } from '../world.ts'

let world: World
let openai: Vendor
let anthropic: Vendor

before(async () => {
  openai = await startOpenAI()
  anthropic = await startAnthropic()
  world = await gatewayWorld()
  await world.bring(openai, 'oa', {
    models: [pricedModel('gpt-4o', { max_output_tokens: 16_384 }), pricedModel('o4-mini'), { id: 'gpt-4o-mini' }],
  })
  await world.bring(anthropic, 'an', {
    shape: 'anthropic-messages',
    base_url: anthropic.origin,
    models: [pricedModel('claude-haiku-4-5', { max_output_tokens: 8_192 })],
  })
})

after(async () => {
  await world[Symbol.asyncDispose]()
  await openai[Symbol.asyncDispose]()
  await anthropic[Symbol.asyncDispose]()
})

const a = '/compat-a/v1/chat/completions'
const ask = (more: object = {}) => ({ model: 'oa/gpt-4o', messages: userMessages('hello'), ...more })
const cappedKey = (usd: number) => world.person.key({ spend_cap_usd: usd, spend_cap_period: 'total' })
const lastBody = (vendor: Vendor) => vendor.requests.findLast(({ method }) => method === 'POST')!.json()

test('under a balance or a cap nothing may cost more than the model’s price; on the caller’s own key without a cap it may', async () => {
  await world.bring(openai, 'shared', { instance: true, models: [pricedModel('gpt-4o')] })
  await world.bring(openai, 'relay', { instance: true, preset: 'openrouter', models: [pricedModel('gpt-4o')] })
  const key = await cappedKey(1)
  const status = async (more: object): Promise<[number, string?]> => {
    const { status, body } = await key.post(a, ask(more))
    return status === 200 ? [status] : [status, body.error.param]
  }
  const before = openai.requests.length
  const sharedModel = { model: 'shared/gpt-4o' }
  const relay = { model: 'relay/gpt-4o' }
  assert.deepEqual(await status({ ...sharedModel, service_tier: 'priority' }), [400, 'service_tier'])
  assert.deepEqual(await status({ ...relay, models: ['openai/o1-pro'] }), [400, 'models'])
  assert.deepEqual(await status({ ...relay, plugins: [{ id: 'web' }] }), [400, 'plugins'])
  assert.deepEqual(await status({ ...relay, tools: [{ type: 'openrouter:web_search' }] }), [400, 'tools'])
  const online = await key.post('/compat-c/v1/chat/completions', ask({ model: 'relay/gpt-4o:online' }))
  assert.match(online.body.error.message, /`:online` can be sent to OpenRouter only with your own provider key/)
  assert.equal(openai.requests.length, before)
  const c = await key.post('/compat-c/v1/chat/completions', ask({ ...relay, models: ['openai/o1-pro'] }))
  assert.deepEqual([c.status, lastBody(openai).models], [200, undefined], c.text)
  assert.deepEqual(await status({ ...sharedModel, service_tier: 'default' }), [200])
  // A cap over the owner's own key also counts the model's price, and would count half of the actual bill.
  await world.bring(openai, 'own-relay', { preset: 'openrouter', models: [pricedModel('gpt-4o')] })
  const own = { model: 'own-relay/gpt-4o' }
  const dear: [fields: object, param: string][] = [
    [{ service_tier: 'priority' }, 'service_tier'],
    [{ ...own, plugins: [{ id: 'web' }] }, 'plugins'],
    [{ ...own, models: ['openai/o1-pro'] }, 'models'],
    [{ ...own, tools: [{ type: 'openrouter:web_search' }] }, 'tools'],
  ]
  const sentBefore = openai.requests.length
  for (const [fields, param] of dear) assert.deepEqual(await status(fields), [400, param])
  const response = await key.post(a, ask({ service_tier: 'priority' }))
  assert.equal(
    response.body.error.message,
    '`service_tier` can be `auto`, `default`, `flex` under a spend cap, because other values cost more than the model’s price.',
  )
  assert.equal(openai.requests.length, sentBefore)
  assert.deepEqual(await status({ service_tier: 'flex' }), [200])
  for (const [fields] of dear) await world.key.post(a, ask(fields))
  assert.equal(openai.requests.length, sentBefore + 1 + dear.length, 'without a cap it is sent')
})

test('a member under a workspace’s budget spends nothing more expensive than the model on its owner’s key', async () => {
  const bob = await world.server.person('Bob')
  const team = (await world.person.post('/workspaces', { name: 'Dear' })).body.data
  const invitation = await world.person.post(`/workspaces/${team.id}/invitations`, { email: bob.email, role: 'member' })
  await bob.post('/invitations/accept', { token: invitation.body.data.token })
  await world.bring(openai, 'team', { workspace_id: team.id, models: [pricedModel('gpt-4o')] })
  const key = await bob.key({ workspace_id: team.id })
  const dear = ask({ model: 'team/gpt-4o', max_tokens: 5, service_tier: 'priority' })
  assert.equal((await key.post(a, dear)).status, 200, 'nothing limits what he spends')
  await world.person.patch(`/workspaces/${team.id}`, { spend_cap_usd: 1 })
  const refusal = await key.post(a, dear)
  assert.deepEqual([refusal.status, refusal.body.error.param], [400, 'service_tier'], refusal.text)
  assert.equal((await key.post(a, { ...dear, service_tier: 'default' })).status, 200)
})

test('where the instance pays, vendor tools with separate fees are refused; on the caller’s own key they pass', async () => {
  const key = await cappedKey(1)
  await world.bring(openai, 'house', {
    instance: true,
    preset: 'openai',
    models: [pricedModel('gpt-4o', { context_length: 1_000 })],
  })
  await world.bring(openai, 'mine', { preset: 'openai', models: [pricedModel('gpt-4o', { context_length: 1_000 })] })
  const responses = '/compat-a/v1/responses'
  const request = (model: string, more: object) => ({
    model: `${model}/gpt-4o`,
    max_output_tokens: 20,
    input: 'hello',
    ...more,
  })
  const before = openai.requests.length
  for (const [fields, param] of [
    [{ tools: [{ type: 'web_search' }] }, 'tools'],
    [
      {
        tools: [
          { type: 'function', name: 'f', parameters: {} },
          { type: 'code_interpreter', container: { type: 'auto' } },
        ],
      },
      'tools',
    ],
  ] as const) {
    const { status, body, text } = await key.post(responses, request('house', fields))
    assert.deepEqual([status, body.error.code, body.error.param], [402, 'unpriced_model', param], text)
  }
  const response = await key.post(a, ask({ model: 'house/gpt-4o', web_search_options: {} }))
  assert.deepEqual([response.status, response.body.error.param], [402, 'web_search_options'])
  assert.match(
    response.body.error.message,
    /^`web_search_options` is run by the provider for a fee that isn’t known here/,
  )
  assert.equal(openai.requests.length, before)
  assert.equal((await key.post(a, ask({ model: 'mine/gpt-4o', max_tokens: 20, web_search_options: {} }))).status, 200)
  assert.equal(
    (await key.post(a, ask({ model: 'house/gpt-4o', max_tokens: 20, web_search_options: null }))).status,
    200,
  )
})

test('under a balance or a cap no fallback model at the vendor is allowed, because it may cost more', async () => {
  const models = [pricedModel('claude-haiku-4-5')]
  const more = { shape: 'anthropic-messages', base_url: anthropic.origin, models }
  await world.bring(anthropic, 'claude', { ...more, instance: true })
  const key = await cappedKey(1)
  const before = anthropic.requests.length
  const asking = (model: string, fallbacks: unknown, caller = key) =>
    caller.post(
      '/compat-b/v1/messages',
      { ...ask({ model }), max_tokens: 100, fallbacks },
      { 'anthropic-beta': 'server-side-fallback-2026-07-01' },
    )
  for (const fallbacks of [[{ model: 'claude-opus-4-8', max_tokens: 100_000, speed: 'fast' }], 'default']) {
    const refusal = await asking('claude/claude-haiku-4-5', fallbacks)
    assert.equal(refusal.status, 400, refusal.text)
    assert.match(refusal.body.error.message, /`fallbacks` can be sent to Anthropic only with your own provider key/)
  }
  assert.equal(anthropic.requests.length, before)
  assert.equal((await asking('claude/claude-haiku-4-5', [])).status, 200)
  const own = await asking('an/claude-haiku-4-5', 'default')
  assert.match(
    own.body.error.message,
    /^`fallbacks` can be sent to Anthropic only with an API key and a workspace that have no cap/,
  )
  assert.equal((await asking('an/claude-haiku-4-5', 'default', world.key)).status, 200)
})
