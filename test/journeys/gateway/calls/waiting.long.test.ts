// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI, { APIError } from 'openai'
import { startOpenAI } from '../../../vendors/openai/openai.ts'
import type { Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel, userMessages } from '../world.ts'

let world: World
let vendor: Vendor
let other: Vendor

before(async () => {
  vendor = await startOpenAI({ key: 'sk-one' })
  other = await startOpenAI({ key: 'sk-two' })
  world = await gatewayWorld()
  await world.bring(vendor, 'slow', { priority: 1, models: [pricedModel('gpt-4o')] })
  await world.bring(vendor, 'thinker', { models: [pricedModel('gpt-4o-mini')] })
  await world.bring(other, 'other', { priority: 2, models: [pricedModel('gpt-4o')] })
})
after(async () => {
  await world[Symbol.asyncDispose]()
  await vendor[Symbol.asyncDispose]()
  await other[Symbol.asyncDispose]()
})

const ask = (model: string) =>
  world.key.post('/compat-c/v1/chat/completions', { model, messages: userMessages('hello'), stream: true })

test('a client waiting on compat-c gets keep-alives, and can still be served by another provider', async () => {
  const client = new OpenAI({ apiKey: world.key.key, baseURL: `${world.server.origin}/compat-c/v1`, maxRetries: 0 })
  vendor.script({ reply: 'at last', delayMs: 5_500 }, { status: 401, message: 'no', delayMs: 5_500 })
  const waiting = ask('slow/gpt-4o')
  await vendor.arrival(0)
  const falling = ask('gpt-4o')
  await vendor.arrival(1)
  other.script({ status: 401, message: 'never', delayMs: 5_500 })
  const stream = await client.chat.completions.create({
    model: 'other/gpt-4o',
    messages: userMessages('x'),
    stream: true,
  })
  const readAll = async () => {
    for await (const _ of stream) continue
  }
  const failure = await readAll().catch((error: unknown) => error)
  const [late, second] = [await waiting, await falling]
  assert.deepEqual([late.status, late.text.startsWith(': OPENROUTER PROCESSING\n\n')], [200, true])
  assert.match(late.text, /"content":"at"/)
  assert.ok(late.text.endsWith('data: [DONE]\n\n'))
  assert.match(second.text, /^: OPENROUTER PROCESSING\n\n(.|\n)*"provider":"other"/)
  assert.ok(failure instanceof APIError, 'after the head has left the stream says it')
})

test('a client waiting on compat-b gets pings, which its SDKs ignore', async () => {
  const { origin } = world.server
  const anthropic = new Anthropic({ apiKey: world.key.key, baseURL: `${origin}/compat-b`, maxRetries: 0 })
  vendor.script({ reply: 'at last', delayMs: 10_500, times: 2 })
  const body = { model: 'thinker/gpt-4o-mini', max_tokens: 99, messages: userMessages('x') }
  const [{ text }, message] = await Promise.all([
    world.key.post('/compat-b/v1/messages', { ...body, stream: true }),
    anthropic.messages.stream(body).finalMessage(),
  ])
  const head =
    /^event: ping\ndata: \{"type":"ping"\}\n\n: x-uk-route: provider=thinker; seed=\d+\n\nevent: message_start\n/
  assert.match(text, head)
  assert.deepEqual(message.content[0]?.type === 'text' && message.content[0].text, 'at last')
})
