// A metered call has the same life cycle for every caller: a surface, `/inference/text`, a chat, or search.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { until } from '#test/until.ts'
import { startAnthropic } from '../../../vendors/anthropic/anthropic.ts'
import { type Bedrock, startBedrock } from '../../../vendors/bedrock/bedrock.ts'
import { startEmbedder } from '../../../vendors/embedder/embedder.ts'
import { startOpenAI } from '../../../vendors/openai/openai.ts'
import { startOpenRouter } from '../../../vendors/openrouter/openrouter.ts'
import type { Behaviour, Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel, userMessages } from '../world.ts'

let world: World
let near: Vendor
let far: Vendor
let anthropic: Vendor
let bedrock: Bedrock

// `gpt-4o` tries the near endpoint, and the far one if that fails.
before(async () => {
  near = await startOpenAI()
  far = await startOpenAI()
  anthropic = await startAnthropic()
  bedrock = await startBedrock()
  world = await gatewayWorld()
  await world.bring(near, 'near', { priority: 1, models: [pricedModel('gpt-4o')] })
  await world.bring(far, 'far', { priority: 2, models: [pricedModel('gpt-4o')] })
  await world.bring(anthropic, 'an', {
    shape: 'anthropic-messages',
    base_url: anthropic.origin,
    models: [pricedModel('claude-haiku-4-5')],
  })
  await world.bring(bedrock, 'aws', {
    preset: 'bedrock',
    base_url: bedrock.origin,
    api_key: `${bedrock.account.accessKeyId}:${bedrock.account.secretAccessKey}`,
    shape: 'anthropic-messages',
    headers: { 'x-uk-region': 'us-east-1' },
    models: [pricedModel('amazon.nova-pro-v1:0')],
  })
})
after(async () => {
  await world[Symbol.asyncDispose]()
  for (const vendor of [near, far, anthropic, bedrock]) await vendor[Symbol.asyncDispose]()
})

/** The routes, each with the path of a whole answer and of a stream. */
const ways = {
  'compat-a': { whole: '/compat-a/v1/chat/completions', stream: '/compat-a/v1/chat/completions' },
  'compat-b': { whole: '/compat-b/v1/messages', stream: '/compat-b/v1/messages' },
  inference: { whole: '/inference/text', stream: '/inference/text/stream' },
}
type WayIn = keyof typeof ways

const whole = (way: WayIn, model: string, more: object = {}) =>
  world.key.post(ways[way].whole, {
    model,
    messages: userMessages('hello'),
    ...(way === 'compat-b' && { max_tokens: 500 }),
    ...more,
  })
const stream = (way: WayIn, model: string, more: object = {}, signal: AbortSignal | null = null) =>
  fetch(`${world.server.origin}${way === 'inference' ? '/v1' : ''}${ways[way].stream}`, {
    method: 'POST',
    headers: { ...world.key.headers, 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      messages: userMessages('hello'),
      ...(way === 'compat-b' && { max_tokens: 500 }),
      ...(way !== 'inference' && { stream: true }),
      ...more,
    }),
    signal,
  })
const provider = ({ headers }: { headers: Headers }) => /provider=(\w+)/.exec(headers.get('x-uk-route') ?? '')?.[1]
const restore = async (...slugs: string[]) => {
  for (const slug of slugs) assert.equal((await whole('inference', `${slug}/gpt-4o`)).status, 200)
}
/** Returns the last call of this surface, once it exists. */
const lastOf = async (surface: string, status: string) =>
  (await until(
    async () => (await world.calls()).find((call) => call.surface === surface && call.status === status),
    (call) => call !== undefined,
  ))!
const metric = async (line: string): Promise<number> => {
  const text = await (await fetch(`${world.server.origin}/metrics`)).text()
  return Number(new RegExp(`^${line} (\\d+)`, 'm').exec(text)?.[1] ?? 0)
}

test('a whole answer that breaks off is retried elsewhere, because nothing was shown', async () => {
  for (const way of Object.keys(ways) as WayIn[]) {
    near.script({ reply: 'one two three four five six', garbage: 'closes socket' })
    const answer = await whole(way, 'gpt-4o')
    assert.deepEqual([answer.status, provider(answer)], [200, 'far'], `${way}: ${answer.text}`)
    assert.ok(!answer.text.includes('one two'), answer.text)
    await restore('near')
  }
})

test('a conversation whose stream broke off is routed normally, not back to the failed provider’s cache', async () => {
  for (const way of ['compat-a', 'inference'] as const) {
    const turn = async (behaviour: { near?: Behaviour; far?: Behaviour }) => {
      if (behaviour.near) near.script(behaviour.near)
      if (behaviour.far) far.script(behaviour.far)
      const answer = await stream(way, 'gpt-4o', { messages: userMessages(`the beginning by ${way}`) })
      await answer.text()
      return provider(answer)
    }
    const cachedReply = { reply: 'cached', usage: { input: 2_000, output: 5, cached: 1_500 } }
    assert.equal(await turn({ near: { status: 503 }, far: cachedReply }), 'far')
    await restore('near')
    assert.equal(await turn({ far: { reply: 'one two three four', garbage: 'closes socket' } }), 'far', 'it is warm')
    await restore('far')
    assert.equal(await turn({}), 'near', way)
  }
})

test('a stream that is left or breaks off is billed for its output, even if its provider only reported a beginning', async () => {
  const words = 'abcd '.repeat(60)
  const model = 'an/claude-haiku-4-5'
  for (const way of Object.keys(ways) as WayIn[]) {
    anthropic.script({ reply: words, garbage: 'closes socket' })
    await (await stream(way, model)).text()
    const brokenCall = await lastOf(way, 'failed')
    assert.ok(
      brokenCall.output_tokens >= 10n && brokenCall.output_tokens <= 75n,
      `${way}: ${brokenCall.output_tokens} tokens`,
    )
    assert.equal(brokenCall.cost_source, 'estimated', way)

    anthropic.script({ reply: words, perChunkDelayMs: 20 })
    const leave = new AbortController()
    const reader = (await stream(way, model, {}, leave.signal)).body!.getReader()
    let text = ''
    while (text.split('abcd').length < 20) text += Buffer.from((await reader.read()).value ?? []).toString()
    leave.abort()
    const canceledCall = await lastOf(way, 'cancelled')
    assert.ok(
      canceledCall.output_tokens >= 10n && canceledCall.output_tokens < 75n,
      `${way}: ${canceledCall.output_tokens} tokens`,
    )
    assert.equal(canceledCall.cost_source, 'estimated', way)
    await whole('inference', model)
  }
})

test('uncounted input is estimated from everything sent, including tools and results', async () => {
  const parameters = { type: 'object', properties: { city: { type: 'string', description: 'word '.repeat(400) } } }
  const tools = {
    'compat-a': [{ type: 'function', function: { name: 'weather', parameters } }],
    inference: [{ name: 'weather', parameters }],
  }
  for (const way of ['compat-a', 'inference'] as const) {
    near.script({ reply: 'one two three four five six', garbage: 'closes socket' })
    await (await stream(way, 'near/gpt-4o', { tools: tools[way] })).text()
    const { input_tokens: input } = await lastOf(way, 'failed')
    assert.ok(input > 500n && input < 700n, `${way}: ${input}`)
    await restore('near')
  }
})

test('the record of a call has the stream flag, the provider’s own finish reason, and only its own duration', async () => {
  for (const way of Object.keys(ways) as WayIn[]) {
    await whole(way, 'an/claude-haiku-4-5')
    const { streamed: isStream, finish_reason } = await lastOf(way, 'succeeded')
    assert.deepEqual([isStream, finish_reason], [false, 'end_turn'], way)
    await (await stream(way, 'an/claude-haiku-4-5')).text()
    assert.equal((await lastOf(way, 'succeeded')).streamed, true, way)

    near.script({ status: 503, delayMs: 400 })
    const startedAt = performance.now()
    assert.equal(provider(await whole(way, 'gpt-4o')), 'far')
    const rest = performance.now() - startedAt - 390
    const { duration_ms, first_token_ms } = await lastOf(way, 'succeeded')
    assert.ok(duration_ms < rest && first_token_ms! < rest, `${way}: ${duration_ms}, ${first_token_ms} of ${rest} ms`)
    await restore('near')
  }
})

test('losses are counted on every route, and refused if they would change the question', async () => {
  const line = (surface: string) =>
    `uk_gateway_losses_total\\{surface="${surface}",shape="openai-chat",field="tools.strict"\\}`
  const before = await metric(line('inference'))
  await world.bring(near, 'terse', { preset: 'together', models: [pricedModel('gpt-4o')] })
  const parameters = { type: 'object', properties: {} }
  const answer = await whole('inference', 'terse/gpt-4o', { tools: [{ name: 'now', parameters, strict: true }] })
  assert.deepEqual([answer.status, answer.headers.get('x-uk-losses')], [200, 'tools.strict'], answer.text)
  assert.equal(await metric(line('inference')), before + 1)

  const requestCount = bedrock.requests.length
  // Once tools were called, Converse must receive them, and has no choice that forbids calls.
  const messages = [
    ...userMessages('hello'),
    { role: 'assistant', content: '', tool_calls: [{ id: 'a', name: 'now', arguments: '{}' }] },
    { role: 'tool', content: 'noon', tool_call_id: 'a' },
  ]
  const forbidden = { messages, tools: [{ name: 'now', parameters }], tool_choice: 'none' }
  const refusal = await whole('inference', 'aws/amazon.nova-pro-v1:0', forbidden)
  assert.deepEqual([refusal.status, refusal.body.error.param], [400, 'tool_choice'], refusal.text)
  assert.equal(bedrock.requests.length, requestCount, 'before anything was spent')
})

test('an endless text answer is aborted, for the platform’s own callers too', async () => {
  const delta = (text: string) =>
    `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content: text }, finish_reason: null }] })}\n\n`
  const frame = delta('x'.repeat(1 << 20))
  const vendor = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    let remaining = 40
    const go = (): void => {
      while (remaining > 0 && !response.destroyed) if (remaining-- > 0 && !response.write(frame)) return
      response.end(delta('end').replace('"finish_reason":null', '"finish_reason":"stop"') + 'data: [DONE]\n\n')
    }
    response.on('drain', go)
    go()
  })
  await new Promise<void>((resolve) => vendor.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(vendor.address() as AddressInfo).port}`
  try {
    await world.bring({ origin, key: 'sk' }, 'endless', { models: [pricedModel('m')] })
    for (const way of ['compat-b', 'inference'] as const) {
      const answer = await whole(way, 'endless/m')
      assert.equal(answer.status, 502, `${way}: ${answer.text.slice(0, 200)}`)
      assert.match(answer.text, /response is too long/)
    }
    const text = await (await stream('inference', 'endless/m')).text()
    assert.match(text.slice(-1_000), /response is too long/)
  } finally {
    vendor.closeAllConnections()
    vendor.close()
  }
})

test('embeddings follow the same order: other providers first, avoiding a failed one, then retries; and they are counted', async () => {
  await using one = await startEmbedder()
  await using other = await startEmbedder()
  await using here = await gatewayWorld({ UK_EMBEDDING_MODEL: 'text-embedding-3-small' })
  const models = [pricedModel('text-embedding-3-small')]
  await here.bring(one, 'one', { instance: true, priority: 1, models })
  const { id } = await here.bring(other, 'other', { instance: true, priority: 2, models })
  const route = 'POST /v1/embeddings'
  const requestCount = (vendor: Vendor) => vendor.requests.filter(({ path }) => path === '/v1/embeddings').length
  const find = async () => {
    const { body } = await here.person.get('/search?q=kitten&mode=semantic')
    return body.degraded as string[]
  }
  one.script({ on: route, status: 503 })
  assert.deepEqual([await find(), requestCount(one), requestCount(other)], [[], 1, 1])
  assert.deepEqual([await find(), requestCount(one), requestCount(other)], [[], 1, 2], 'it is set aside for a while')

  await here.person.patch(`/ai-gateway/provider-endpoints/${id}`, { enabled: false })
  one.script({ on: route, status: 503 })
  assert.deepEqual([await find(), requestCount(one)], [[], 3], 'it passes by itself')
  one.script({ on: route, status: 400 })
  assert.deepEqual([(await find()).length, requestCount(one)], [1, 4], 'at fault is the question')

  const text = await (await fetch(`${here.server.origin}/metrics`)).text()
  assert.match(text, /uk_gateway_calls_total\{surface="search",status="succeeded"\} 3/)
  assert.match(text, /uk_gateway_calls_total\{surface="search",status="failed"\} 3/)
  assert.match(text, /uk_gateway_further_attempts_total\{why="fallback"\} 1/)
  assert.match(text, /uk_gateway_further_attempts_total\{why="retry"\} 1/)
})

test('a preview finds the same candidates as a call: an unknown name leads to an aggregator', async () => {
  await using openrouter = await startOpenRouter()
  const base_url = `${openrouter.origin}/api/v1`
  await world.bring(openrouter, 'relay', {
    preset: 'openrouter',
    base_url,
    models: [pricedModel('openai/gpt-4o-mini')],
  })
  const models = ['relay/openai/gpt-4o-mini', 'google/gemini-3-flash']
  const live = await world.key.post('/compat-c/v1/chat/completions', { models, messages: userMessages('hello') })
  assert.deepEqual([live.status, provider(live)], [200, 'relay'], live.text)
  const preview = await world.person.post('/ai-gateway/routing-preview', { model: models[0], models: [models[1]] })
  assert.equal(preview.status, 200, preview.text)
  assert.deepEqual(
    preview.body.data.candidates.map((one: { provider: string }) => one.provider),
    ['relay'],
  )
})

test('a late payment error of a second attempt doesn’t affect the first attempt’s response', async () => {
  await using slow = await startOpenAI({ otherwise: { reply: 'word '.repeat(60), perChunkDelayMs: 20 } })
  await using here = await gatewayWorld({ UK_SIGN_UP_CREDITS_USD: '0' })
  await here.bring(near, 'house', { instance: true, models: [pricedModel('gpt-4o')] })
  const bea = await here.server.person('Bea')
  const own = { name: 'own', slug: 'own', shape: 'openai-chat', base_url: `${slow.origin}/v1`, api_key: slow.key }
  const endpoint = await bea.post('/ai-gateway/provider-endpoints', { ...own, models: [pricedModel('gpt-4o')] })
  assert.equal(endpoint.status, 201, endpoint.text)
  const { headers } = await bea.key()
  const { pool } = here.server.app.engine.postgres
  await pool.query(`insert into balances (account_id, nano) values ($1, 0) on conflict do nothing`, [bea.id])

  const holding = await pool.connect()
  try {
    // The reservation waits for the balance, while the other provider is tried.
    await holding.query('begin')
    await holding.query('select from balances where account_id = $1 for update', [bea.id])
    const answer = await fetch(`${here.server.origin}/compat-c/v1/chat/completions`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', 'x-uk-hedge': '100' },
      body: JSON.stringify({
        model: 'gpt-4o',
        messages: userMessages('hello'),
        provider: { order: ['house', 'own'] },
        stream: true,
      }),
    })
    assert.deepEqual([answer.status, provider(answer)], [200, 'own'])
    await holding.query('commit')
    const text = await answer.text()
    assert.doesNotMatch(text, /error/)
    assert.match(text, /data: \[DONE\]/)
    assert.equal(text.match(/word/g)?.length, 60)
  } finally {
    holding.release()
  }
})
