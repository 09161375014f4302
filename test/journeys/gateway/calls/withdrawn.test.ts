// Disabling or deleting an endpoint ends its current answers, for any caller (contract, part 4).
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '#test/until.ts'
import { startOpenAI } from '../../../vendors/openai/openai.ts'
import type { Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel, userMessages } from '../world.ts'

let world: World
let near: Vendor
let far: Vendor
const ids: Record<string, string> = {}

before(async () => {
  near = await startOpenAI({ otherwise: { reply: 'word '.repeat(2_000), perChunkDelayMs: 20 } })
  far = await startOpenAI({ otherwise: { reply: 'from afar' } })
  world = await gatewayWorld()
  ids['near'] = (
    await world.bring(near, 'near', { priority: 1, models: [pricedModel('gpt-4o'), pricedModel('gpt-4o-mini')] })
  ).id
  ids['far'] = (await world.bring(far, 'far', { priority: 2, models: [pricedModel('gpt-4o')] })).id
})
after(async () => {
  await world[Symbol.asyncDispose]()
  for (const vendor of [near, far]) await vendor[Symbol.asyncDispose]()
})

const enable = async (isEnabled: boolean) =>
  assert.equal(
    (await world.person.patch(`/ai-gateway/provider-endpoints/${ids['near']}`, { enabled: isEnabled })).status,
    200,
  )
const chatWith = async (model: string) => (await world.person.post('/chats', { model })).body.data.id as string
const postRequests = () => near.requests.filter(({ method }) => method === 'POST')
/** Disables the near endpoint shortly after it started answering. */
async function withdrawnFrom<T>(calling: () => Promise<T>): Promise<T> {
  const before = postRequests().length
  const call = calling()
  const [request] = await until(
    () => Promise.resolve(postRequests().slice(before)),
    (more) => more.length > 0,
  )
  await sleep(200)
  assert.equal(request!.aborted, false)
  await enable(false)
  await request!.ended
  assert.ok(request!.aborted, 'its provider is left')
  return call
}
/** Nothing is reserved, and the last call was billed for its output only. */
async function checkSettled(surface: string): Promise<void> {
  const [last] = await world.calls()
  assert.deepEqual([last!.surface, last!.status, last!.cost_source], [surface, 'failed', 'estimated'])
  assert.ok(last!.output_tokens < 500n, String(last!.output_tokens))
  const { rows } = await world.server.app.engine.postgres.pool.query('select from reservations')
  assert.equal(rows.length, 0)
}

test('a chat’s run whose endpoint is disabled midway fails, keeps its output, and can be retried', async () => {
  const chat = await chatWith('near/gpt-4o-mini')
  const answer = await withdrawnFrom(() => world.person.post(`/chats/${chat}/messages`, { content: 'hello' }))
  assert.deepEqual([answer.status, answer.body.error.code], [503, 'no_route'], answer.text)
  const at = `/chats/${chat}/runs/${answer.body.error.details.run_id}`
  const run = (await world.person.get(at)).body.data
  assert.deepEqual([run.status, run.error.code], ['failed', 'no_route'])
  const [, message] = (await world.person.get(`/chats/${chat}/messages`)).body.data
  assert.match(message.text, /^word word/)
  await checkSettled('chat')
  assert.equal((await world.person.post(`${at}/retry`, {})).status, 404, 'nobody serves its model now')

  await enable(true)
  near.script({ reply: 'all of it' })
  assert.equal((await world.person.post(`${at}/retry`, {})).status, 200)
  const again = await until(
    async () => (await world.person.get(at)).body.data.status,
    (status: string) => status !== 'running' && status !== 'queued',
  )
  assert.equal(again, 'completed')
})

test('unseen output is requested elsewhere: before the first token, and for whole answers until the end', async () => {
  near.script({ reply: 'too late', delayMs: 3_000 })
  const chat = await chatWith('gpt-4o')
  const first = await withdrawnFrom(() => world.person.post(`/chats/${chat}/messages`, { content: 'hello' }))
  assert.equal(first.body.data.text, 'from afar', first.text)
  await enable(true)

  const ask = { model: 'gpt-4o', messages: userMessages('hello') }
  const whole = await withdrawnFrom(() => world.person.post('/inference/text', ask))
  assert.equal(whole.body.data.text, 'from afar', whole.text)
  await enable(true)
})

test('a whole answer that no other provider can serve is refused, and so is a summary', async () => {
  const ask = { model: 'near/gpt-4o-mini', messages: userMessages('hello') }
  const answer = await withdrawnFrom(() => world.person.post('/inference/text', ask))
  assert.deepEqual([answer.status, answer.body.error.code], [503, 'no_route'], answer.text)
  await enable(true)

  near.script({ reply: 'a short one' })
  const chat = await chatWith('near/gpt-4o-mini')
  assert.equal((await world.person.post(`/chats/${chat}/messages`, { content: 'hello' })).status, 200)
  const refusal = await withdrawnFrom(() => world.person.post(`/chats/${chat}/compact`, {}))
  assert.deepEqual([refusal.status, refusal.body.error.code], [503, 'no_route'], refusal.text)
  assert.equal((await world.person.get(`/chats/${chat}/messages`)).body.data.length, 2)
  await enable(true)
})

test('a whole answer on a surface is requested elsewhere, or refused if no other provider can serve it', async () => {
  const cappedKey = await world.person.key({ spend_cap_usd: 1 })
  for (const [path, key] of [
    ['/compat-a/v1/chat/completions', world.key],
    ['/compat-a/v1/chat/completions', cappedKey],
    ['/compat-b/v1/messages', world.key],
  ] as const) {
    const ask = (model: string, more: object = {}) => {
      near.script({ reply: 'too late', delayMs: 20_000 })
      return withdrawnFrom(() => key.post(path, { model, max_tokens: 50, messages: userMessages('hello'), ...more }))
    }
    const elsewhere = await ask('gpt-4o')
    assert.match(elsewhere.text, /from afar/, path)
    await enable(true)
    const refusal = await ask('near/gpt-4o-mini')
    assert.deepEqual([refusal.status, refusal.headers.get('x-should-retry')], [502, 'false'], refusal.text)
    assert.match(refusal.text, /disabled or deleted/)
    await enable(true)
    // A stream before its first content counts as unseen.
    assert.match((await ask('gpt-4o', { stream: true })).text, /from|afar/)
    await enable(true)
  }
  const { rows } = await world.server.app.engine.postgres.pool.query('select from reservations')
  assert.equal(rows.length, 0)
})

test('a started audio response breaks off', async () => {
  const connectionClosed = Promise.withResolvers<void>()
  const speaker = createServer((request, response) => {
    request.resume()
    response
      .on('close', connectionClosed.resolve)
      .writeHead(200, { 'content-type': 'audio/mpeg' })
      .write(Buffer.alloc(1_000))
  }).listen(0, '127.0.0.1')
  await once(speaker, 'listening')
  const origin = `http://127.0.0.1:${(speaker.address() as AddressInfo).port}`
  const { id } = await world.bring({ origin, key: 'sk-s' }, 'speaker', { models: [{ id: 'tts-1' }] })
  const response = await fetch(`${world.server.origin}/compat-a/v1/audio/speech`, {
    method: 'POST',
    headers: { ...world.key.headers, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'speaker/tts-1', input: 'hello', voice: 'alloy' }),
  })
  assert.equal(response.status, 200)
  await world.person.patch(`/ai-gateway/provider-endpoints/${id}`, { enabled: false })
  await assert.rejects(response.arrayBuffer())
  await connectionClosed.promise
  speaker.closeAllConnections()
  speaker.close()
})
