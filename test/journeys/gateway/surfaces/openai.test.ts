import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import OpenAI, { BadRequestError, InternalServerError, NotFoundError, RateLimitError } from 'openai'
import { startOpenAI } from '../../../vendors/openai/openai.ts'
import type { Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel, userMessages } from '../world.ts'

let world: World
let vendor: Vendor
let client: OpenAI

before(async () => {
  vendor = await startOpenAI()
  world = await gatewayWorld()
  await world.bring(vendor, 'oa', { models: [pricedModel('gpt-4o'), pricedModel('o4-mini')] })
  client = new OpenAI({ apiKey: world.key.key, baseURL: `${world.server.origin}/compat-a/v1`, maxRetries: 0 })
})
after(async () => {
  await world[Symbol.asyncDispose]()
  await vendor[Symbol.asyncDispose]()
})

const model = 'oa/gpt-4o'
const lastRequest = () => vendor.requests.findLast(({ method }) => method === 'POST')!

test('a chat completion returns as the vendor wrote it, and is priced and recorded', async () => {
  vendor.script({ reply: 'Good morning', usage: { input: 100, cached: 40, output: 25, reasoning: 5 } })
  const { data, response } = await client.chat.completions
    .create({ model, messages: userMessages('hi') })
    .withResponse()
  assert.equal(data.choices[0]!.message.content, 'Good morning')
  assert.equal(data.usage!.prompt_tokens, 100)
  assert.match(response.headers.get('x-uk-route')!, /^provider=oa; seed=\d+$/)
  const id = response.headers.get('x-request-id')!
  assert.equal(response.headers.get('request-id'), id)
  assert.match(response.headers.get('ratelimit')!, /^"inference";r=\d+/)
  assert.equal(response.headers.get('x-service-version'), '2026-11-21')
  const call = await world.record(id)
  assert.deepEqual(
    [call.surface, call.model, call.provider, call.status, call.streamed, call.finish_reason],
    ['compat-a', 'oa/gpt-4o', 'oa', 'succeeded', false, 'stop'],
  )
  assert.deepEqual(
    [call.input_tokens, call.cache_read_tokens, call.output_tokens, call.reasoning_tokens],
    [60n, 40n, 20n, 5n],
    'the buckets are disjoint',
  )
  // 100 in at 1000 nano (no price for cache reads: as input), 25 out at 2000
  assert.deepEqual([call.cost_nano, call.cost_source], [150_000n, 'computed'])
})

test('the bytes pass through: only the value of `model` differs, and the credentials are the provider’s', async () => {
  const text = `{ "seed": 1.0e0,\n "metadata":{"model":"x"}, "model" : "oa/gpt-4o","messages":[{"role":"user","content":"h\\u00e9 \\"model\\" é"}] }`
  const answer = await world.key.post('/compat-a/v1/chat/completions?trace=1&api_key=uk_secret', text, {
    'x-stainless-lang': 'js',
    'openai-organization': 'org-of-mine',
    cookie: 'a=b',
    'x-forwarded-for': '1.2.3.4',
  })
  assert.equal(answer.status, 200, answer.text)
  const { body, headers, query } = lastRequest()
  assert.equal(body.toString(), text.replace('oa/gpt-4o', 'gpt-4o'))
  assert.equal(headers.authorization, `Bearer ${vendor.key}`)
  assert.equal(headers['openai-organization'], 'org-of-mine', 'it is the caller’s own account there')
  assert.deepEqual([...query], [['trace', '1']])
  for (const name of ['cookie', 'x-api-key', 'x-forwarded-for', 'x-stainless-lang'])
    assert.equal(headers[name], undefined, name)
  assert.ok(!JSON.stringify(headers).includes(world.key.key))
})

test('a stream: usage is requested for the client and hidden from it', async () => {
  vendor.script({ reply: 'one two three', usage: { input: 10, output: 3 } })
  const { data: stream, response } = await client.chat.completions
    .create({ model, messages: userMessages('count'), stream: true })
    .withResponse()
  let text = ''
  for await (const chunk of stream) {
    assert.ok(chunk.choices.length > 0, 'no chunk that only says what was used')
    text += chunk.choices[0]!.delta.content ?? ''
  }
  assert.equal(text, 'one two three')
  const { headers } = response
  assert.deepEqual(
    ['content-type', 'cache-control', 'x-accel-buffering', 'content-encoding'].map((name) => headers.get(name)),
    ['text/event-stream; charset=utf-8', 'no-cache', 'no', null],
  )
  assert.deepEqual(lastRequest().json().stream_options, { include_usage: true })
  const call = await world.record(response.headers.get('x-request-id')!)
  assert.deepEqual([call.streamed, call.input_tokens, call.output_tokens, call.cost_nano], [true, 10n, 3n, 16_000n])
  assert.ok(call.first_token_ms !== null && call.first_token_ms <= call.duration_ms)
})

test('a client that requested usage gets it, however the vendor’s bytes are cut', async () => {
  for (const chunking of [1, 7, 1000]) {
    vendor.script({ reply: 'grüße 🌍', chunking })
    const options = { include_usage: true, include_obfuscation: false }
    const stream = client.chat.completions.stream({ model, messages: userMessages('x'), stream_options: options })
    assert.equal(await stream.finalContent(), 'grüße 🌍')
    assert.ok((await stream.totalUsage()).total_tokens > 0)
    assert.deepEqual(lastRequest().json().stream_options, options)
  }
})

test('tools: parallel calls out, results back in', async () => {
  const tools = [
    { name: 'weather', arguments: { city: 'Kyoto' } },
    { name: 'time', arguments: {} },
  ]
  vendor.script({ reply: { tools } }, { reply: 'It rains.' })
  const cities: string[] = []
  const tool = (name: string) => ({
    type: 'function' as const,
    function: {
      name,
      description: name,
      parameters: { type: 'object', properties: {} },
      parse: JSON.parse,
      function: (args: unknown) => {
        cities.push(`${name} ${JSON.stringify(args)}`)
        return 'rain'
      },
    },
  })
  const runner = client.chat.completions.runTools({
    model,
    messages: userMessages('Rain?'),
    tools: [tool('weather'), tool('time')] as never,
    stream: true,
  })
  assert.equal(await runner.finalContent(), 'It rains.')
  assert.deepEqual(cities.toSorted(), ['time {}', 'weather {"city":"Kyoto"}'])
})

test('errors keep their meaning: the vendor’s 400 is a 400, its 401 is never the caller’s', async () => {
  vendor.script({
    status: 400,
    message: "This model's maximum context length is 128 tokens",
    code: 'context_length_exceeded',
  })
  await assert.rejects(client.chat.completions.create({ model, messages: userMessages('x') }), (error) => {
    assert.ok(error instanceof BadRequestError)
    assert.equal(error.code, 'context_length_exceeded')
    assert.ok(error.requestID)
    return true
  })
  await assert.rejects(
    client.chat.completions.create({ model, messages: userMessages('x'), temperature: 9 }),
    (error) => {
      assert.ok(error instanceof BadRequestError)
      assert.equal(error.param, 'temperature', 'the vendor’s own check, passed on')
      return true
    },
  )
  vendor.script({ status: 401, message: `Incorrect API key provided: ${vendor.key}` })
  await assert.rejects(client.chat.completions.create({ model, messages: userMessages('x') }), (error) => {
    assert.ok(error instanceof InternalServerError)
    assert.equal(error.status, 502)
    assert.ok(!error.message.includes(vendor.key))
    return true
  })
  vendor.script({ status: 429, message: 'slow down', headers: { 'retry-after': '7' } })
  await assert.rejects(client.chat.completions.create({ model, messages: userMessages('x') }), (error) => {
    assert.ok(error instanceof RateLimitError)
    assert.equal(error.headers.get('retry-after'), '7')
    return true
  })
  await assert.rejects(
    client.chat.completions.create({ model: 'oa/nothing', messages: userMessages('x') }),
    (error) => {
      assert.ok(error instanceof NotFoundError)
      assert.equal(error.code, 'model_not_found')
      return true
    },
  )
})

test('the simulated models answer, streaming and not, and are listed beside the caller’s own', async () => {
  const whole = await client.chat.completions.create({ model: 'sim/echo', messages: userMessages('three small words') })
  assert.equal(whole.choices[0]!.message.content, 'three small words')
  assert.deepEqual([whole.usage!.prompt_tokens, whole.usage!.completion_tokens], [3, 3])
  const script = {
    turns: [[{ reasoning: 'hm' }, { text: 'Hello' }, { tool_call: { name: 'f', arguments: { a: 1 } } }]],
  }
  const stream = client.chat.completions.stream({ model: 'sim/script', messages: userMessages(JSON.stringify(script)) })
  const message = await stream.finalMessage()
  assert.equal(message.content, 'Hello')
  assert.deepEqual(
    message.tool_calls?.map((call) => call.type === 'function' && call.function.arguments),
    ['{"a":1}'],
  )
  // Ensures a successful call, in case an earlier one failed: models of a failing endpoint aren't listed.
  await client.chat.completions.create({ model, messages: userMessages('x') })
  const { data } = await client.models.list()
  const ids = data.map(({ id }) => id)
  assert.ok(ids.includes('oa/gpt-4o') && ids.includes('sim/echo'), ids.join())
  assert.equal((await client.models.retrieve('oa/gpt-4o')).owned_by, 'oa')
})
