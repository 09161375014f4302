import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import OpenAI, { BadRequestError } from 'openai'
import { startAnthropic } from '../../../vendors/anthropic/anthropic.ts'
import { startOpenAI } from '../../../vendors/openai/openai.ts'
import type { Json, Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel } from '../world.ts'

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
  await world.bring(anthropic, 'an', {
    shape: 'anthropic-messages',
    models: [pricedModel('claude-sonnet-5-5', thinks)],
  })
  client = new OpenAI({ apiKey: world.key.key, baseURL: `${world.server.origin}/compat-a/v1`, maxRetries: 0 })
})

after(async () => {
  await world[Symbol.asyncDispose]()
  await openai[Symbol.asyncDispose]()
  await anthropic[Symbol.asyncDispose]()
})

const native = 'rs/gpt-4o'
const foreign = ['oa/gpt-4o', 'an/claude-sonnet-5-5'] as const
const lastRequest = (vendor: Vendor) => vendor.requests.findLast(({ method }) => method === 'POST')!

test('the vendor finds what it stored; storage elsewhere is refused, and no answer claims it', async () => {
  const first = await client.responses.create({ model: native, input: 'one' })
  const second = await client.responses.create({ model: native, input: 'two', previous_response_id: first.id })
  assert.equal(second.output_text, 'two')
  await assert.rejects(client.responses.create({ model: native, input: 'x', background: true }), {
    param: 'background',
  })
  for (const model of foreign) {
    const { data, response } = await client.responses.create({ model, input: 'one', store: true }).withResponse()
    assert.equal((data as Json)['store'], false)
    assert.match(response.headers.get('x-uk-losses')!, /\bstore\b/)
    await assert.rejects(client.responses.create({ model, input: 'two', previous_response_id: data.id }), (error) => {
      assert.ok(error instanceof BadRequestError)
      assert.deepEqual([error.code, error.param], ['previous_response_not_found', 'previous_response_id'])
      return true
    })
    await assert.rejects(client.responses.create({ model, input: 'x', background: true }), { param: 'background' })
    const reference = [{ type: 'item_reference' as const, id: 'msg_1' }]
    await assert.rejects(client.responses.create({ model, input: reference }), { status: 404, param: 'input.0' })
  }
})

test('responses stored in the caller’s own account are read, listed, and deleted; others are not found', async () => {
  const { id } = await client.responses.create({ model: native, input: 'keep this' })
  assert.equal((await client.responses.retrieve(id)).output_text, 'keep this')
  assert.match(JSON.stringify((await client.responses.inputItems.list(id)).data), /keep this/)
  await assert.rejects(client.responses.cancel(id), (error) => {
    assert.ok(error instanceof BadRequestError)
    return /background/.test(error.message)
  })
  await assert.rejects(client.responses.retrieve(id, { stream: true }), { status: 400, param: 'stream' })
  // The instance's shared account isn't searched, although it answers with the same key.
  await world.bring(openai, 'shared', { instance: true, shape: 'openai-responses', models: [pricedModel('gpt-4o')] })
  const before = openai.requests.length
  const eve = await world.server.person('Eve')
  const stranger = new OpenAI({ ...client, apiKey: (await eve.key()).key, baseURL: client.baseURL, maxRetries: 0 })
  await assert.rejects(stranger.responses.retrieve(id), { status: 404 })
  assert.equal(openai.requests.length, before)
  assert.ok(!openai.requests.some(({ headers }) => JSON.stringify(headers).includes(world.key.key)))
  await client.responses.delete(id)
  for (const missingId of [id, 'resp_none', (await client.responses.create({ model: foreign[1], input: 'x' })).id])
    await assert.rejects(client.responses.retrieve(missingId), { status: 404, param: 'response_id' })
  const odd = await world.key.get('/compat-a/v1/responses/..%2f..%2fmodels')
  assert.equal(odd.status, 404, odd.text)
})

test('a conversation is compacted only by the vendor that can read it again', async () => {
  const input = [
    { role: 'user' as const, content: 'one' },
    { role: 'assistant' as const, content: 'two' },
  ]
  openai.script({ reply: 'summary', usage: { input: 1_000, output: 50 } })
  const { data, response } = await client.responses.compact({ model: native, input }).withResponse()
  assert.deepEqual([data.object, data.output.length, data.usage.output_tokens], ['response.compaction', 2, 50])
  assert.equal(lastRequest(openai).json().model, 'gpt-4o')
  const call = await world.record(response.headers.get('x-request-id')!)
  assert.deepEqual([call.input_tokens, call.output_tokens, call.cost_nano], [1_000n, 50n, 1_100_000n])
  await assert.rejects(client.responses.compact({ model: foreign[1], input }), { status: 400, param: 'model' })
  const compactedInput = [{ type: 'compaction' as const, encrypted_content: 'gAAAA' }, ...input]
  await assert.rejects(client.responses.create({ model: foreign[1], input: compactedInput }), { param: 'input.0' })
  const sealedInput = [{ type: 'reasoning' as const, id: 'rs_1', summary: [], encrypted_content: 'uk1.e30' }, ...input]
  await assert.rejects(client.responses.compact({ model: native, input: sealedInput }), { status: 400, param: 'input' })
  const poor = await world.person.key({ spend_cap_usd: 0.00001, spend_cap_period: 'total' })
  const refusal = await poor.post('/compat-a/v1/responses/compact', { model: native, input: 'a' })
  assert.equal(refusal.status, 402, 'its output is held though nothing bounds it')
})
