import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import Anthropic, { APIError as AnthropicError } from '@anthropic-ai/sdk'
import OpenAI, { APIError, APIUserAbortError } from 'openai'
import { startAnthropic } from '../../../vendors/anthropic/anthropic.ts'
import { startOpenAI } from '../../../vendors/openai/openai.ts'
import type { Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel, userMessages } from '../world.ts'

let world: World
let first: Vendor
let second: Vendor
let anthropic: Vendor
let client: OpenAI

// Two endpoints for the same model: `gpt-4o` tries the first, and the second if that fails.
before(async () => {
  first = await startOpenAI({ key: 'sk-of-the-first' })
  second = await startOpenAI({ key: 'sk-of-the-second' })
  anthropic = await startAnthropic()
  world = await gatewayWorld()
  await world.bring(first, 'first', { priority: 1, models: [pricedModel('gpt-4o'), pricedModel('gpt-4o-mini')] })
  await world.bring(second, 'second', { priority: 2, models: [pricedModel('gpt-4o')] })
  await world.bring(anthropic, 'an', {
    shape: 'anthropic-messages',
    base_url: anthropic.origin,
    models: [pricedModel('claude-haiku-4-5')],
  })
  client = new OpenAI({ apiKey: world.key.key, baseURL: `${world.server.origin}/compat-a/v1`, maxRetries: 0 })
})
after(async () => {
  await world[Symbol.asyncDispose]()
  for (const vendor of [first, second, anthropic]) await vendor[Symbol.asyncDispose]()
})

const ask = (model: string, more: object = {}) =>
  world.key.post('/compat-a/v1/chat/completions', { model, messages: userMessages('hello'), ...more })
/** A successful call at the first restores its health. */
const restore = async () => assert.equal((await ask('first/gpt-4o')).status, 200)
const provider = (answer: { headers: Headers }) => /provider=(\w+)/.exec(answer.headers.get('x-uk-route')!)![1]

test('a failure before the first byte is retried elsewhere, with that provider’s key, and the provider is avoided for a while', async () => {
  const failures = [
    { status: 503, message: 'down' },
    { garbage: 'no answer' as const },
    { garbage: 'not json' as const },
    { garbage: 'truncated' as const },
  ]
  for (const failure of failures) {
    const requestCount = second.requests.length
    first.script(failure)
    const answer = await ask('gpt-4o')
    assert.deepEqual([answer.status, provider(answer)], [200, 'second'], answer.text)
    const { headers } = second.requests[requestCount]!
    assert.equal(headers.authorization, 'Bearer sk-of-the-second')
    // The avoided first is tried last: a call goes to the second at once.
    assert.equal(provider(await ask('gpt-4o')), 'second')
    await restore()
    assert.equal(provider(await ask('gpt-4o')), 'first')
  }
  for (const { headers } of first.requests)
    if (headers.authorization) assert.equal(headers.authorization, 'Bearer sk-of-the-first')
})

test('an error frame in place of a stream’s first event isn’t taken for an answer either', async () => {
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(': hold on\n\ndata: {"error": {"message": "no capacity", "code": 503}}\n\n')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const base_url = `http://127.0.0.1:${port}/v1`
  await world.bring(first, 'frames', {
    base_url,
    api_key: 'sk-frames',
    priority: 0,
    models: [pricedModel('gpt-4o-mini')],
  })
  const answer = await ask('gpt-4o-mini', { stream: true })
  assert.deepEqual([answer.status, provider(answer)], [200, 'first'], answer.text)
  assert.match(answer.text, /hello/)
  const only = await ask('frames/gpt-4o-mini', { stream: true })
  assert.deepEqual([only.status, only.body.error.message], [503, 'no capacity'])
  server.close()
  server.closeAllConnections()
})

test('a faulty request isn’t tried twice; when all fail, the response says not to retry', async () => {
  await restore()
  const before = second.requests.length
  first.script({ status: 400, message: 'no such thing' })
  assert.equal((await ask('gpt-4o')).status, 400)
  assert.equal(second.requests.length, before)
  first.script({ status: 500, message: 'one', times: 2 })
  second.script({ status: 500, message: 'two', times: 2 })
  const answer = await ask('gpt-4o')
  assert.deepEqual([answer.status, answer.headers.get('x-should-retry')], [502, 'false'])
  assert.deepEqual([first.pending(), second.pending()], [0, 0], 'each was asked twice')
})

test('temporary faults are retried at the only provider, others aren’t', async () => {
  await restore()
  first.script({ status: 503, message: 'busy', times: 2 })
  const answer = await ask('first/gpt-4o')
  assert.deepEqual([answer.status, answer.body.choices[0].message.content], [200, 'hello'])
  const calls = await world.calls()
  assert.deepEqual(
    calls.slice(0, 3).map(({ status, cost_nano }) => [status, cost_nano! > 0n]),
    [
      ['succeeded', true],
      ['failed', false],
      ['failed', false],
    ],
    'each attempt has its line',
  )
  const before = first.requests.length
  first.script({ status: 401, message: 'who are you' })
  const refusal = await ask('first/gpt-4o')
  assert.equal(refusal.status, 502)
  assert.equal(refusal.body.error.message, 'The provider rejected the API key of the endpoint `first`.')
  assert.equal(first.requests.length, before + 1)
  await restore()
  first.script({ status: 401, message: 'who are you' })
  const own = await world.person.post('/inference/text', { model: 'first/gpt-4o', messages: userMessages('hello') })
  assert.match(own.body.error.message, /the API key of the endpoint `first`\.$/)
  await restore()
})

test('the platform’s own callers get the same order: elsewhere first, then retries', async () => {
  await restore()
  const infer = (model: string) => world.person.post('/inference/text', { model, messages: userMessages('hello') })
  first.script({ status: 503, message: 'busy' })
  const elsewhere = await infer('gpt-4o')
  assert.deepEqual([elsewhere.status, elsewhere.body.data.provider, elsewhere.body.data.text], [200, 'second', 'hello'])
  first.script({ status: 503, message: 'busy', times: 2 })
  const again = await infer('first/gpt-4o')
  assert.deepEqual([again.status, again.body.data.provider], [200, 'first'])
  first.script({ status: 503, message: 'busy', times: 3 })
  assert.equal((await infer('first/gpt-4o')).status, 503)
  assert.equal(first.pending(), 0, 'three times and no more')
  await restore()
})

test('a client that disconnects cancels the provider’s work, and pays for the output so far', async () => {
  first.script({ reply: 'word '.repeat(400), perChunkDelayMs: 20 })
  const from = first.requests.length
  const stream = await client.chat.completions.create({
    model: 'first/gpt-4o',
    messages: userMessages('go on'),
    stream: true,
  })
  let chunks = 0
  for await (const _ of stream) if (++chunks === 10) break
  stream.controller.abort()
  const request = await first.arrival(from)
  await request.ended
  assert.ok(request.aborted)
  const { ledger, postgres } = world.server.app.engine
  await ledger.flush()
  const call = await postgres.db
    .selectFrom('calls')
    .selectAll()
    .where('status', '=', 'cancelled')
    .executeTakeFirstOrThrow()
  assert.equal(call.cost_source, 'estimated')
  assert.ok(call.output_tokens >= 5n && call.output_tokens < 100n, `${call.output_tokens} tokens of some 10 words`)
})

test('a client that disconnects before the answer starts is noticed as well', async () => {
  first.script({ hang: true })
  const from = first.requests.length
  const leaving = new AbortController()
  const pendingCall = client.chat.completions.create(
    { model: 'first/gpt-4o', messages: userMessages('x') },
    { signal: leaving.signal },
  )
  const request = await first.arrival(from)
  leaving.abort()
  await assert.rejects(pendingCall, APIUserAbortError)
  await request.ended
  assert.ok(request.aborted)
})

test('a stream that breaks off ends with an error, never as if it were complete', async () => {
  for (const garbage of ['closes socket', 'truncated'] as const) {
    first.script({ reply: 'one two three four five six', garbage })
    const stream = client.chat.completions.stream({ model: 'first/gpt-4o', messages: userMessages('x') })
    let text = ''
    stream.on('content', (delta) => void (text += delta))
    await assert.rejects(
      stream.finalContent(),
      (error) => error instanceof APIError && /ended early|closed the connection/.test(error.message),
    )
    assert.match(text, /^one/)
    anthropic.script({ reply: 'one two three four five six', garbage })
    const messages = new Anthropic({ apiKey: world.key.key, baseURL: `${world.server.origin}/compat-b`, maxRetries: 0 })
    const answer = messages.messages.stream({
      model: 'an/claude-haiku-4-5',
      max_tokens: 50,
      messages: userMessages('x'),
    })
    await assert.rejects(answer.finalText(), (error) => error instanceof AnthropicError && error.type === 'api_error')
  }
})

test('a slow reader applies backpressure to the provider instead of filling the server’s memory', async () => {
  const words = 'abcdef '.repeat(40_000)
  first.script({ reply: words })
  const response = await fetch(`${world.server.origin}/compat-a/v1/chat/completions`, {
    method: 'POST',
    headers: { ...world.key.headers, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'first/gpt-4o', messages: userMessages('x'), stream: true }),
  })
  const reader = response.body!.getReader()
  const decoder = new TextDecoder()
  let text = decoder.decode((await reader.read()).value, { stream: true })
  const before = process.memoryUsage().arrayBuffers
  for (let part = await reader.read(); !part.done; part = await reader.read())
    text += decoder.decode(part.value, { stream: true })
  assert.ok(process.memoryUsage().arrayBuffers - before < 64 << 20)
  assert.equal((text.match(/abcdef/g) ?? []).length, 40_000)
  assert.ok(text.endsWith('data: [DONE]\n\n'))
})

test('a revoked key ends its streams, and is refused at once', async () => {
  const key = await world.person.key()
  first.script({ reply: 'word '.repeat(400), perChunkDelayMs: 50 })
  const stream = await new OpenAI({
    apiKey: key.key,
    baseURL: `${world.server.origin}/openai/v1`,
    maxRetries: 0,
  }).chat.completions.create({
    model: 'first/gpt-4o',
    messages: userMessages('go on'),
    stream: true,
  })
  // It may end before the answer to the revocation is read.
  const streamEnd = assert.rejects(async () => {
    for await (const _ of stream) continue
  })
  assert.equal((await world.person.delete(`/api-keys/${key.keyId}`)).status, 200)
  await streamEnd
  assert.equal(
    (await key.post('/compat-a/v1/chat/completions', { model: 'sim/echo', messages: userMessages('x') })).status,
    401,
  )
})

test('a client that disconnects while a retry is pending, or while two race, leaves nothing behind', async () => {
  const leave = async (headers: Record<string, string>, model: string, waitUntilStarted: () => Promise<unknown>) => {
    const leaving = new AbortController()
    const request = client.chat.completions.create(
      { model, messages: userMessages('x') },
      { signal: leaving.signal, headers },
    )
    void waitUntilStarted().then(() => leaving.abort())
    await assert.rejects(request, APIUserAbortError)
  }
  const from = first.requests.length
  first.script({ status: 429, message: 'later', headers: { 'retry-after': '3' } })
  await leave({}, 'first/gpt-4o', async () => {
    await first.arrival(from)
    await sleep(150)
  })
  first.script({ hang: true })
  second.script({ hang: true })
  const others = second.requests.length
  await leave({ 'x-uk-hedge': '20' }, 'gpt-4o', () => Promise.all([first.arrival(from + 1), second.arrival(others)]))
  for (const request of [first.requests.at(-1)!, await second.arrival(others)]) {
    await request.ended
    assert.ok(request.aborted)
  }
  assert.equal(first.requests.length, from + 2, 'nobody was asked for who had left')
  await restore()
})
