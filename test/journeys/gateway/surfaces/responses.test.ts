import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI, { InternalServerError } from 'openai'
import { startAnthropic } from '../../../vendors/anthropic/anthropic.ts'
import { startOpenAI } from '../../../vendors/openai/openai.ts'
import type { Json, Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel, userMessages } from '../world.ts'

let world: World
let openai: Vendor
let anthropic: Vendor
let client: OpenAI

before(async () => {
  openai = await startOpenAI()
  anthropic = await startAnthropic()
  world = await gatewayWorld()
  const thinks = { capabilities: ['tools', 'reasoning'] }
  const models = [pricedModel('gpt-4o', { capabilities: ['tools'] }), pricedModel('o4-mini', thinks)]
  await world.bring(openai, 'rs', { shape: 'openai-responses', models })
  await world.bring(openai, 'oa', { models })
  await world.bring(openai, 'preset', { preset: 'openai', models })
  const claude = [pricedModel('claude-sonnet-5-5', thinks)]
  await world.bring(anthropic, 'an', { shape: 'anthropic-messages', models: claude })
  client = new OpenAI({ apiKey: world.key.key, baseURL: `${world.server.origin}/compat-a/v1`, maxRetries: 0 })
})

after(async () => {
  await world[Symbol.asyncDispose]()
  await openai[Symbol.asyncDispose]()
  await anthropic[Symbol.asyncDispose]()
})

const native = 'rs/gpt-4o'
const foreign = ['oa/gpt-4o', 'an/claude-sonnet-5-5'] as const
const vendorOf = (model: string) => (model.startsWith('an/') ? anthropic : openai)
const lastRequest = (vendor: Vendor) => vendor.requests.findLast(({ method }) => method === 'POST')!

const weather = {
  type: 'function' as const,
  name: 'weather',
  strict: false,
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
}

async function events(body: Json): Promise<Json[]> {
  const params = { ...body, stream: true } as OpenAI.Responses.ResponseCreateParamsStreaming
  const stream = await client.responses.create(params)
  const collectedEvents: Json[] = []
  for await (const event of stream) collectedEvents.push(event)
  return collectedEvents
}

test('a response returns as the vendor wrote it, and is priced and recorded', async () => {
  openai.script({ reply: 'Good morning', usage: { input: 100, cached: 40, output: 25, reasoning: 5 }, times: 2 })
  const { data, response } = await client.responses.create({ model: native, input: 'hi' }).withResponse()
  assert.equal(data.output_text, 'Good morning')
  assert.equal(data.usage!.input_tokens, 100)
  assert.equal(response.headers.get('x-uk-losses'), null)
  const stream = client.responses.stream({ model: native, input: 'hi' })
  assert.equal((await stream.finalResponse()).output_text, 'Good morning')
  const call = await world.record(response.headers.get('x-request-id')!)
  assert.deepEqual(
    [call.surface, call.model, call.status, call.finish_reason, call.cost_nano],
    ['compat-a', native, 'succeeded', 'completed', 150_000n],
  )
  assert.deepEqual(
    [call.input_tokens, call.cache_read_tokens, call.output_tokens, call.reasoning_tokens],
    [60n, 40n, 20n, 5n],
  )
})

test('the bytes pass through with the model replaced, and a stream’s last event is metered', async () => {
  openai.script({ reply: 'one two three', usage: { input: 10, output: 20 }, chunking: 7 })
  const text = `{"input":[{"role":"user","content":"h\\u00e9"}], "model" : "rs/gpt-4o","stream":true,"store":false}`
  const answer = await world.key.post('/compat-a/v1/responses?x=1', text)
  assert.equal(answer.status, 200, answer.text)
  assert.match(answer.text, /event: response.completed/)
  assert.equal(lastRequest(openai).body.toString(), text.replace('rs/gpt-4o', 'gpt-4o'))
  const call = await world.record(answer.headers.get('x-request-id')!)
  assert.deepEqual([call.input_tokens, call.output_tokens, call.streamed], [10n, 20n, true])
})

test('a provider with both of OpenAI’s shapes is called in the one that the client speaks', async () => {
  const model = 'preset/gpt-4o'
  assert.equal((await client.responses.create({ model, input: 'one' })).output_text, 'one')
  assert.equal(lastRequest(openai).path, '/v1/responses')
  assert.equal(
    (await client.chat.completions.create({ model, messages: userMessages('two') })).choices[0]!.message.content,
    'two',
  )
  assert.equal(lastRequest(openai).path, '/v1/chat/completions')
})

test('text, parallel calls, and their results over providers of other shapes, whole and streamed', async () => {
  for (const model of foreign) {
    const vendor = vendorOf(model)
    vendor.script({
      reply: {
        text: 'Let me look.',
        tools: [
          { id: 'call_a', name: 'weather', arguments: { city: 'Kyōto' } },
          { id: 'call_b', name: 'weather', arguments: {} },
        ],
      },
      usage: { input: 100, cached: 40, output: 25 },
      times: 2,
    })
    const params = { model, instructions: 'Be short.', input: userMessages('Weather?'), tools: [weather] }
    const whole = await client.responses.create(params)
    const streamedResponse = await client.responses.stream(params).finalResponse()
    for (const answer of [whole, streamedResponse]) {
      assert.equal(answer.output_text, 'Let me look.')
      for (const item of answer.output) if (item.type === 'message') assert.equal(item.status, 'completed')
      const calls = answer.output.flatMap((item) => (item.type === 'function_call' ? [item] : []))
      assert.deepEqual(
        calls.map((one) => [one.call_id, JSON.parse(one.arguments)]),
        [
          ['call_a', { city: 'Kyōto' }],
          ['call_b', {}],
        ],
      )
      assert.deepEqual(
        [answer.usage!.input_tokens, answer.usage!.input_tokens_details.cached_tokens, answer.usage!.total_tokens],
        [100, 40, 125],
      )
      assert.equal(answer.status, 'completed')
    }
    const results = ['call_b', 'call_a'].map((call_id) => ({
      type: 'function_call_output' as const,
      call_id,
      output: 'sunny',
    }))
    const input = [...params.input, ...(whole.output as OpenAI.Responses.ResponseInputItem[]), ...results]
    assert.equal((await client.responses.create({ ...params, input })).output_text, 'Weather?')
  }
})

test('a stream has every event in its place: numbered, items added before and done after their content', async () => {
  anthropic.script({
    reply: { reasoning: 'Hm, hm', text: 'one two', tools: [{ id: 'c1', name: 'weather', arguments: { a: 1 } }] },
  })
  const streamEvents = await events({
    model: 'an/claude-sonnet-5-5',
    input: 'x',
    tools: [weather],
    reasoning: { effort: 'low', summary: 'auto' },
    include: ['reasoning.encrypted_content'],
  })
  assert.deepEqual(
    streamEvents.map((event) => event['sequence_number']),
    streamEvents.map((_, n) => n),
  )
  const types = streamEvents.map((event) => (event['type'] as string).replace('response.', ''))
  const order = types.filter((type, n) => type !== types[n - 1])
  assert.deepEqual(order, [
    'created',
    'in_progress',
    'output_item.added',
    'reasoning_summary_part.added',
    'reasoning_summary_text.delta',
    'reasoning_summary_text.done',
    'reasoning_summary_part.done',
    'output_item.done',
    'output_item.added',
    'content_part.added',
    'output_text.delta',
    'output_text.done',
    'content_part.done',
    'output_item.done',
    'output_item.added',
    'function_call_arguments.delta',
    'function_call_arguments.done',
    'output_item.done',
    'completed',
  ])
  const done = streamEvents.flatMap((event) => (event['type'] === 'response.output_item.done' ? [event['item']] : []))
  assert.deepEqual(streamEvents.at(-1)?.['response'].output, done)
})

test('reasoning returns to its vendor sealed, byte for byte, over both shapes', async () => {
  anthropic.script({
    reply: { reasoning: 'Hm', signature: 'EqQB+sig/==', tools: [{ id: 'c1', name: 'weather' }] },
  })
  const params = {
    model: 'an/claude-sonnet-5-5',
    tools: [weather],
    store: false,
    reasoning: { effort: 'low' as const },
    include: ['reasoning.encrypted_content' as const],
  }
  const first = await client.responses.create({ ...params, input: userMessages('Weather?') })
  const result = { type: 'function_call_output' as const, call_id: 'c1', output: 'sunny' }
  const input = [...userMessages('Weather?'), ...(first.output as OpenAI.Responses.ResponseInputItem[]), result]
  await client.responses.create({ ...params, input })
  const [thinkingBlock] = lastRequest(anthropic).json()['messages'][1].content
  assert.deepEqual(thinkingBlock, { type: 'thinking', thinking: 'Hm', signature: 'EqQB+sig/==' })
  // The same history for a provider that would reject another's seal: it is sent without it.
  const { response } = await client.responses.create({ ...params, model: 'rs/o4-mini', input }).withResponse()
  assert.equal(response.headers.get('x-uk-losses'), 'messages.reasoning')
  assert.ok(!lastRequest(openai).body.includes('uk1.'))

  // And a client of Messages, with reasoning from a Responses provider.
  const messages = new Anthropic({ apiKey: world.key.key, baseURL: `${world.server.origin}/compat-b`, maxRetries: 0 })
  openai.script({ reply: { reasoning: 'So', tools: [{ id: 'c2', name: 'weather' }] } })
  const tools = [{ name: 'weather', input_schema: { type: 'object' as const } }]
  const ask = { model: 'rs/o4-mini', max_tokens: 99, tools, thinking: { type: 'adaptive' as const } }
  const turn = await messages.messages.create({ ...ask, messages: userMessages('Weather?') })
  assert.deepEqual(
    turn.content.map(({ type }) => type),
    ['thinking', 'tool_use'],
  )
  const back = [{ type: 'tool_result' as const, tool_use_id: 'c2', content: 'sunny' }]
  const history = [
    ...userMessages('Weather?'),
    { role: 'assistant' as const, content: turn.content as Anthropic.ContentBlockParam[] },
    { role: 'user' as const, content: back },
  ]
  const last = await messages.messages.create({ ...ask, messages: history })
  assert.equal(last.stop_reason, 'end_turn')
  const item = (lastRequest(openai).json()['input'] as Json[]).find(({ type }) => type === 'reasoning')
  assert.ok(item?.['encrypted_content'])
})

test('free-text tools and namespaced tools work with models that support neither', async () => {
  const patch = '*** Begin Patch\n"quoted"\n*** End Patch'
  for (const model of foreign) {
    const vendor = vendorOf(model)
    vendor.script({
      reply: {
        tools: [
          { id: 'c1', name: 'apply_patch', arguments: { input: patch } },
          { id: 'c2', name: 'files__read', arguments: { path: 'a' } },
        ],
      },
    })
    const tools = [
      { type: 'custom', name: 'apply_patch', format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' } },
      { type: 'namespace', name: 'files', tools: [{ ...weather, name: 'read' }] },
      { type: 'web_search' },
    ] as OpenAI.Responses.Tool[]
    const stream = client.responses.stream({ model, input: 'x', tools })
    const answer = await stream.finalResponse()
    const [custom, inside] = answer.output
    assert.deepEqual(custom, { ...custom, type: 'custom_tool_call', call_id: 'c1', name: 'apply_patch', input: patch })
    assert.deepEqual(inside, { ...inside, type: 'function_call', call_id: 'c2', name: 'read', namespace: 'files' })
    const input = [
      { role: 'user', content: 'x' },
      ...answer.output,
      { type: 'custom_tool_call_output', call_id: 'c1', output: 'done' },
      { type: 'function_call_output', call_id: 'c2', output: [{ type: 'input_text', text: 'text' }] },
    ] as OpenAI.Responses.ResponseInput
    const { data, response } = await client.responses.create({ model, input, tools }).withResponse()
    assert.equal(data.output_text, 'x')
    assert.match(response.headers.get('x-uk-losses')!, /tools\.web_search/)
  }
})

test('chat completions over a provider that only speaks Responses', async () => {
  openai.script({
    reply: { text: 'Hi', tools: [{ id: 'c1', name: 'weather', arguments: { city: 'Oslo' } }] },
    times: 2,
  })
  const params = {
    model: native,
    messages: [{ role: 'system' as const, content: 'Be short.' }, ...userMessages('Weather?')],
    tools: [{ type: 'function' as const, function: { name: 'weather', parameters: weather.parameters } }],
    max_tokens: 50,
  }
  const whole = await client.chat.completions.create(params)
  const streamedCompletion = await client.chat.completions.stream(params).finalChatCompletion()
  for (const { choices } of [whole, streamedCompletion]) {
    assert.equal(choices[0]!.message.content, 'Hi')
    const [call] = choices[0]!.message.tool_calls!
    assert.equal(call?.type === 'function' && call.function.arguments, '{"city":"Oslo"}')
    assert.equal(choices[0]!.finish_reason, 'tool_calls')
  }
  const { input, store, tools } = lastRequest(openai).json()
  assert.deepEqual(
    input.map(({ role }: Json) => role),
    ['system', 'user'],
  )
  assert.deepEqual([store, tools[0].strict], [false, false])
  const messages = [
    ...params.messages,
    whole.choices[0]!.message,
    { role: 'tool' as const, tool_call_id: 'c1', content: 'sun' },
  ]
  assert.equal((await client.chat.completions.create({ ...params, messages })).choices[0]!.message.content, 'Weather?')
  const short = await client.chat.completions.create({ ...params, max_tokens: 5 }).asResponse()
  assert.deepEqual([short.headers.get('x-uk-losses'), lastRequest(openai).json().max_output_tokens], ['max_tokens', 16])
  openai.script({ reply: 'Sun, then rain.' })
  const stoppedCompletion = await client.chat.completions.create({ ...params, stop: 'then' })
  assert.deepEqual(
    [stoppedCompletion.choices[0]!.message.content, stoppedCompletion.choices[0]!.finish_reason],
    ['Sun, ', 'stop'],
  )
})

test('a truncated answer is incomplete; a failed answer has failed; one that never started is an error', async () => {
  for (const model of foreign) {
    const vendor = vendorOf(model)
    const body = { model, input: 'one two three four', max_output_tokens: 2 }
    const truncatedResponse = await client.responses.create(body)
    assert.deepEqual(
      [truncatedResponse.status, truncatedResponse.incomplete_details?.reason],
      ['incomplete', 'max_output_tokens'],
    )
    vendor.script({ midStreamError: { status: 529, message: 'too much', after: 2 } })
    const brokenEvents = await events({ model, input: 'one two three' })
    assert.equal(brokenEvents.at(-1)?.['type'], 'response.failed')
    assert.match(brokenEvents.at(-1)?.['response'].error.message, /too much/)
    vendor.script({ status: 401 })
    await assert.rejects(events({ model, input: 'x' }), InternalServerError)
  }
  openai.script({ garbage: 'truncated' })
  await assert.rejects(events({ model: native, input: 'one two three' }), /ended early/)
  openai.script({ midStreamError: { message: 'burst' } })
  const passedEvents = await events({ model: native, input: 'one two three' })
  assert.equal(passedEvents.at(-1)?.['response'].error.message, 'burst')
})

test('simulated models answer responses too, and tokens are counted without an answer', async () => {
  const answer = await client.responses.stream({ model: 'sim/echo', input: 'one two three' }).finalResponse()
  assert.equal(answer.output_text, 'one two three')
  assert.equal(answer.usage!.output_tokens, 3)
  for (const model of [native, ...foreign, 'sim/echo']) {
    const { input_tokens } = await client.responses.inputTokens.count({ model, input: 'one two three' })
    assert.ok(input_tokens > 0, model)
  }
})

test('a Responses request on the path of Chat Completions is answered as a chat completion', async () => {
  const tools = [
    { ...weather, name: 'look' },
    { type: 'custom', name: 'patch' },
  ]
  for (const model of [native, ...foreign]) {
    vendorOf(model).script({ reply: { text: 'Hi', tools: [{ id: 'c1', name: 'look', arguments: {} }] } })
    const body = { model, stream: true, input: [{ role: 'user', content: 'x' }], tools }
    const answer = await world.key.post('/compat-a/v1/chat/completions', JSON.stringify(body))
    assert.equal(answer.status, 200, answer.text)
    assert.match(
      answer.text,
      /"object":"chat.completion.chunk"[\s\S]*"content":"Hi"[\s\S]*"name":"look"[\s\S]*\[DONE\]/,
    )
  }
})
