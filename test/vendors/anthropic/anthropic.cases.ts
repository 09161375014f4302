import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import Sdk1 from '@anthropic-ai/sdk'
import Sdk0 from 'anthropic-sdk-0'
import { startAnthropic } from './anthropic.ts'
import type { Json, Vendor } from '../vendor.ts'

// The two SDKs' types only differ where this file doesn't use them.
const sdks = { '1.11': Sdk1, '0.137': Sdk0 as unknown as typeof Sdk1 }
const ask = (content: string) => ({
  model: 'claude-opus-5-5',
  max_tokens: 2000,
  messages: [{ role: 'user' as const, content }],
})
const weather = { name: 'weather', input_schema: { type: 'object' as const, properties: { city: { type: 'string' } } } }

for (const [release, Sdk] of Object.entries(sdks)) {
  const client = (vendor: Vendor, apiKey = vendor.key) =>
    new Sdk({ apiKey, authToken: null, baseURL: vendor.origin, maxRetries: 0, logLevel: 'off' })

  describe(`@anthropic-ai/sdk ${release}`, () => {
    test('text, usage, and the requested version', async () => {
      await using vendor = await startAnthropic()
      vendor.script({ reply: 'Hello 東京', usage: { input: 20, output: 9, cached: 6, cacheWrite: 4 } })
      const answer = await client(vendor).messages.create(ask('Hi'))
      assert.equal(answer.content[0]?.type === 'text' && answer.content[0].text, 'Hello 東京')
      assert.equal(answer.stop_reason, 'end_turn')
      const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens, output_tokens } = answer.usage
      assert.deepEqual(
        [input_tokens, cache_read_input_tokens, cache_creation_input_tokens, output_tokens],
        [10, 6, 4, 9],
      )
      const { headers } = vendor.requests[0] ?? assert.fail()
      assert.equal(headers['anthropic-version'], release === '1.11' ? '2026-10-21' : '2023-06-01')
      assert.equal(headers[release === '1.11' ? 'authorization' : 'x-api-key']?.includes(vendor.key), true)
    })

    test('stream: thinking with its signature, text, two tools, correct totals at the end', async () => {
      await using vendor = await startAnthropic()
      vendor.script({
        reply: {
          reasoning: 'Look outside first.',
          signature: 'c2lnbmVk',
          text: 'Let me look.',
          tools: [{ id: 'toolu_a', name: 'weather', arguments: { city: 'Kyōto' } }, { name: 'weather' }],
        },
        usage: { input: 30, output: 44, reasoning: 11, cached: 10 },
      })
      const stream = client(vendor).messages.stream({ ...ask('Weather?'), tools: [weather] })
      const names: string[] = []
      for await (const event of stream) names.push(event.type)
      const message = await stream.finalMessage()
      assert.deepEqual(
        message.content.map((block) => block.type),
        ['thinking', 'text', 'tool_use', 'tool_use'],
      )
      const [thinking, , first, second] = message.content as unknown as Json[]
      assert.equal(thinking?.['signature'], 'c2lnbmVk')
      assert.equal(thinking?.['thinking'], 'Look outside first.')
      assert.deepEqual([first?.['id'], first?.['input'], second?.['input']], ['toolu_a', { city: 'Kyōto' }, {}])
      assert.equal(message.stop_reason, 'tool_use')
      assert.deepEqual(
        [message.usage.input_tokens, message.usage.output_tokens, message.usage.cache_read_input_tokens],
        [20, 44, 10],
      )
      assert.equal(names.at(-1), 'message_stop')

      const results = message.content.filter((block) => block.type === 'tool_use').toReversed()
      const content = results.map((block) => ({
        type: 'tool_result' as const,
        tool_use_id: block.id,
        content: 'sunny',
      }))
      const history = [...ask('Weather?').messages, { role: 'assistant' as const, content: message.content as never }]
      const next = { ...ask('x'), tools: [weather], messages: [...history, { role: 'user' as const, content }] }
      assert.equal((await client(vendor).messages.create(next)).stop_reason, 'end_turn')
      await assert.rejects(
        client(vendor).messages.create({
          ...next,
          messages: [...history, { role: 'user', content: content.slice(1) }],
        }),
        Sdk.BadRequestError,
      )
    })

    test('omitted thinking only leaves a signature', async () => {
      await using vendor = await startAnthropic()
      const answer = await client(vendor).messages.create({
        ...ask('Hi'),
        thinking: { type: 'adaptive', display: 'omitted' },
      })
      const [thinking] = answer.content
      assert.equal(thinking?.type === 'thinking' && thinking.thinking === '' && thinking.signature.length > 0, true)
    })

    test('token counts and models, page by page', async () => {
      await using vendor = await startAnthropic()
      const { model, messages } = ask('Hello there')
      assert.ok((await client(vendor).messages.countTokens({ model, messages })).input_tokens > 0)
      const ids: string[] = []
      for await (const one of client(vendor).models.list({ limit: 2 })) ids.push(one.id)
      assert.deepEqual(ids, ['claude-opus-5-5', 'claude-sonnet-5-5', 'claude-haiku-4-5'])
      assert.equal((await client(vendor).models.retrieve('claude-haiku-4-5')).display_name, 'Claude Haiku 4.5')
    })
  })

  describe(`@anthropic-ai/sdk ${release}, fields and errors`, () => {
    test('sampling fields only exist in 2023-06-01', async () => {
      await using vendor = await startAnthropic()
      const hot = { ...ask('Hi'), temperature: 0.5, top_k: 4 } as ReturnType<typeof ask>
      if (release === '0.137') assert.equal((await client(vendor).messages.create(hot)).role, 'assistant')
      else await assert.rejects(client(vendor).messages.create(hot), /400.*temperature: Extra inputs are not permitted/)
    })

    test('error classes with one request id', async () => {
      await using vendor = await startAnthropic()
      const statuses = {
        401: 'AuthenticationError',
        429: 'RateLimitError',
        500: 'InternalServerError',
        529: release === '1.11' ? 'OverloadedError' : 'InternalServerError',
      }
      for (const [status, name] of Object.entries(statuses)) {
        vendor.script({ status: Number(status), message: 'no luck', headers: { 'retry-after': '3' } })
        await assert.rejects(client(vendor).messages.create(ask('x')), (error) => {
          assert.ok(error instanceof Sdk.APIError)
          assert.ok(
            error instanceof ((Sdk as unknown as Record<string, typeof Error>)[name] ?? Sdk.InternalServerError),
          )
          assert.equal(error.headers?.get('retry-after'), '3')
          assert.equal((error.error as Json)['request_id'], error.requestID)
          return true
        })
      }
      await assert.rejects(client(vendor, 'wrong').messages.create(ask('x')), Sdk.AuthenticationError)
      await assert.rejects(client(vendor).messages.create({ ...ask('x'), model: 'claude-0' }), Sdk.NotFoundError)
    })

    test('a stream that breaks', async () => {
      await using vendor = await startAnthropic()
      vendor.script({ midStreamError: { type: 'overloaded_error', message: 'Overloaded', after: 3 } })
      const events: string[] = []
      await assert.rejects(async () => {
        for await (const event of client(vendor).messages.stream(ask('one two three'))) events.push(event.type)
      }, /overloaded_error/)
      assert.equal(events.includes('content_block_delta') && !events.includes('message_stop'), true)
    })
  })
}

test('anthropic rejects what Anthropic rejects', async () => {
  await using vendor = await startAnthropic()
  const post = async (body: Json, headers: Record<string, string> = {}) => {
    const response = await fetch(`${vendor.origin}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': vendor.key, 'anthropic-version': '2023-06-01', ...headers },
      body: JSON.stringify({ ...ask('Hi'), ...body }),
    })
    return [response.status, ((await response.json()) as Json)['error']?.message]
  }
  const say = (role: string, content: unknown) => ({
    messages: [
      { role: 'user', content: 'Hi' },
      { role, content },
    ],
  })
  assert.deepEqual(await post({}), [200, undefined])
  assert.deepEqual(await post({ max_tokens: undefined }), [400, 'max_tokens: Field required'])
  assert.deepEqual(await post({ response_format: {} }), [400, 'response_format: Extra inputs are not permitted'])
  assert.deepEqual(await post({ context_management: {} }), [400, 'context_management: Extra inputs are not permitted'])
  assert.equal((await post({ context_management: {} }, { 'anthropic-beta': 'context-management-2025-06-27' }))[0], 200)
  assert.deepEqual(await post(say('user', ' ')), [
    400,
    'messages: text content blocks must contain non-whitespace text',
  ])
  assert.deepEqual(await post(say('assistant', 'a ')), [
    400,
    'messages: final assistant content cannot end with trailing whitespace',
  ])
  assert.equal((await post(say('assistant', 'a')))[0], 200)
  assert.equal((await post(say('system', 'Be brief.')))[0], 200)
  assert.deepEqual(await post(say('user', [{ type: 'thinking', thinking: '' }])), [
    400,
    'messages.1.content.0.signature: Field required',
  ])
  assert.equal((await post({ thinking: { type: 'enabled', budget_tokens: 1000 } }))[0], 400)
  assert.deepEqual(await post({}, { 'anthropic-version': '2020-01-01' }), [
    400,
    'anthropic-version: "2020-01-01" is not a valid version',
  ])
  const document = [{ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'x' } }]
  assert.equal((await post(say('assistant', document)))[0], 200)
  assert.equal((await post(say('assistant', document), { 'anthropic-version': '2026-10-21' }))[0], 400)
})

const threads = 'message-threads-2026-08-12'
const steps = { maxRetries: 0, logLevel: 'off' as const }

test('a tool runner continues in a thread: each turn sends what is new, and the model gets everything', async () => {
  await using vendor = await startAnthropic()
  vendor.script(
    { reply: { text: 'Let me look.', tools: [{ id: 'toolu_1', name: 'weather', arguments: { city: 'Kyōto' } }] } },
    { reply: { tools: [{ id: 'toolu_2', name: 'weather', arguments: { city: 'Nara' } }] } },
    { reply: 'Both are sunny.' },
  )
  const client = new Sdk1({ apiKey: vendor.key, baseURL: vendor.origin, ...steps })
  const run = async (city: unknown) => `sunny in ${(city as Json)['city']}`
  const tool = { ...weather, type: 'custom' as const, parse: (input: unknown) => input, run }
  const runner = client.beta.messages.toolRunner({ ...ask('Weather?'), system: 'Be brief.', tools: [tool] })
  const last = await runner
  assert.equal(last.content[0]?.type === 'text' && last.content[0].text, 'Both are sunny.')
  assert.deepEqual(
    vendor.requests.map((one) => [one.json()['thread'].type, one.json()['messages'].length, one.seen!.messages.length]),
    [
      ['create', 1, 1],
      ['continue', 1, 3],
      ['continue', 1, 5],
    ],
  )
  assert.deepEqual(
    Object.keys(vendor.requests[2]!.json()).filter((field) => /system|tools/.test(field)),
    [],
  )
  assert.match(JSON.stringify(vendor.requests[2]!.seen!.messages), /sunny in Kyōto.*sunny in Nara/)
})

test('a lost thread is 404 `thread_not_found`, and the client sends the whole conversation again', async () => {
  await using vendor = await startAnthropic()
  const client = new Sdk1({ apiKey: vendor.key, baseURL: vendor.origin, ...steps })
  const thread = client.beta.messages.thread({ model: 'claude-opus-5-5', max_tokens: 100 })
  await thread.send({ role: 'user', content: 'one' })
  vendor.script({ forgets: true })
  await thread.send({ role: 'user', content: 'two' })
  assert.deepEqual(
    vendor.requests.map((one) => [one.json()['thread'].type, one.seen?.messages.length]),
    [
      ['create', 1],
      ['continue', undefined],
      ['create', 3],
    ],
  )
})

test('a thread belongs to one key, continues from its last answer only, and keeps its first settings', async () => {
  await using vendor = await startAnthropic({ keys: ['sk-other'] })
  const send = async (body: Json, key = vendor.key, beta = threads) => {
    const headers = { 'x-api-key': key, 'anthropic-version': '2023-06-01', 'anthropic-beta': beta }
    const request = { method: 'POST', headers, body: JSON.stringify({ ...ask('more'), ...body }) }
    const answer = await fetch(`${vendor.origin}/v1/messages`, request)
    const json = (await answer.json()) as Json
    return { status: answer.status, id: json['id'] as string, code: json['error']?.details?.error_code, ...json }
  }
  const go = (previous_message_id: string) => ({ thread: { type: 'continue', previous_message_id } })
  assert.equal((await send({ thread: { type: 'create' } }, vendor.key, 'other-beta')).status, 400)
  const first = await send({ thread: { type: 'create' } })
  const notFound = [404, 'thread_not_found']
  const errorOf = async (body: Json, key?: string) => {
    const { status, code } = await send(body, key)
    return [status, code]
  }
  assert.deepEqual(await errorOf(go('msg_none')), notFound)
  assert.deepEqual(await errorOf(go(first.id), 'sk-other'), notFound)
  assert.deepEqual(await errorOf({ ...go(first.id), output_config: { effort: 'low' } }), [
    400,
    'thread_fingerprint_mismatch',
  ])
  assert.deepEqual(await errorOf({ ...go(first.id), system: 'x' }), [400, undefined])
  const second = await send(go(first.id))
  assert.equal(second.status, 200)
  assert.deepEqual(await errorOf(go(first.id)), [400, 'thread_already_continued'])
  assert.deepEqual(await errorOf({ ...go(second.id), messages: [] }), [200, undefined])
  const plain = await send({})
  assert.deepEqual(await errorOf(go(plain.id)), notFound, 'nobody asked to keep it')
})

test('files and containers belong to the account of a key, and reads are recorded', async () => {
  await using vendor = await startAnthropic({ keys: ['sk-other'] })
  const file_id = vendor.keep({ kind: 'file', text: 'secret file' })
  const container = vendor.keep({ kind: 'container', text: 'secret container' })
  const content = [{ type: 'document' as const, source: { type: 'file' as const, file_id } }]
  const ways: Json[] = [{ messages: [{ role: 'user', content }] }, { container }, { container: { id: container } }]
  for (const way of ways) {
    const body = { ...ask('Read.'), ...way }
    const answer = await new Sdk1({ apiKey: vendor.key, baseURL: vendor.origin, ...steps }).beta.messages.create(body)
    assert.match(JSON.stringify(answer.content), /secret/)
    assert.match(vendor.requests.at(-1)!.seen!.read[0]!.text, /secret/)
    const stranger = new Sdk1({ apiKey: 'sk-other', baseURL: vendor.origin, ...steps })
    await assert.rejects(stranger.beta.messages.create(body), { status: 404 })
  }
})
