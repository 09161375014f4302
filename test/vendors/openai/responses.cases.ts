import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import OpenAI, { BadRequestError, NotFoundError, RateLimitError } from 'openai'
import { startOpenAI } from './openai.ts'
import type { Json, Vendor } from '../vendor.ts'

const client = (vendor: Vendor) =>
  new OpenAI({ apiKey: vendor.key, baseURL: `${vendor.origin}/v1`, maxRetries: 0, logLevel: 'off' })
const weather = {
  type: 'function' as const,
  name: 'weather',
  strict: false,
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
}
const sealedParams = { model: 'o4-mini', store: false, include: ['reasoning.encrypted_content' as const] }

async function events(vendor: Vendor, body: Json): Promise<Json[]> {
  const allEvents: Json[] = []
  const stream = await client(vendor).responses.create({ ...body, stream: true })
  for await (const event of stream) allEvents.push(event)
  return allEvents
}

describe('openai 7.55, responses', () => {
  test('text, usage in its parts, the truncation', async () => {
    await using vendor = await startOpenAI()
    vendor.script({ reply: 'Hello 東京', usage: { input: 12, output: 30, cached: 4, reasoning: 20 } })
    const answer = await client(vendor).responses.create({ model: 'gpt-4o', input: 'Hi', instructions: 'Be brief.' })
    assert.equal(answer.output_text, 'Hello 東京')
    assert.equal(answer.status, 'completed')
    assert.equal(answer.usage?.total_tokens, 42)
    assert.equal(answer.usage?.input_tokens_details.cached_tokens, 4)
    const input = Array.from({ length: 40 }, (_, n) => `w${n}`).join(' ')
    const truncated = await client(vendor).responses.create({ model: 'gpt-4o', input, max_output_tokens: 16 })
    assert.deepEqual([truncated.status, truncated.incomplete_details?.reason], ['incomplete', 'max_output_tokens'])
  })

  test('a stream has every event in order, with sequence numbers', async () => {
    await using vendor = await startOpenAI()
    vendor.script({
      reply: {
        reasoning: 'think about it',
        text: 'Hello you',
        citations: [{ url: 'https://example.com/a', title: 'A', start_index: 0, end_index: 5 }],
        tools: [
          { id: 'call_a', name: 'weather', arguments: { city: 'Kyōto' } },
          { id: 'call_b', name: 'sql', arguments: 'select 1' },
        ],
      },
    })
    const body = {
      model: 'o4-mini',
      input: 'x',
      reasoning: { summary: 'auto' },
      tools: [weather, { type: 'custom', name: 'sql' }],
    }
    const streamEvents = await events(vendor, body)
    assert.deepEqual(
      streamEvents.map((event) => event['sequence_number']),
      [...streamEvents.keys()],
    )
    const types = streamEvents.map((event) => event['type'].replace('response.', '') as string)
    assert.deepEqual(
      types.filter((type, n) => types[n - 1] !== type),
      [
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
        'output_text.annotation.added',
        'output_text.done',
        'content_part.done',
        'output_item.done',
        'output_item.added',
        'function_call_arguments.delta',
        'function_call_arguments.done',
        'output_item.done',
        'output_item.added',
        'custom_tool_call_input.delta',
        'custom_tool_call_input.done',
        'output_item.done',
        'completed',
      ],
    )
    assert.deepEqual(
      streamEvents.at(-1)?.['response'].output.map((item: Json) => item['type']),
      ['reasoning', 'message', 'function_call', 'custom_tool_call'],
    )
  })
})

describe('openai 7.55, responses, kept and sealed parts', () => {
  test('the official accumulator accepts every kind of stream', async () => {
    await using vendor = await startOpenAI({ reasoningText: true })
    vendor.script(
      {
        reply: { reasoning: 'hm', tools: [{ id: 'call_a', name: 'weather', arguments: { city: 'Bern' } }] },
        chunking: 3,
      },
      { reply: { refusal: 'I would rather not' } },
    )
    const stream = (input: string) =>
      client(vendor)
        .responses.stream({ model: 'o4-mini', input, tools: [weather] })
        .finalResponse()
    const callStream = await stream('x')
    assert.deepEqual(
      callStream.output.map((item) => item.type),
      ['reasoning', 'function_call'],
    )
    const refusalStream = await stream('y')
    const [message] = refusalStream.output
    assert.equal(message?.type === 'message' && message.content[0]?.type, 'refusal')
  })

  test('reasoning comes back sealed, and only unchanged', async () => {
    await using vendor = await startOpenAI()
    vendor.script({ reply: { reasoning: 'hm', tools: [{ id: 'call_a', name: 'weather' }] } })
    const first = await client(vendor).responses.create({ ...sealedParams, input: 'x', tools: [weather] })
    const result = { type: 'function_call_output' as const, call_id: 'call_a', output: 'sunny' }
    const next = (output: Json[]) =>
      client(vendor).responses.create({
        ...sealedParams,
        tools: [weather],
        input: [{ role: 'user', content: 'x' }, ...(output as OpenAI.Responses.ResponseInputItem[]), result],
      })
    assert.equal((await next(first.output as unknown as Json[])).output_text, 'x')
    const [reasoningItem, call] = first.output as unknown as Json[]
    await assert.rejects(next([{ ...reasoningItem, encrypted_content: 'b3RoZXI=' }, call ?? {}]), {
      status: 400,
      code: 'invalid_encrypted_content',
    })
    await assert.rejects(next([{ ...reasoningItem, encrypted_content: null }, call ?? {}]), NotFoundError)
    await assert.rejects(next([]), BadRequestError)
  })

  test('stored responses can be continued, read, and removed', async () => {
    await using vendor = await startOpenAI()
    vendor.script({ reply: { tools: [{ id: 'call_a', name: 'weather' }] } })
    const first = await client(vendor).responses.create({ model: 'gpt-4o', input: 'first', tools: [weather] })
    const second = await client(vendor).responses.create({
      model: 'gpt-4o',
      previous_response_id: first.id,
      input: [{ type: 'function_call_output', call_id: 'call_a', output: 'sunny' }],
    })
    assert.equal(second.output_text, 'first')
    assert.equal((await client(vendor).responses.retrieve(second.id)).output_text, 'first')
    assert.equal((await client(vendor).responses.inputItems.list(second.id)).data.length, 4)
    await client(vendor).responses.delete(second.id)
    await assert.rejects(client(vendor).responses.retrieve(second.id), NotFoundError)
    const unstoredResponse = await client(vendor).responses.create({ model: 'gpt-4o', input: 'x', store: false })
    await assert.rejects(client(vendor).responses.retrieve(unstoredResponse.id), NotFoundError)
    const { input_tokens } = await client(vendor).responses.inputTokens.count({ model: 'gpt-4o', input: 'one two' })
    assert.ok(input_tokens > 0)
  })
})

describe('openai 7.55, responses, references', () => {
  test('stored items, responses, and conversations can be referenced; others can’t', async () => {
    await using vendor = await startOpenAI({ keys: ['sk-other'] })
    const ask = (body: Json, key = vendor.key) =>
      new OpenAI({ apiKey: key, baseURL: `${vendor.origin}/v1`, maxRetries: 0 }).responses.create({
        model: 'gpt-4o',
        ...body,
      }) as Promise<OpenAI.Responses.Response>
    const refer = (id: string) => ({
      input: [
        { type: 'item_reference', id },
        { role: 'user', content: 'and?' },
      ],
    })
    const first = await ask({ input: 'remember me' })
    const item = first.output[0]!.id!
    await ask(refer(item))
    assert.deepEqual(
      vendor.requests.at(-1)!.seen!.messages.map((one) => one['content'][0].text ?? one['content']),
      ['remember me', 'and?'],
    )
    const missing = { status: 404, param: 'input', code: null, type: 'invalid_request_error' }
    await assert.rejects(ask(refer(item), 'sk-other'), missing, 'another account has not stored it')
    await assert.rejects(ask(refer('msg_none')), { ...missing, message: "404 Item with id 'msg_none' not found." })
    const unstoredResponse = await ask({ input: 'forget me', store: false })
    await assert.rejects(
      ask({ ...refer(unstoredResponse.output[0]!.id!), store: false }),
      /Items are not persisted when `store`/,
    )
    await assert.rejects(ask({ input: 'x', previous_response_id: first.id }, 'sk-other'), {
      code: 'previous_response_not_found',
    })

    const { id: conversation } = await client(vendor).conversations.create({
      items: [{ role: 'user', content: 'one' }],
    })
    await ask({ input: 'two', conversation })
    await ask({ input: 'three', conversation: { id: conversation } })
    assert.deepEqual(
      vendor.requests.at(-1)!.seen!.messages.map((one) => one['content'][0].text ?? one['content']),
      ['one', 'two', 'two', 'three'],
    )
    await assert.rejects(ask({ input: 'x', conversation }, 'sk-other'), { status: 404 })
    await assert.rejects(ask({ input: 'x', conversation, previous_response_id: first.id }), {
      code: 'mutually_exclusive_parameters',
    })
  })

  test('files, containers, and stores belong to the account of a key, and reads are recorded', async () => {
    await using vendor = await startOpenAI({ keys: ['sk-other'] })
    const ids = ['file', 'container', 'vector_store'].map((kind) => vendor.keep({ kind, text: `secret ${kind}` }))
    const [file, container, vectors] = ids
    const other = vendor.keep({ kind: 'file', text: 'theirs', key: 'sk-other' })
    const ways: Json[] = [
      { input: [{ role: 'user', content: [{ type: 'input_file', file_id: file }] }] },
      { input: [{ role: 'user', content: [{ type: 'input_image', file_id: file }] }] },
      { tools: [{ type: 'code_interpreter', container }] },
      { tools: [{ type: 'code_interpreter', container: { type: 'auto', file_ids: [file] } }] },
      { tools: [{ type: 'file_search', vector_store_ids: [vectors] }] },
    ]
    for (const way of ways) {
      const body = { model: 'gpt-4o', input: 'x', ...way }
      const answer = await client(vendor).responses.create(body)
      const [storedFile] = vendor.requests.at(-1)!.seen!.read
      assert.ok(storedFile && ids.includes(storedFile.id), JSON.stringify(way))
      assert.match(answer.output_text, /secret/)
      const stranger = new OpenAI({ apiKey: 'sk-other', baseURL: `${vendor.origin}/v1`, maxRetries: 0 })
      await assert.rejects(stranger.responses.create(body), { status: 404 }, JSON.stringify(way))
    }
    const part = (file_id: string) => ({
      model: 'gpt-4o',
      messages: [{ role: 'user' as const, content: [{ type: 'file' as const, file: { file_id } }] }],
    })
    await client(vendor).chat.completions.create(part(file!))
    assert.equal(vendor.requests.at(-1)!.seen!.read[0]!.text, 'secret file')
    await assert.rejects(client(vendor).chat.completions.create(part(other)), { status: 404 })
    const schema = { type: 'object', properties: { file_id: { type: 'string', default: 'x' } }, required: ['file_id'] }
    await client(vendor).responses.create({
      model: 'gpt-4o',
      input: 'x',
      tools: [{ ...weather, parameters: schema }],
      metadata: { file_id: 'x' },
    })
  })
})

describe('openai 7.55, responses, errors', () => {
  test('rejects what OpenAI rejects', async () => {
    await using vendor = await startOpenAI()
    const assertRejected = async (more: Json, expectedError: Json) =>
      assert.rejects(client(vendor).responses.create({ model: 'gpt-4o', input: 'x', ...more }), expectedError)
    await assertRejected({ messages: [] }, { status: 400, code: 'unknown_parameter', param: 'messages' })
    await assertRejected(
      { input: [{ role: 'robot', content: 'x' }] },
      { code: 'invalid_value', param: 'input[0].role' },
    )
    await assertRejected(
      { input: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }] },
      { code: 'invalid_value' },
    )
    await assertRejected({ tools: [{ type: 'function', function: { name: 'x' } }] }, { param: 'tools[0].name' })
    await assertRejected({ max_output_tokens: 5 }, { code: 'integer_below_min_value', param: 'max_output_tokens' })
    await assertRejected({ reasoning: { effort: 'low' } }, { code: 'unsupported_parameter', param: 'reasoning.effort' })
    await assertRejected(
      { model: 'o4-mini', temperature: 0.5 },
      { code: 'unsupported_parameter', param: 'temperature' },
    )
    await assertRejected({ model: 'gpt-0' }, { status: 400, code: 'model_not_found' })
    const functionCall = { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{}' }
    const callOutput = (more: Json) => ({
      input: [
        { ...functionCall, ...more },
        { type: 'function_call_output', call_id: more['call_id'] ?? 'call_1', output: '' },
      ],
    })
    await assertRejected(callOutput({ id: 'toolu_1' }), { code: 'invalid_value', param: 'input[0].id' })
    await assertRejected(callOutput({ call_id: 'c'.repeat(65) }), {
      code: 'string_above_max_length',
      param: 'input[0].call_id',
    })
    await assertRejected({ previous_response_id: 'resp_0' }, { code: 'previous_response_not_found' })
    vendor.script({ status: 429 })
    await assert.rejects(client(vendor).responses.create({ model: 'gpt-4o', input: 'x' }), RateLimitError)
  })

  test('a stream breaks with response.failed, or with a bare error', async () => {
    await using vendor = await startOpenAI()
    vendor.script({ midStreamError: { message: 'burst', after: 3 } })
    const lastEvent = (await events(vendor, { model: 'gpt-4o', input: 'one two three' })).at(-1)
    assert.equal(lastEvent?.['type'], 'response.failed')
    assert.deepEqual(lastEvent?.['response'].error, { code: 'server_error', message: 'burst' })
    assert.equal(lastEvent?.['sequence_number'], 5)
    vendor.script({ midStreamError: { message: 'burst', as: 'error' } })
    await assert.rejects(events(vendor, { model: 'gpt-4o', input: 'one two three' }), /burst/)
  })
})
