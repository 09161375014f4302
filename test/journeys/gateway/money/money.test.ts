import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startAnthropic } from '../../../vendors/anthropic/anthropic.ts'
import { startOpenAI } from '../../../vendors/openai/openai.ts'
import type { Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel, userMessages } from '../world.ts'

let world: World
let openai: Vendor
let anthropic: Vendor

before(async () => {
  openai = await startOpenAI()
  anthropic = await startAnthropic()
  world = await gatewayWorld()
  await world.bring(openai, 'oa', {
    models: [pricedModel('gpt-4o', { max_output_tokens: 16_384 }), pricedModel('o4-mini'), { id: 'gpt-4o-mini' }],
  })
  await world.bring(anthropic, 'an', {
    shape: 'anthropic-messages',
    base_url: anthropic.origin,
    models: [pricedModel('claude-haiku-4-5', { max_output_tokens: 8_192 })],
  })
})

after(async () => {
  await world[Symbol.asyncDispose]()
  await openai[Symbol.asyncDispose]()
  await anthropic[Symbol.asyncDispose]()
})

const a = '/compat-a/v1/chat/completions'
const ask = (more: object = {}) => ({ model: 'oa/gpt-4o', messages: userMessages('hello'), ...more })
const cappedKey = (usd: number) => world.person.key({ spend_cap_usd: usd, spend_cap_period: 'total' })
const lastBody = (vendor: Vendor) => vendor.requests.findLast(({ method }) => method === 'POST')!.json()

test('under a cap, a request without a limit gets the affordable one; with enough money it stays unchanged', async () => {
  const tight = await cappedKey(0.01)
  assert.equal((await tight.post(a, ask())).status, 200)
  // 0.01 USD at 2 USD per million is 5,000 tokens, minus the maximum cost of the input
  const { max_tokens: limit } = lastBody(openai)
  assert.ok(limit > 4_900 && limit < 5_000, `${limit}`)
  const rich = await cappedKey(10)
  assert.equal((await rich.post(a, ask())).status, 200)
  assert.equal(lastBody(openai).max_tokens, undefined)
  assert.equal((await world.key.post(a, ask())).status, 200)
  assert.equal(lastBody(openai).max_tokens, undefined, 'no cap, no limit')
})

test('the limit has the provider’s own name, under a cap and without, because ignored names limit nothing', async () => {
  await world.bring(openai, 'ds', { preset: 'deepseek', models: [pricedModel('gpt-4o')] })
  const body = ask({ model: 'ds/gpt-4o', max_completion_tokens: 7 })
  assert.equal((await (await cappedKey(1)).post(a, body)).status, 200)
  assert.deepEqual([lastBody(openai).max_tokens, lastBody(openai).max_completion_tokens], [7, undefined])
  assert.equal((await world.key.post(a, body)).status, 200)
  assert.deepEqual([lastBody(openai).max_tokens, lastBody(openai).max_completion_tokens], [7, undefined])
})

test('unaffordable calls are refused before they are sent, with what would be affordable', async () => {
  const key = await cappedKey(0.001)
  const before = openai.requests.length
  const answer = await key.post(a, ask({ max_tokens: 5_000 }))
  assert.deepEqual(
    [answer.status, answer.body.error.type, answer.headers.get('x-should-retry')],
    [402, 'billing_error', 'false'],
  )
  // 5,000 tokens at 2 USD per million, and the input at 1; of 0.001 USD the input leaves less than 500.
  assert.match(
    answer.body.error.message,
    /^The key’s spend cap doesn’t cover this request: 0\.001 USD are left, and the request can cost up to 0\.0100\d* USD\. Raise `spend_cap_usd` of the key\. Or set `max_tokens` to 4\d\d or less\.$/,
  )
  assert.equal(answer.body.error.param, 'max_tokens')
  const unlimited = await key.post(a, ask())
  assert.equal(unlimited.status, 402, 'fewer than 1,024 tokens are no answer')
  const { message, param } = unlimited.body.error
  assert.match(message, /can cost up to 0\.03279\d* USD.* Or set `max_tokens` to 4\d\d or less\.$/)
  const most = Number(/to (\d+) or less/.exec(message)![1])
  const one = await cappedKey(0.001)
  assert.equal((await one.post(a, ask({ [param]: most + 20 }))).status, 402)
  const limited = await key.post(a, ask({ max_completion_tokens: 5_000 }))
  assert.match(limited.body.error.message, /Or set `max_completion_tokens` to 4\d\d or less\.$/)
  const beside = await key.post(a, ask({ max_completion_tokens: null, max_tokens: 5_000 }))
  assert.equal(beside.body.error.param, 'max_tokens')
  const own = await key.post('/inference/text', ask({ max_output_tokens: 5_000 }))
  assert.match(own.body.error.message, /Or set `max_output_tokens` to 4\d\d or less\.$/)
  const input = await (await cappedKey(0.000001)).post(a, ask())
  assert.match(input.body.error.message, /: 0\.000001 USD are left.* Raise `spend_cap_usd` of the key\.$/)
  const messages = await key.post('/compat-b/v1/messages', ask({ model: 'an/claude-haiku-4-5', max_tokens: 5_000 }))
  assert.deepEqual([messages.status, messages.body.error.type], [402, 'billing_error'])
  const router = await key.post('/compat-c/v1/chat/completions', ask({ max_tokens: 5_000 }))
  assert.deepEqual([router.status, router.body.error.metadata.error_type], [402, 'payment_required'])
  assert.equal(openai.requests.length, before)
  assert.equal((await key.post(a, ask({ max_tokens: 100 }))).status, 200, 'less is enough')
  assert.equal((await one.post(a, ask({ [param]: most }))).status, 200, 'what is advised is served')
})

test('a duplicate field is ambiguous, and is refused under a cap, however it is spelled', async () => {
  const key = await cappedKey(1)
  const fields: Record<string, [dear: unknown, cheap: unknown]> = {
    model: ['oa/o1-pro', 'oa/gpt-4o'],
    max_tokens: [9, 1],
    max_completion_tokens: [9, 1],
    n: [5, 1],
    messages: [userMessages('x'.repeat(50_000)), userMessages('x')],
    tools: [[{ type: 'web_search' }], []],
    service_tier: ['priority', 'default'],
    stream: [true, false],
    web_search_options: [{}, null],
    prediction: [{ type: 'content', content: 'x'.repeat(5_000) }, null],
    speed: ['fast', 'standard'],
    plugins: [[{ id: 'web' }], []],
    something_new: [1, 2],
  }
  const requestCount = openai.requests.length
  for (const [field, [dear, cheap]] of Object.entries(fields))
    for (const name of [field, field.replace('e', '\\u0065')])
      for (const path of [a, '/compat-c/v1/chat/completions']) {
        const { [field]: _, ...rest } = ask({ max_tokens: 20 }) as Record<string, unknown>
        const others = JSON.stringify(rest).slice(1, -1)
        const answer = await key.post(
          path,
          `{"${name}":${JSON.stringify(dear)},${others},"${field}":${JSON.stringify(cheap)}}`,
        )
        assert.deepEqual(
          [answer.status, answer.body.error.param ?? field],
          [400, field],
          `${path} ${name} ${answer.text}`,
        )
      }
  assert.equal(openai.requests.length, requestCount)
})

test('no number of concurrent calls exceeds a cap', async () => {
  // Each reserves up to 100 × 2 plus its input; about 20 of them fit.
  const key = await cappedKey(0.005)
  await using busy = await startOpenAI({ otherwise: { reply: 'x', usage: { input: 20, output: 100 } } })
  await world.bring(busy, 'busy', { models: [pricedModel('gpt-4o')] })
  const one = ask({ model: 'busy/gpt-4o', max_tokens: 100 })
  const answers = await Promise.all(Array.from({ length: 100 }, () => key.post(a, one)))
  const { ledger } = world.server.app.engine
  await ledger.flush()
  const servedCount = answers.filter(({ status }) => status === 200).length
  assert.ok(servedCount > 0 && answers.every(({ status }) => status === 200 || status === 402))
  const spending = (await ledger.readSpends([{ id: key.keyId, period: 'total' }])).get(key.keyId)!
  assert.equal(spending, BigInt(servedCount) * 220_000n)
  assert.ok(spending <= 5_000_000n)
})

test('a fallback is paid once, and a failed call costs nothing', async () => {
  const key = await cappedKey(1)
  openai.script({ status: 500, message: 'no', times: 2 })
  const failure = await key.post(a, ask())
  assert.equal(failure.status, 502)
  const call = await world.record(failure.headers.get('x-request-id')!)
  assert.deepEqual([call.status, call.cost_nano], ['failed', 0n])
  assert.equal(
    (await world.server.app.engine.ledger.readSpends([{ id: key.keyId, period: 'total' }])).get(key.keyId) ?? 0n,
    0n,
  )
})

test('a provider’s charge beyond the reservation is borne by the instance, and no cap counts it', async () => {
  const key = await cappedKey(0.001)
  openai.script({ reply: 'dear', usage: { input: 10, output: 5_000 } })
  const answer = await key.post(a, ask({ max_tokens: 100 }))
  assert.equal(answer.status, 200)
  const call = await world.record(answer.headers.get('x-request-id')!)
  assert.ok(call.cost_nano! < 1_000_000n)
  // 10 × 1 + 5,000 × 2 USD per million
  assert.equal(call.cost_nano! + call.overrun_nano, 10_010_000n)
  assert.deepEqual([call.billing, call.charged_nano], ['byok', 0n])
  const { spent_usd } = (await world.person.get('/api-keys')).body.data.find(
    ({ id }: { id: string }) => id === key.keyId,
  )
  assert.equal(spent_usd, Number(call.cost_nano) / 1e9)
})

test('extremely large numbers are expensive, not an internal error', async () => {
  const key = await cappedKey(1)
  for (const more of ['"n":1e309', '"max_tokens":1e309', '"n":1e309,"max_tokens":1e309', '"n":1e309,"max_tokens":0']) {
    const answer = await key.post(a, `{"model":"oa/gpt-4o","messages":[{"role":"user","content":"x"}],${more}}`)
    assert.ok([400, 402].includes(answer.status), `${more}: ${answer.status} ${answer.text}`)
  }
})

test('a model without a price runs freely on the caller’s own key, and not under a cap', async () => {
  const free = await world.key.post(a, ask({ model: 'oa/gpt-4o-mini' }))
  assert.equal(free.status, 200)
  assert.equal((await world.record(free.headers.get('x-request-id')!)).cost_nano, null)
  const refusal = await (await cappedKey(1)).post(a, ask({ model: 'oa/gpt-4o-mini' }))
  assert.deepEqual([refusal.status, refusal.body.error.code], [402, 'unpriced_model'])
  assert.equal(
    refusal.body.error.message,
    'The model `oa/gpt-4o-mini` has no known price, so it can’t be used with a credit balance or a spend cap. Set a price in `models[].pricing` of the endpoint `oa`. An administrator can also set it with `PUT /v1/admin/model-overrides`.',
  )
})

test('simulated models require credits, and are charged to the nano-dollar', async () => {
  const poor = await world.server.person('Poor')
  const key = await poor.key()
  const refusal = await key.post(a, { model: 'sim/echo', messages: userMessages('one two') })
  assert.equal(refusal.status, 402)
  assert.match(
    refusal.body.error.message,
    /^Your credit balance doesn’t cover this request: 0 USD are left, and the request can cost up to 0\.2\d* USD\. Ask an administrator of this instance for credits \(.*`uk me request-credits`.*\), or add your own provider key .*, which doesn’t need credits\.$/,
  )
  await world.person.post(`/admin/accounts/${poor.id}/credits`, { amount_usd: 1, note: 'test' })
  const answer = await key.post(a, { model: 'sim/echo', messages: userMessages('one two') })
  assert.equal(answer.status, 200, answer.text)
  const call = await world.record(answer.headers.get('x-request-id')!)
  assert.deepEqual([call.cost_nano, call.charged_nano, call.billing], [6_000n, 6_000n, 'credits'])
})

test('an unaffordable run shows its possible cost to all readers, and the remaining amount to its sender', async () => {
  const sender = await world.server.person('Sender')
  await world.person.post(`/admin/accounts/${sender.id}/credits`, { amount_usd: 0.000012345, note: 'test' })
  const chat = (await sender.post('/chats', { title: 'Short', model: 'sim/echo' })).body.data
  const refusedMessage = await sender.post(`/chats/${chat.id}/messages`, { content: 'one two' })
  assert.deepEqual([refusedMessage.status, refusedMessage.body.error.code], [402, 'insufficient_credits'])
  const { message, details } = refusedMessage.body.error
  assert.match(
    message,
    /^Your credit balance doesn’t cover this request: 0\.000012345 USD are left, and the request can/,
  )
  assert.doesNotMatch(message, /or less/)
  const log = await sender.get(`/chats/${chat.id}/runs/${details.run_id}/events`)
  assert.match(
    log.text,
    /doesn’t cover this request, which can cost up to 0\.2\d* USD\. Ask an administrator of this instance for credits \(Usage in the app, `uk me request-credits`/,
  )
  assert.doesNotMatch(log.text, /12345|or less/)
})
