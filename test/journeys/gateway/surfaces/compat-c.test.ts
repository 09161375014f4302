import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { createOpenRouter } from '@openrouter/ai-sdk-provider'
import { generateText, streamText } from 'ai'
import OpenAI from 'openai'
import { startAnthropic } from '../../../vendors/anthropic/anthropic.ts'
import { startOpenAI } from '../../../vendors/openai/openai.ts'
import type { Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel, userMessages } from '../world.ts'

let world: World
let first: Vendor
let second: Vendor
let claude: Vendor
let gpt: Vendor

before(async () => {
  first = await startOpenAI({ key: 'sk-first' })
  second = await startOpenAI({ key: 'sk-second' })
  claude = await startAnthropic()
  gpt = await startOpenAI()
  world = await gatewayWorld()
  await world.bring(first, 'first', { priority: 1, models: [pricedModel('gpt-4o', { capabilities: ['tools'] })] })
  await world.bring(second, 'second', { priority: 2, models: [pricedModel('gpt-4o')] })
  await world.bring(gpt, 'gpt', { preset: 'openai', models: [pricedModel('o4-mini')] })
  const groq = { preset: 'groq', models: [pricedModel('gpt-4o-mini', { capabilities: ['tools'] })] }
  await world.bring(first, 'gq', groq)
  const anthropic = { shape: 'anthropic-messages', base_url: claude.origin }
  await world.bring(claude, 'an', { ...anthropic, models: [pricedModel('claude-haiku-4-5')] })
})
after(async () => {
  await world[Symbol.asyncDispose]()
  for (const vendor of [first, second, claude, gpt]) await vendor[Symbol.asyncDispose]()
})

const path = '/compat-c/v1/chat/completions'
const ask = (body: object, headers: Record<string, string> = {}) =>
  world.key.post(path, { model: 'gpt-4o', messages: userMessages('hello'), ...body }, headers)
type TaggedRow = { tag: string }
const lastRequest = (vendor: Vendor) => vendor.requests.findLast(({ method }) => method === 'POST')!
const events = (text: string) =>
  text.split('\n\n').flatMap((event) => (event.startsWith('data: {') ? [JSON.parse(event.slice(6))] : []))

test('an answer of any server of the shape has OpenRouter’s fields: ID, provider, cost', async () => {
  first.script({ reply: 'Grüße "id": 1', usage: { input: 1_000, output: 500 } })
  const { body, headers } = await ask({})
  assert.match(body.id, /^gen-[0-9A-Z]{26}$/)
  assert.equal(headers.get('x-generation-id'), body.id)
  assert.deepEqual([body.provider, body.model], ['first', 'gpt-4o'])
  assert.deepEqual([body.usage.cost, body.usage.is_byok], [0.002, true])
  const parts = { upstream_inference_prompt_cost: 0.001, upstream_inference_completions_cost: 0.001 }
  assert.deepEqual(body.usage.cost_details, { upstream_inference_cost: 0.002, ...parts })
  const [choice] = body.choices
  assert.deepEqual([choice.finish_reason, choice.native_finish_reason], ['stop', 'stop'])
  assert.equal(choice.message.content, 'Grüße "id": 1')

  for (const chunking of [undefined, 7]) {
    first.script({ reply: 'Grüße "id": 1', usage: { input: 1_000, output: 500 }, chunking })
    const streamResponse = await ask({ stream: true })
    const all = events(streamResponse.text)
    assert.deepEqual([...new Set(all.map(({ id }) => id))], [streamResponse.headers.get('x-generation-id')])
    assert.deepEqual([...new Set(all.map(({ provider }) => provider))], ['first'])
    assert.equal(all.map(({ choices }) => choices[0]?.delta.content ?? '').join(''), 'Grüße "id": 1')
    assert.equal(all.find(({ usage }) => usage?.cost !== undefined).usage.cost, 0.002)
    assert.ok(streamResponse.text.endsWith('data: [DONE]\n\n'))
  }
})

test('OpenRouter-only fields are implemented here or named as losses, and no other provider receives them', async () => {
  const answer = await ask({
    model: 'first/gpt-4o',
    provider: { sort: 'price' },
    models: ['gpt-4o'],
    route: 'fallback',
    usage: { include: true },
    session_id: 'one',
    transforms: ['middle-out'],
    reasoning: { effort: 'low' },
    user: 'stays',
  })
  assert.equal(answer.status, 200, answer.text)
  const { body } = lastRequest(first)
  assert.deepEqual(Object.keys(JSON.parse(body.toString())), ['model', 'messages', 'user'])
  assert.equal(answer.headers.get('x-uk-losses'), 'transforms, reasoning')
  const strict = await ask({ transforms: ['middle-out'] }, { 'x-uk-strict': '1' })
  assert.deepEqual([strict.status, strict.body.error.code], [400, 400])
})

test('translated fields aren’t called losses, and strict clients get them', async () => {
  const body = { model: 'an/claude-haiku-4-5', max_tokens: 4_000, reasoning: { max_tokens: 2_000 } }
  const answer = await ask(body, { 'x-uk-strict': '1' })
  assert.deepEqual([answer.status, answer.headers.get('x-uk-losses')], [200, null], answer.text)
  assert.deepEqual(lastRequest(claude).json().thinking, { type: 'enabled', budget_tokens: 2_000 })
})

test('opencode’s effort field is an effort, and cache marks use OpenAI’s field or none', async () => {
  await ask({ model: 'first/gpt-4o', reasoningEffort: 'high', messages: userMessages('one') })
  const keys = Object.keys(lastRequest(first).json())
  assert.deepEqual(keys, ['model', 'messages'], 'a model that does not think is not told')
  const mark = { type: 'ephemeral', ttl: '1h' }
  const tool = { type: 'function', function: { name: 'look', parameters: { type: 'object' } }, cache_control: mark }
  const messages = [
    { role: 'system', content: [{ type: 'text', text: 'Be brief.', cache_control: mark }] },
    { role: 'user', content: 'one' },
  ]
  const body = { messages, tools: [tool], cache_control: mark, reasoningEffort: 'high' }
  const openai = await ask({ ...body, model: 'gpt/o4-mini' })
  assert.equal(openai.status, 200, openai.text)
  const { cache_control, reasoning_effort, tools, messages: sentMessages } = lastRequest(gpt).json()
  assert.deepEqual([cache_control, reasoning_effort, tools[0].cache_control], [undefined, 'high', undefined])
  assert.deepEqual(sentMessages[0].content, [
    { type: 'text', text: 'Be brief.', prompt_cache_breakpoint: { mode: 'explicit' } },
  ])
  const groq = await ask({ ...body, model: 'gq/gpt-4o-mini' })
  assert.equal(groq.headers.get('x-uk-losses'), 'reasoning, cache_control')
  assert.doesNotMatch(lastRequest(first).body.toString(), /cache_control|breakpoint/)
  await ask({ ...body, model: 'first/gpt-4o', cache_control: undefined })
  assert.match(lastRequest(first).body.toString(), /"cache_control"/, 'a server that nobody knows may know them')
})

test('a search in OpenRouter’s short form goes to OpenRouter only', async () => {
  const answer = await ask({ tools: [{ type: 'web_search' }] })
  assert.deepEqual([answer.status, answer.body.error.metadata.error_type], [404, 'not_found'])
})

test('tools in Responses format are converted, also among others that aren’t', async () => {
  const parameters = { type: 'object', properties: { city: { type: 'string' } } }
  const tools = [
    { type: 'function', function: { name: 'first', parameters } },
    { type: 'function', name: 'second', parameters },
  ]
  for (const surface of ['compat-a', 'compat-c']) {
    const body = { model: 'first/gpt-4o', messages: userMessages('hello'), tools }
    const answer = await world.key.post(`/${surface}/v1/chat/completions`, body)
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual(
      lastRequest(first)
        .json()
        .tools.map((one: { function: { name: string } }) => one.function.name),
      ['first', 'second'],
    )
  }
})

test('an error lists all attempted providers', async () => {
  first.script({ status: 401, message: 'no' })
  second.script({ status: 400, message: 'tell me more' })
  const { status, body } = await ask({})
  assert.equal(status, 400, JSON.stringify(body))
  const { metadata } = body.error
  assert.deepEqual([metadata.provider_name, metadata.raw], ['second', 'tell me more'])
  assert.deepEqual(
    metadata.previous_errors.map((one: object) => Object.values(one)[2]),
    ['first'],
  )
  assert.equal((await ask({ model: 'first/gpt-4o' })).status, 200)
})

test('the OpenAI SDK and the AI SDK read it, from either vendor', async () => {
  const baseURL = `${world.server.origin}/compat-c/api/v1`
  const client = new OpenAI({ apiKey: world.key.key, baseURL, maxRetries: 0 })
  const { choices } = await client.chat.completions.create({ model: 'first/gpt-4o', messages: userMessages('hello') })
  assert.equal(choices[0]!.message.content, 'hello')
  const openrouter = createOpenRouter({ apiKey: world.key.key, baseURL, compatibility: 'strict' })
  for (const model of ['first/gpt-4o', 'an/claude-haiku-4-5']) {
    const { providerMetadata } = await generateText({ model: openrouter(model), prompt: 'hello' })
    const { provider, usage } = providerMetadata!['openrouter'] as { provider: string; usage: { cost: number } }
    assert.equal(provider, model.split('/')[0])
    assert.ok(usage.cost > 0)
    const stream = streamText({ model: openrouter(model), prompt: 'one two' })
    assert.equal(await stream.text, 'one two')
  }
})

test('a second provider is raced against a slow one; the first to start is used, the other is billed and canceled', async () => {
  first.script({ reply: 'slow', delayMs: 3_000 })
  second.script({ reply: 'quick' })
  const from = first.requests.length
  const answer = await ask({}, { 'x-uk-hedge': '50' })
  assert.equal(answer.body.choices[0].message.content, 'quick')
  assert.match(answer.headers.get('x-uk-route')!, /^provider=second;/)
  const extra = /^provider=first; cost_usd=(.+)$/.exec(answer.headers.get('x-uk-hedge')!)
  assert.ok(extra && Number(extra[1]) > 0, answer.headers.get('x-uk-hedge')!)
  const canceledRequest = await first.arrival(from)
  await canceledRequest.ended
  assert.ok(canceledRequest.aborted)
  const calls = (await world.calls()).slice(0, 2)
  assert.deepEqual(calls.map(({ provider, status }) => `${provider} ${status}`).toSorted(), [
    'first cancelled',
    'second succeeded',
  ])
  const canceledCall = calls.find(({ status }) => status === 'cancelled')!
  assert.deepEqual([canceledCall.provider, Number(canceledCall.cost_nano) / 1e9], ['first', Number(extra[1])])

  // A vendor that starts in time races no other.
  first.script({ reply: 'in time' })
  const alone = await ask({}, { 'x-uk-hedge': '2000' })
  assert.deepEqual([alone.body.choices[0].message.content, alone.headers.get('x-uk-hedge')], ['in time', null])

  const requestCount = first.requests.length
  assert.equal((await ask({}, { 'x-uk-hedge': 'soon' })).status, 400)
  assert.equal(first.requests.length, requestCount, 'refused before anybody was asked')

  // One of the two fails: the other continues.
  first.script({ status: 401, delayMs: 200, message: 'no' })
  second.script({ reply: 'still here', delayMs: 400 })
  const response = await ask({}, { 'x-uk-hedge': '50' })
  assert.equal(response.body.choices[0].message.content, 'still here')
  assert.equal((await ask({ model: 'first/gpt-4o' })).status, 200)
})

test('a conversation continues where its prompt is cached, for its caller only, until that provider fails', async () => {
  const turn = (more: string[], headers = {}) =>
    ask({ messages: [...userMessages('a long beginning'), ...more.flatMap((text) => userMessages(text))] }, headers)
  const route = async (answer: ReturnType<typeof ask>) =>
    /provider=(\w+)/.exec((await answer).headers.get('x-uk-route')!)![1]
  // The first fails once, so the second is tried, which caches the prompt.
  first.script({ status: 401, message: 'no' })
  second.script({ reply: 'cached', usage: { input: 2_000, output: 5, cached: 1_500 } })
  assert.equal(await route(turn([])), 'second')
  assert.equal((await ask({ model: 'first/gpt-4o' })).status, 200)
  assert.equal(await route(turn(['next'])), 'second')
  assert.equal(await route(ask({ messages: userMessages('another beginning') })), 'first')
  const stranger = await world.person.key()
  const theirs = await stranger.post(path, { model: 'gpt-4o', messages: userMessages('a long beginning') })
  assert.match(theirs.headers.get('x-uk-route')!, /^provider=first/)
  const ordered = await route(ask({ messages: userMessages('a long beginning'), provider: { order: ['first'] } }))
  assert.equal(ordered, 'first')
  second.script({ status: 401, message: 'no' })
  assert.equal(await route(turn(['next', 'and on'])), 'first')
  assert.equal((await ask({ model: 'second/gpt-4o' })).status, 200)
  assert.equal(await route(turn(['next', 'and on'])), 'first')
})

test('`/metrics` counts calls, faults, and further attempts, without names', async () => {
  const text = await (await fetch(`${world.server.origin}/metrics`)).text()
  const value = (line: string) => Number(new RegExp(`^${line} (\\d+)`, 'm').exec(text)?.[1])
  assert.ok(value('uk_gateway_calls_total\\{surface="compat-c",status="succeeded"\\}') > 10)
  assert.ok(value('uk_gateway_calls_total\\{surface="compat-c",status="cancelled"\\}') >= 1)
  assert.ok(value('uk_gateway_faults_total\\{kind="upstream_key"\\}') >= 3)
  assert.ok(value('uk_gateway_further_attempts_total\\{why="hedge"\\}') >= 2)
  assert.ok(value('uk_gateway_first_byte_seconds_count') > 10)
  assert.equal(
    value('uk_gateway_first_byte_seconds_bucket\\{le="\\+Inf"\\}'),
    value('uk_gateway_first_byte_seconds_count'),
  )
  assert.ok(!/second\b.*gpt|an\/claude/.test(text))
})

test('a key shows its limit and spending, a call its record, only to their owner', async () => {
  const cappedKey = await world.person.key({ name: 'CI', spend_cap_usd: 1, spend_cap_period: 'day' })
  first.script({ reply: 'four words for you', usage: { input: 2_000, output: 1_000, cached: 500 } })
  const answer = await cappedKey.post(path, { model: 'first/gpt-4o', messages: userMessages('x'), max_tokens: 2_000 })
  assert.equal(answer.status, 200, answer.text)
  const { data } = (await cappedKey.get('/openrouter/api/v1/key')).body
  assert.deepEqual([data.label, data.limit, data.limit_remaining, data.limit_reset], ['CI', 1, 0.996, 'daily'])
  assert.deepEqual([data.usage, data.byok_usage, data.byok_usage_weekly], [0, 0.004, 0.004])

  const { data: call } = (await cappedKey.get(`/compat-c/v1/generation?id=${answer.body.id}`)).body
  assert.deepEqual(
    [call.id, call.model, call.provider_name, call.total_cost, call.is_byok, call.finish_reason, call.streamed],
    [answer.body.id, 'first/gpt-4o', 'first', 0.004, true, 'stop', false],
  )
  assert.deepEqual([call.tokens_prompt, call.tokens_completion, call.native_tokens_cached], [2_000, 1_000, 500])
  const stranger = await (await world.server.person('Bob')).key()
  assert.equal((await stranger.get(`/compat-c/v1/generation?id=${answer.body.id}`)).status, 404)
  assert.equal((await cappedKey.get('/compat-c/v1/generation?id=gen-nonsense')).status, 404)
  assert.equal((await cappedKey.get('/compat-c/v1/generation')).status, 400)
  // After a fallback it is the call that answered.
  first.script({ status: 401, message: 'no' })
  const second = await ask({ model: 'gpt-4o' })
  const { data: fallback } = (await world.key.get(`/compat-c/v1/generation?id=${second.body.id}`)).body
  assert.deepEqual([fallback.provider_name, fallback.id], ['second', second.body.id])
  assert.equal((await ask({ model: 'first/gpt-4o' })).status, 200)
})

test('credits show the granted and used amounts, if the caller may see them', async () => {
  const bob = await world.server.person('Carol')
  const { data: account } = (await bob.get('/me')).body
  const grant = await world.person.post(`/admin/accounts/${account.id}/credits`, { amount_usd: 5, note: 'gift' })
  assert.equal(grant.status, 201, grant.text)
  const key = await bob.key()
  assert.equal((await key.post(path, { model: 'sim/echo', messages: userMessages('one two three') })).status, 200)
  const { data } = (await key.get('/compat-c/v1/credits')).body
  assert.deepEqual(data, { total_credits: 5, total_usage: 0.000009 })
  const narrow = await bob.key({ scopes: ['gateway:run'] })
  assert.equal((await narrow.get('/compat-c/v1/credits')).status, 403)
})

test('the endpoints of a model are listed with measurements', async () => {
  const { data } = (await world.key.get('/compat-c/v1/models/first/gpt-4o/endpoints')).body
  assert.deepEqual([data.id, data.endpoints.length], ['first/gpt-4o', 1])
  const [endpoint] = data.endpoints
  assert.deepEqual([endpoint.tag, endpoint.pricing.prompt, endpoint.status], ['first', '0.000001', 0])
  assert.ok(endpoint.latency_last_30m.p50 > 0 && endpoint.supported_parameters.includes('tools'))
  assert.equal((await world.key.get('/compat-c/v1/models/first/none/endpoints')).status, 400)
  const { data: providers } = (await world.key.get('/compat-c/v1/providers')).body
  assert.ok(providers.some(({ slug }: { slug: string }) => slug === 'second'))
  const models = (await world.key.get('/compat-c/v1/models')).body.data
  assert.equal((await world.key.get('/compat-c/v1/models/count')).body.data.count, models.length)
  assert.deepEqual((await world.key.get('/compat-c/v1/models/user')).body.data, models)
  const zdrTags = async () =>
    (await world.key.get('/compat-c/v1/endpoints/zdr')).body.data.map(({ tag }: TaggedRow) => tag)
  assert.ok(!(await zdrTags()).includes('zero'))
  await world.bring(second, 'zero', { models: [pricedModel('gpt-4o')], data_policy: { keeps: false, trains: false } })
  assert.ok((await zdrTags()).includes('zero'))
})

test('embeddings, responses, and messages of an OpenRouter client follow its routing preferences and are recorded as its own', async () => {
  await world.bring(first, 'words', { priority: 3, models: [pricedModel('text-embedding-3-small')] })
  await world.bring(second, 'more', { priority: 4, models: [pricedModel('text-embedding-3-small')] })
  const only = (slug: string) => ({ provider: { only: [slug] } })
  const twoTexts = { model: 'text-embedding-3-small', input: ['one', 'two'], ...only('more') }
  const embedding = await world.key.post('/compat-c/v1/embeddings', twoTexts)
  assert.equal(embedding.status, 200, embedding.text)
  assert.equal(embedding.body.data.length, 2)
  assert.equal(lastRequest(second).path, '/v1/embeddings')
  assert.equal('provider' in lastRequest(second).body, false)

  const router = new OpenAI({ apiKey: world.key.key, baseURL: `${world.server.origin}/compat-c/v1`, maxRetries: 0 })
  const routedBody = { model: 'gpt-4o', input: 'keep going', ...only('second') }
  assert.equal((await router.responses.create(routedBody)).output_text, 'keep going')
  assert.equal(lastRequest(second).path, '/v1/chat/completions')

  const anthropic = new Anthropic({
    authToken: world.key.key,
    apiKey: null,
    baseURL: `${world.server.origin}/compat-c`,
    maxRetries: 0,
  })
  const message = await anthropic.messages.create({
    model: 'an/claude-haiku-4-5',
    max_tokens: 20,
    messages: userMessages('hi'),
  })
  assert.equal(message.type, 'message')
  assert.ok((await anthropic.messages.countTokens({ model: 'gpt-4o', messages: userMessages('hi') })).input_tokens > 0)
  const surfaces = (await world.calls()).slice(0, 3).map(({ surface }) => surface)
  assert.deepEqual(surfaces, ['compat-c', 'compat-c', 'compat-c'])

  const nobody = await world.key.post('/compat-c/v1/embeddings', {
    model: 'text-embedding-3-small',
    input: 'x',
    ...only('nobody'),
  })
  assert.deepEqual([nobody.status, nobody.body.error.code], [404, 404])
})
