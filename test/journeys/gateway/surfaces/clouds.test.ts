import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, before, test } from 'node:test'
import Anthropic, { APIError as MessagesError } from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { startSite } from '../../../outside/site.ts'
import { startAzure } from '../../../vendors/azure/azure.ts'
import { type Bedrock, startBedrock } from '../../../vendors/bedrock/bedrock.ts'
import { startOllama } from '../../../vendors/ollama/ollama.ts'
import type { Vendor } from '../../../vendors/vendor.ts'
import { type Vertex, startVertex } from '../../../vendors/gemini/vertex.ts'
import { type World, gatewayWorld, pricedModel, userMessages } from '../world.ts'

let world: World
let bedrock: Bedrock
let vertex: Vertex
let azure: Vendor
let openai: OpenAI
let anthropic: Anthropic

const claude = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'
const place = () => `${vertex.origin}/v1/projects/${vertex.project}/locations/${vertex.location}`
const keyFile = () => Buffer.from(JSON.stringify(vertex.account)).toString('base64')
const awsKey = () => `${bedrock.account.accessKeyId}:${bedrock.account.secretAccessKey}`

before(async () => {
  bedrock = await startBedrock()
  vertex = await startVertex()
  azure = await startAzure()
  world = await gatewayWorld({ UK_FETCH_ALLOW: '127.0.0.0/8' })
  const inBedrock = { preset: 'bedrock', base_url: bedrock.origin, api_key: awsKey() }
  const messages = { shape: 'anthropic-messages' }
  await world.bring(bedrock, 'aws', {
    ...inBedrock,
    ...messages,
    headers: { 'x-uk-region': 'us-east-1' },
    models: [pricedModel(claude), pricedModel('amazon.nova-pro-v1:0')],
  })
  const inVertex = { preset: 'vertex', base_url: place(), api_key: keyFile() }
  await world.bring(vertex, 'vx', { ...inVertex, shape: 'gemini', models: [pricedModel('gemini-3.8-flash')] })
  await world.bring(vertex, 'vc', { ...inVertex, ...messages, models: [pricedModel('claude-sonnet-5-5')] })
  await world.bring(azure, 'az', {
    preset: 'azure',
    base_url: `${azure.origin}/openai/v1`,
    models: [pricedModel('my-gpt-4o')],
  })
  await world.bring(azure, 'old', {
    preset: 'azure',
    base_url: `${azure.origin}/openai`,
    headers: { 'x-uk-api-version': '2024-10-21' },
    models: [pricedModel('my-gpt-4o')],
  })
  const { key } = world.key
  openai = new OpenAI({ apiKey: key, baseURL: `${world.server.origin}/compat-a/v1`, maxRetries: 0 })
  anthropic = new Anthropic({ apiKey: key, baseURL: `${world.server.origin}/compat-b`, maxRetries: 0 })
})
after(async () => {
  await world[Symbol.asyncDispose]()
  for (const vendor of [bedrock, vertex, azure]) await vendor[Symbol.asyncDispose]()
})

const last = (vendor: Vendor) => vendor.requests.findLast(({ method, path }) => method === 'POST' && path !== '/token')!

test('Claude on Bedrock: signed, whole and streamed, for its own clients and for OpenAI’s', async () => {
  const model = `aws/${claude}`
  const reply = { reasoning: 'hm', text: 'Grüße aus 東京', tools: [{ name: 'get', arguments: { q: 'é' } }] }
  bedrock.script({ reply: 'Hello', usage: { input: 30, cached: 10, output: 5 } }, { reply }, { reply, chunking: 7 })
  const tools = [{ name: 'get', input_schema: { type: 'object' as const } }]
  const ask = { model, max_tokens: 2000, messages: userMessages('hi'), tools }
  const { data, response } = await anthropic.messages
    .create(ask, { headers: { 'anthropic-beta': 'a-beta' } })
    .withResponse()
  assert.equal(data.content[0]?.type === 'text' && data.content[0].text, 'Hello')
  assert.equal(response.headers.get('x-uk-losses'), 'anthropic-beta')
  assert.match(String(last(bedrock).headers.authorization), /^AWS4-HMAC-SHA256 Credential=AKIALOOPBACK/)
  assert.ok(!JSON.stringify(last(bedrock).headers).includes(bedrock.account.secretAccessKey))
  const call = await world.record(response.headers.get('request-id')!)
  assert.deepEqual([call.input_tokens, call.cache_read_tokens, call.output_tokens], [20n, 10n, 5n])

  const message = await anthropic.messages
    .stream({ ...ask, thinking: { type: 'enabled', budget_tokens: 1024 } })
    .finalMessage()
  assert.deepEqual(
    message.content.map(({ type }) => type),
    ['thinking', 'text', 'tool_use'],
  )
  assert.equal(last(bedrock).json()['stream'], undefined)
  const stream = openai.chat.completions.stream({
    model,
    messages: userMessages('hi'),
    tools: [{ type: 'function', function: { name: 'get', parameters: { type: 'object' } } }],
  })
  const { message: chat } = (await stream.finalChatCompletion()).choices[0]!
  assert.equal(chat.content, 'Grüße aus 東京')
  const [toolCall] = chat.tool_calls ?? []
  assert.deepEqual(toolCall?.type === 'function' && JSON.parse(toolCall.function.arguments), { q: 'é' })
})

test('Nova on Bedrock, by Converse: text, reasoning, and parallel tools for each client, and a tool loop', async () => {
  const model = 'aws/amazon.nova-pro-v1:0'
  const twice = [
    { name: 'get', arguments: { q: '東京' } },
    { name: 'get', arguments: {} },
  ]
  bedrock.script(
    { reply: 'Hello', usage: { input: 30, cached: 10, cacheWrite: 4, output: 5 } },
    { reply: { reasoning: 'hm', text: 'Grüße', tools: twice }, chunking: 5 },
    { reply: 'done' },
  )
  const { data, response } = await openai.chat.completions
    .create({ model, messages: userMessages('hi') })
    .withResponse()
  assert.equal(data.choices[0]?.message.content, 'Hello')
  assert.match(last(bedrock).path, /\/converse-stream$/)
  const call = await world.record(response.headers.get('x-request-id')!)
  assert.deepEqual(
    [call.input_tokens, call.cache_read_tokens, call.cache_write_5m_tokens, call.output_tokens],
    [16n, 10n, 4n, 5n],
  )
  const ask = { model, max_tokens: 200, tools: [{ name: 'get', input_schema: { type: 'object' as const } }] }
  const first = await anthropic.messages.stream({ ...ask, messages: userMessages('hi') }).finalMessage()
  assert.deepEqual(
    first.content.map(({ type }) => type),
    ['thinking', 'text', 'tool_use', 'tool_use'],
  )
  const uses = first.content.flatMap((block) => (block.type === 'tool_use' ? [block] : []))
  assert.deepEqual(
    uses.map(({ input }) => input),
    [{ q: '東京' }, {}],
  )
  const results = uses.map(({ id }) => ({ type: 'tool_result' as const, tool_use_id: id, content: 'ok' }))
  await anthropic.messages.create({
    ...ask,
    messages: [
      ...userMessages('hi'),
      { role: 'assistant', content: first.content },
      { role: 'user', content: results },
    ],
  })
  const [reasoningBlock] = last(bedrock).json()['messages'][1].content
  assert.equal(reasoningBlock.reasoningContent.reasoningText.text, 'hm', 'its own reasoning comes back to it')
  bedrock.script({ reply: 'a b c d', midStreamError: { status: 503 } })
  await assert.rejects(
    openai.chat.completions.stream({ model, messages: userMessages('x') }).finalChatCompletion(),
    /unable/,
  )
})

test('failures on Bedrock arrive in the client’s own format; a wrong secret is the gateway’s problem', async () => {
  const ask = { model: `aws/${claude}`, max_tokens: 50, messages: userMessages('x') }
  bedrock.script({ reply: 'a b c d e f', midStreamError: { status: 429 } })
  const stream = anthropic.messages.stream(ask)
  await assert.rejects(
    stream.finalMessage(),
    (error) => error instanceof MessagesError && error.type === 'rate_limit_error',
  )
  await world.bring(bedrock, 'bad', {
    preset: 'bedrock',
    shape: 'anthropic-messages',
    base_url: bedrock.origin,
    api_key: `${bedrock.account.accessKeyId}:not-the-secret-at-all`,
    headers: { 'x-uk-region': 'us-east-1' },
    models: [pricedModel(claude)],
  })
  await assert.rejects(
    anthropic.messages.create({ ...ask, model: `bad/${claude}` }),
    (error) => error instanceof MessagesError && error.status === 502 && !/not-the-secret/.test(error.message),
  )
  await world.bring(bedrock, 'bearer', {
    preset: 'bedrock',
    shape: 'anthropic-messages',
    base_url: bedrock.origin,
    models: [pricedModel(claude)],
  })
  bedrock.script({ reply: 'with a Bedrock key' })
  const answer = await anthropic.messages.create({ ...ask, model: `bearer/${claude}` })
  assert.equal(answer.content[0]?.type === 'text' && answer.content[0].text, 'with a Bedrock key')
})

test('Gemini and Claude on Vertex: one token from the service account for many calls', async () => {
  const gemini = () =>
    openai.chat.completions.create({ model: 'vx/gemini-3.8-flash', messages: userMessages('one two') })
  const both = await Promise.all([gemini(), gemini()])
  assert.deepEqual(
    both.map(({ choices }) => choices[0]?.message.content),
    ['one two', 'one two'],
  )
  const tokens = () => vertex.requests.filter(({ path }) => path === '/token').length
  assert.equal(tokens(), 1)
  await world.bring(azure, 'other', {
    preset: 'azure',
    base_url: `${azure.origin}/openai/v1`,
    models: [pricedModel('x')],
  })
  await gemini()
  assert.equal(tokens(), 1, 'a change of another endpoint leaves this one its token')
  assert.match(last(vertex).path, /\/publishers\/google\/models\/gemini-3\.8-flash:streamGenerateContent$/)

  const ask = { model: 'vc/claude-sonnet-5-5', max_tokens: 50, messages: userMessages('three four') }
  const whole = await anthropic.messages.create(ask)
  assert.equal(whole.content[0]?.type === 'text' && whole.content[0].text, 'three four')
  assert.match(last(vertex).path, /:rawPredict$/)
  assert.equal(await anthropic.messages.stream(ask).finalText(), 'three four')
  assert.match(last(vertex).path, /:streamRawPredict$/)
  assert.equal(tokens(), 2, 'the other endpoint has a token of its own')
  for (const { headers } of vertex.requests) assert.ok(!JSON.stringify(headers).includes('PRIVATE'))
})

test('fields and betas that a cloud isn’t known to accept are left out and reported; an allowed beta lets all of them pass', async () => {
  const ask = { model: 'vc/claude-sonnet-5-5', max_tokens: 50, messages: userMessages('x') }
  const path = '/compat-b/v1/messages'
  const beta = { 'anthropic-beta': 'context-management-2025-06-27' }
  const body = { ...ask, context_management: { edits: [] } }
  const answer = await world.key.post(path, body, beta)
  assert.equal(answer.headers.get('x-uk-losses'), 'context_management, anthropic-beta')
  assert.equal(last(vertex).json()['context_management'], undefined)
  const requestCount = vertex.requests.length
  const strict = await world.key.post(path, body, { ...beta, 'x-uk-strict': '1' })
  assert.deepEqual([strict.status, strict.body.error.type], [400, 'invalid_request_error'])
  assert.match(strict.body.error.message, /`context_management`, `anthropic-beta`/)
  assert.equal(vertex.requests.length, requestCount)
  await world.bring(vertex, 'vb', {
    preset: 'vertex',
    base_url: place(),
    api_key: keyFile(),
    shape: 'anthropic-messages',
    headers: { 'x-uk-betas': 'context-management-2025-06-27, other' },
    models: [pricedModel('claude-sonnet-5-5')],
  })
  const through = await world.key.post(
    path,
    { ...body, model: 'vb/claude-sonnet-5-5' },
    { ...beta, 'x-uk-strict': '1' },
  )
  assert.equal(through.status, 200, through.text)
  const sentBody = last(vertex).json()
  assert.deepEqual(
    [sentBody['anthropic_beta'], sentBody['context_management']],
    [['context-management-2025-06-27'], { edits: [] }],
  )
})

test('an image given by URL reaches providers that fetch nothing as bytes; anything else is refused', async () => {
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const file = (type: string, bytes: Buffer) => (_: unknown, response: ServerResponse) =>
    void response.writeHead(200, { 'content-type': type }).end(bytes)
  await using ollama = await startOllama()
  await world.bring(ollama, 'ol', { shape: 'ollama', base_url: ollama.origin, models: [pricedModel('llama3.2')] })
  await using site = await startSite({
    '/cat': file('application/octet-stream', Buffer.from(png, 'base64')),
    '/page': '<html>',
    '/zip': file('application/zip', Buffer.from('PK')),
    '/huge': file('image/png', Buffer.alloc(6 << 20)),
  })
  const chat = (model: string, url: string) =>
    world.key.post('/compat-a/v1/chat/completions', {
      model,
      max_tokens: 50,
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
    })
  for (const [model, vendor] of [
    [`aws/${claude}`, bedrock],
    ['aws/amazon.nova-pro-v1:0', bedrock],
    ['vx/gemini-3.8-flash', vertex],
    ['ol/llama3.2', ollama],
  ] as const) {
    const answer = await chat(model, `${site.origin}/cat`)
    assert.equal(answer.status, 200, answer.text)
    assert.match(last(vendor).body.toString(), new RegExp(png.replaceAll('+', '\\+')))
    assert.doesNotMatch(last(vendor).body.toString(), /\/cat/)
  }
  const source = { type: 'url' as const, url: `${site.origin}/cat` }
  const content = [{ type: 'image' as const, source }]
  await anthropic.messages.create({ model: `aws/${claude}`, max_tokens: 50, messages: [{ role: 'user', content }] })
  assert.equal(last(bedrock).json()['messages'][0].content[0].source.data, png)
  const before = bedrock.requests.length
  for (const [url, why] of [
    [`${site.origin}/page`, /it isn’t an image, but text\/html/],
    [`${site.origin}/huge`, /larger|large/],
    [`${site.origin}/none`, /404/],
    [`http://10.0.0.1/cat`, /private/],
  ] as const) {
    const { status, body } = await chat(`aws/${claude}`, url)
    assert.deepEqual([status, body.error.type], [400, 'invalid_request_error'])
    assert.match(body.error.message, why)
  }
  const file_data = `${site.origin}/zip`
  const odd = await world.key.post('/compat-a/v1/chat/completions', {
    model: `aws/${claude}`,
    messages: [{ role: 'user', content: [{ type: 'file', file: { file_data } }] }],
  })
  assert.deepEqual(
    [odd.status, /is application\/zip\. The model accepts files/.test(odd.body.error.message)],
    [400, true],
    odd.text,
  )
  assert.equal(bedrock.requests.length, before, 'nothing was spent')
})

test('a token is renewed when it expires or is rejected, and an invalid key file gives no answer and no leak', async () => {
  await using brief = await startVertex({ tokenLife: 60 })
  const base_url = `${brief.origin}/v1/projects/${brief.project}/locations/${brief.location}`
  const api_key = Buffer.from(JSON.stringify(brief.account)).toString('base64')
  const models = [pricedModel('gemini-3.8-flash')]
  await world.bring(brief, 'brief', { preset: 'vertex', shape: 'gemini', base_url, api_key, models })
  for (const words of ['one', 'two']) {
    const answer = await openai.chat.completions.create({
      model: 'brief/gemini-3.8-flash',
      messages: userMessages(words),
    })
    assert.equal(answer.choices[0]?.message.content, words)
  }
  assert.equal(brief.requests.filter(({ path }) => path === '/token').length, 2)
  const wrong = Buffer.from(JSON.stringify({ ...brief.account, private_key: 'no key at all' })).toString('base64')
  await world.bring(brief, 'keyless', { preset: 'vertex', shape: 'gemini', base_url, api_key: wrong, models })
  const refusal = await world.key.post('/compat-a/v1/chat/completions', {
    model: 'keyless/gemini-3.8-flash',
    messages: userMessages('x'),
  })
  assert.equal(refusal.status, 502)
  assert.ok(!refusal.text.includes('no key at all') && !refusal.text.includes(wrong.slice(0, 40)))
})

test('Azure: its own header, deployments as models, and the older paths with their version', async () => {
  for (const slug of ['az', 'old']) {
    const model = `${slug}/my-gpt-4o`
    azure.script({ reply: 'Hello', usage: { input: 9, output: 3 } }, { reply: 'a b c', usage: { input: 4, output: 3 } })
    const whole = await openai.chat.completions.create({ model, messages: userMessages('hi') })
    assert.equal(whole.choices[0]?.message.content, 'Hello')
    const stream = openai.chat.completions.stream({ model, messages: userMessages('hi') })
    assert.equal((await stream.finalChatCompletion()).choices[0]?.message.content, 'a b c')
    assert.equal(last(azure).headers['api-key'], azure.key)
    assert.equal(last(azure).headers['authorization'], undefined)
    assert.equal(last(azure).headers['x-uk-api-version'], undefined, 'a setting of the gateway goes nowhere')
    const message = await anthropic.messages.create({ model, max_tokens: 20, messages: userMessages('to Azure') })
    assert.equal(message.content[0]?.type === 'text' && message.content[0].text, 'to Azure')
  }
  assert.equal(last(azure).path, '/openai/deployments/my-gpt-4o/chat/completions')
  assert.equal(last(azure).query.get('api-version'), '2024-10-21')
})

test('an endpoint in a cloud is tested without being billed for it', async () => {
  const { body } = await world.person.get('/ai-gateway/provider-endpoints?limit=100')
  const results = new Map<string, { ok: boolean; error: string | null }>()
  for (const { id, slug } of body.data as { id: string; slug: string }[])
    results.set(slug, (await world.person.post(`/ai-gateway/provider-endpoints/${id}/test`)).body.data)
  for (const slug of ['aws', 'bearer', 'vx', 'vc', 'az']) assert.equal(results.get(slug)?.ok, true, slug)
  assert.match(String(results.get('bad')?.error), /403.*signature/i)
})
