import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { embeddingWireOf } from '#gateway/wire/embeddings.ts'
import { type World, gatewayWorld, pricedModel } from '../world.ts'
import { type ScriptedVendor, startScripted, whole } from './scripted.ts'

let world: World
let vendor: ScriptedVendor

before(async () => {
  vendor = await startScripted()
  world = await gatewayWorld({ UK_LIMIT_INFERENCE: '0' })
  for (const shape of ['openai-chat', 'openai-responses', 'ollama']) {
    const base_url = shape === 'ollama' ? vendor.origin : `${vendor.origin}/v1`
    const models = [pricedModel('m', { capabilities: ['embeddings'] })]
    await world.bring({ ...vendor, key: 'sk-test' }, shape, { shape, base_url, models })
  }
})
after(async () => {
  await world[Symbol.asyncDispose]()
  await vendor[Symbol.asyncDispose]()
})

const numbers = [0.25, -0.5, 0.75, 1]
const text = 'AACAPgAAAL8AAEA/AACAPw=='

test('vectors arrive in the encoding that the client requested, for any encoding of the provider', async () => {
  for (const shape of ['openai-chat', 'openai-responses', 'ollama'])
    for (const root of ['/compat-a/v1', '/compat-c/v1'])
      for (const [encoding, expected] of [
        ['base64', text],
        ['float', numbers],
        [undefined, numbers],
      ] as const)
        for (const embedding of [numbers, text]) {
          const usage = { prompt_tokens: 2, total_tokens: 2 }
          vendor.script = whole({
            object: 'list',
            model: 'm',
            data: [{ object: 'embedding', index: 0, embedding }],
            usage,
          })
          const body = { model: `${shape}/m`, input: 'Hello', ...(encoding && { encoding_format: encoding }) }
          const answer = await world.key.post(`${root}/embeddings`, body)
          assert.equal(answer.status, 200, answer.text)
          assert.deepEqual(answer.body.data[0].embedding, expected, `${shape}, ${root}, ${encoding}`)
          assert.equal(Number((await world.record(answer.headers.get('x-request-id')!)).input_tokens), 2)
        }
})

test('many vectors, more than are read before sending, are encoded too', async () => {
  const data = Array.from({ length: 600 }, (_, index) => ({
    object: 'embedding',
    index,
    embedding: Array.from({ length: 512 }, (__, i) => (index + i) / 1_024),
  }))
  vendor.script = whole({ object: 'list', model: 'm', data, usage: { prompt_tokens: 2, total_tokens: 2 } })
  const body = { model: 'openai-chat/m', input: ['Hello'], encoding_format: 'base64' }
  const answer = await world.key.post('/compat-a/v1/embeddings', body)
  assert.equal(answer.status, 200)
  assert.equal(answer.body.data.length, 600)
  for (const { index, embedding } of answer.body.data)
    assert.equal(Buffer.from(embedding, 'base64').readFloatLE(4), Math.fround((index + 1) / 1_024))
})

test('the platform’s own vectors are read in either encoding and counted by the available figure', () => {
  for (const shape of ['openai-chat', 'openai-responses', 'ollama'] as const)
    for (const embedding of [numbers, text]) {
      const result = embeddingWireOf(shape)!.read({ data: [{ index: 0, embedding }], usage: { total_tokens: 2 } }, 1)
      assert.deepEqual(result, { vectors: [numbers], tokens: 2 })
    }
})
