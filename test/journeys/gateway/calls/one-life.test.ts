// A metered call has one life, whoever makes it: a client of a surface, `/inference/text`, a chat or the search.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { until } from '#test/until.ts'
import { startAnthropic } from '../../../vendors/anthropic/anthropic.ts'
import { startOpenAI } from '../../../vendors/openai/openai.ts'
import type { Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, priced, said } from '../world.ts'

let world: World
let near: Vendor
let anthropic: Vendor

before(async () => {
  near = await startOpenAI()
  anthropic = await startAnthropic()
  world = await gatewayWorld()
  await world.bring(near, 'near', { priority: 1, models: [priced('gpt-4o')] })
  await world.bring(anthropic, 'an', {
    shape: 'anthropic-messages',
    base_url: anthropic.origin,
    models: [priced('claude-haiku-4-5')],
  })
})
after(async () => {
  await world[Symbol.asyncDispose]()
  for (const vendor of [near, anthropic]) await vendor[Symbol.asyncDispose]()
})

/** The ways in, each with the path of a whole answer and of a stream. */
const ways = {
  'compat-a': { whole: '/compat-a/v1/chat/completions', stream: '/compat-a/v1/chat/completions' },
  'compat-b': { whole: '/compat-b/v1/messages', stream: '/compat-b/v1/messages' },
  inference: { whole: '/inference/text', stream: '/inference/text/stream' },
}
type WayIn = keyof typeof ways

const whole = (way: WayIn, model: string, more: object = {}) =>
  world.key.post(ways[way].whole, {
    model,
    messages: said('hello'),
    ...(way === 'compat-b' && { max_tokens: 500 }),
    ...more,
  })
const stream = (way: WayIn, model: string, more: object = {}, signal: AbortSignal | null = null) =>
  fetch(`${world.server.origin}${way === 'inference' ? '/v1' : ''}${ways[way].stream}`, {
    method: 'POST',
    headers: { ...world.key.headers, 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      messages: said('hello'),
      ...(way === 'compat-b' && { max_tokens: 500 }),
      ...(way !== 'inference' && { stream: true }),
      ...more,
    }),
    signal,
  })
const restore = async (...slugs: string[]) => {
  for (const slug of slugs) assert.equal((await whole('inference', `${slug}/gpt-4o`)).status, 200)
}
/** The last call of this surface, once it is there. */
const lastOf = async (surface: string, status: string) =>
  (await until(
    async () => (await world.calls()).find((call) => call.surface === surface && call.status === status),
    (call) => call !== undefined,
  ))!
test('a stream that is left or breaks off costs what was written, also where its provider told a beginning only', async () => {
  const words = 'abcd '.repeat(60)
  const model = 'an/claude-haiku-4-5'
  for (const way of Object.keys(ways) as WayIn[]) {
    anthropic.script({ reply: words, garbage: 'closes socket' })
    await (await stream(way, model)).text()
    const broken = await lastOf(way, 'failed')
    assert.ok(broken.output_tokens >= 10n && broken.output_tokens <= 75n, `${way}: ${broken.output_tokens} tokens`)
    assert.equal(broken.cost_source, 'estimated', way)

    anthropic.script({ reply: words, perChunkDelayMs: 20 })
    const leave = new AbortController()
    const reader = (await stream(way, model, {}, leave.signal)).body!.getReader()
    let seen = ''
    while (seen.split('abcd').length < 20) seen += Buffer.from((await reader.read()).value ?? []).toString()
    leave.abort()
    const left = await lastOf(way, 'cancelled')
    assert.ok(left.output_tokens >= 10n && left.output_tokens < 75n, `${way}: ${left.output_tokens} tokens`)
    assert.equal(left.cost_source, 'estimated', way)
    await whole('inference', model)
  }
})

test('input that no provider counted is reckoned from all that was sent, tools and results too', async () => {
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

test('an answer in words that does not end is broken off, for the platform’s own callers too', async () => {
  const delta = (text: string) =>
    `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content: text }, finish_reason: null }] })}\n\n`
  const frame = delta('x'.repeat(1 << 20))
  const vendor = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    let left = 40
    const go = (): void => {
      while (left > 0 && !response.destroyed) if (left-- > 0 && !response.write(frame)) return
      response.end(delta('end').replace('"finish_reason":null', '"finish_reason":"stop"') + 'data: [DONE]\n\n')
    }
    response.on('drain', go)
    go()
  })
  await new Promise<void>((resolve) => vendor.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(vendor.address() as AddressInfo).port}`
  try {
    await world.bring({ origin, key: 'sk' } as Vendor, 'endless', { models: [priced('m')] })
    for (const way of ['compat-b', 'inference'] as const) {
      const answer = await whole(way, 'endless/m')
      assert.equal(answer.status, 502, `${way}: ${answer.text.slice(0, 200)}`)
      assert.match(answer.text, /does not end/)
    }
    const text = await (await stream('inference', 'endless/m')).text()
    assert.match(text.slice(-1_000), /does not end/)
  } finally {
    vendor.closeAllConnections()
    vendor.close()
  }
})
