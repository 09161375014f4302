import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import OpenAI, {
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
} from 'openai'
import { startOpenAI } from './openai.ts'
import type { Json, Vendor } from '../vendor.ts'

const client = (vendor: Vendor, apiKey = vendor.key) =>
  new OpenAI({ apiKey, baseURL: `${vendor.origin}/v1`, maxRetries: 0, logLevel: 'off' })
const ask = (content: string, more: Json = {}) => ({
  model: 'gpt-4o-mini',
  messages: [{ role: 'user' as const, content }],
  ...more,
})
const weather = {
  type: 'function' as const,
  function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
}
const twoCalls = {
  tools: [
    { id: 'call_a', name: 'weather', arguments: { city: 'Kyōto' } },
    { id: 'call_b', name: 'weather', arguments: {} },
  ],
}

describe('openai 7.55', () => {
  test('text, usage, and the recorded request', async () => {
    await using vendor = await startOpenAI()
    vendor.script({ reply: 'Hello 東京', usage: { input: 12, output: 30, cached: 4, reasoning: 20 } })
    const answer = await client(vendor).chat.completions.create(ask('Hi'))
    assert.equal(answer.choices[0]?.message.content, 'Hello 東京')
    assert.equal(answer.choices[0]?.finish_reason, 'stop')
    assert.equal(answer.usage?.total_tokens, 42)
    assert.equal(answer.usage?.prompt_tokens_details?.cached_tokens, 4)
    assert.equal(answer.usage?.completion_tokens_details?.reasoning_tokens, 20)
    const [request] = vendor.requests
    assert.equal(request?.path, '/v1/chat/completions')
    assert.equal(request?.json()['model'], 'gpt-4o-mini')
    assert.equal(request?.headers.authorization, `Bearer ${vendor.key}`)
    assert.equal(request?.aborted, false)
  })

  test('echo, and the truncation at max_tokens', async () => {
    await using vendor = await startOpenAI()
    const whole = await client(vendor).chat.completions.create(ask('one two three'))
    assert.equal(whole.choices[0]?.message.content, 'one two three')
    const truncated = await client(vendor).chat.completions.create(ask('one two three', { max_tokens: 2 }))
    assert.equal(truncated.choices[0]?.message.content, 'one two')
    assert.equal(truncated.choices[0]?.finish_reason, 'length')
  })

  test('stream, with usage only on request', async () => {
    await using vendor = await startOpenAI()
    for (const include_usage of [true, false]) {
      const stream = await client(vendor).chat.completions.create({
        ...ask('one two three'),
        stream: true,
        stream_options: { include_usage },
      })
      let text = ''
      const usages: unknown[] = []
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? ''
        usages.push(chunk.usage)
      }
      assert.equal(text, 'one two three')
      assert.equal(usages.filter(Boolean).length, include_usage ? 1 : 0)
      assert.equal(usages[0], include_usage ? null : undefined)
    }
  })

  test('parallel tools, whole and streamed', async () => {
    await using vendor = await startOpenAI()
    vendor.script({ reply: twoCalls, times: 2 })
    const request = { ...ask('Weather?'), tools: [weather] }
    const whole = await client(vendor).chat.completions.create(request)
    const streamedCompletion = await client(vendor).chat.completions.stream(request).finalChatCompletion()
    for (const answer of [whole, streamedCompletion]) {
      assert.equal(answer.choices[0]?.finish_reason, 'tool_calls')
      const calls = answer.choices[0]?.message.tool_calls?.map(
        (call) => call.type === 'function' && [call.id, call.function.arguments],
      )
      assert.deepEqual(calls, [
        ['call_a', '{"city":"Kyōto"}'],
        ['call_b', '{}'],
      ])
    }
    const results = ['call_b', 'call_a'].map((id) => ({ role: 'tool' as const, tool_call_id: id, content: 'sunny' }))
    const { message } = whole.choices[0] ?? assert.fail()
    const next = await client(vendor).chat.completions.create({
      ...request,
      messages: [...request.messages, message, ...results],
    })
    assert.equal(next.choices[0]?.message.content, 'Weather?')
    await assert.rejects(
      client(vendor).chat.completions.create({
        ...request,
        messages: [...request.messages, message, ...results.slice(1)],
      }),
      BadRequestError,
    )
  })
})

describe('openai 7.55, options and models', () => {
  test('a forced tool is called; n choices interleave; a reasoning model counts its reasoning', async () => {
    await using vendor = await startOpenAI()
    const forcedCall = await client(vendor).chat.completions.create({
      ...ask('x'),
      tools: [weather],
      tool_choice: 'required',
    })
    assert.equal(forcedCall.choices[0]?.message.tool_calls?.length, 1)
    const three = await client(vendor)
      .chat.completions.stream({ ...ask('abc'), n: 3 })
      .finalChatCompletion()
    assert.deepEqual(
      three.choices.map((one) => one.message.content),
      ['abc', 'abc', 'abc'],
    )
    const reasoningAnswer = await client(vendor).chat.completions.create(
      ask('x', { model: 'o4-mini', max_completion_tokens: 50 }),
    )
    assert.ok((reasoningAnswer.usage?.completion_tokens_details?.reasoning_tokens ?? 0) > 0)
  })

  test('models and embeddings', async () => {
    await using vendor = await startOpenAI()
    const page = await client(vendor).models.list()
    assert.ok(page.data.some((model) => model.id === 'gpt-4o'))
    assert.equal((await client(vendor).models.retrieve('gpt-4o')).owned_by, 'system')
    await assert.rejects(client(vendor).models.retrieve('gpt-0'), NotFoundError)
    const input = { model: 'text-embedding-3-small', input: ['a', 'b'], dimensions: 8 }
    const decodedEmbedding = await client(vendor).embeddings.create(input)
    const plain = await client(vendor).embeddings.create({ ...input, encoding_format: 'float' })
    assert.deepEqual(decodedEmbedding.data, plain.data)
    assert.equal(decodedEmbedding.data[1]?.embedding.length, 8)
    assert.deepEqual(
      vendor.requests.slice(-2).map((one) => one.json()['encoding_format']),
      ['base64', 'float'],
    )
  })
})

describe('openai 7.55, errors', () => {
  test('rejects what OpenAI rejects', async () => {
    await using vendor = await startOpenAI()
    const create = (more: Json) => client(vendor).chat.completions.create(ask('x', more))
    const assertRejected = async (more: Json, expectedError: Json) => assert.rejects(create(more), expectedError)
    await assertRejected({ messages: 'x' }, { status: 400, code: 'invalid_type', param: 'messages' })
    await assertRejected(
      { messages: [{ role: 'user', content: 7 }] },
      { status: 400, code: 'invalid_type', param: 'messages[0].content' },
    )
    await assertRejected({ messages: [{ role: 'robot', content: 'x' }] }, { status: 400, code: 'invalid_value' })
    await assertRejected(
      { messages: undefined },
      { status: 400, code: 'missing_required_parameter', param: 'messages' },
    )
    await assertRejected({ top_k: 3 }, { status: 400, code: 'unknown_parameter', param: 'top_k' })
    await assertRejected({ temperature: 3 }, { status: 400, param: 'temperature' })
    await assertRejected({ stream_options: { include_usage: true } }, { status: 400, param: 'stream_options' })
    await assertRejected(
      { model: 'o4-mini', max_tokens: 5 },
      { status: 400, code: 'unsupported_parameter', param: 'max_tokens' },
    )
    await assertRejected({ model: 'gpt-0' }, { status: 404, code: 'model_not_found' })
    await assert.rejects(client(vendor, 'sk-wrong').models.list(), AuthenticationError)
    const bare = await fetch(`${vendor.origin}/v1/models`)
    assert.equal(bare.status, 401)
  })

  test('error classes, headers and a retry', async () => {
    await using vendor = await startOpenAI()
    const classes = {
      401: AuthenticationError,
      429: RateLimitError,
      500: InternalServerError,
      529: InternalServerError,
    }
    for (const [status, kind] of Object.entries(classes)) {
      vendor.script({ status: Number(status), headers: { 'retry-after': '7' } })
      await assert.rejects(client(vendor).chat.completions.create(ask('x')), (error) => {
        assert.ok(error instanceof kind)
        assert.equal(error.headers.get('retry-after'), '7')
        assert.match(error.requestID ?? '', /^req_/)
        return true
      })
    }
    vendor.script({ status: 503, headers: { 'retry-after-ms': '1' }, times: 2 })
    const patient = client(vendor).withOptions({ maxRetries: 2 })
    assert.equal((await patient.chat.completions.create(ask('after all'))).choices[0]?.message.content, 'after all')
    assert.equal(vendor.pending(), 0)
  })

  test('a stream that breaks', async () => {
    await using vendor = await startOpenAI()
    vendor.script({ midStreamError: { message: 'burst', type: 'server_error', after: 1 } })
    const chunks: string[] = []
    await assert.rejects(
      async () => {
        const stream = await client(vendor).chat.completions.create({ ...ask('one two three'), stream: true })
        for await (const chunk of stream) chunks.push(chunk.choices[0]?.delta.content ?? '')
      },
      { name: 'Error', message: 'burst', type: 'server_error' },
    )
    assert.deepEqual(chunks, ['', 'one'])
  })
})

test('an older third party reads max_tokens, and doesn’t know the developer role', async () => {
  await using vendor = await startOpenAI({ old: true, otherwise: { talks: 3_000 } })
  const old = new OpenAI({ apiKey: vendor.key, baseURL: `${vendor.origin}/v1`, maxRetries: 0, logLevel: 'off' })
  const textFor = async (more: object) => {
    const messages = [{ role: 'user' as const, content: 'Go on.' }]
    return (await old.chat.completions.create({ model: 'gpt-4o', messages, ...more })).usage!.completion_tokens
  }
  assert.deepEqual([await textFor({ max_tokens: 9 }), await textFor({ max_completion_tokens: 9 })], [9, 3_000])
  await assert.rejects(textFor({ messages: [{ role: 'developer', content: 'Be brief.' }] }), { status: 400 })
})
