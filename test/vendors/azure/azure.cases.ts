import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import OpenAI, { AuthenticationError, AzureOpenAI, NotFoundError } from 'openai'
import { startAzure } from './azure.ts'
import type { Vendor } from '../vendor.ts'

const client = (vendor: Vendor, apiKey = vendor.key) =>
  new AzureOpenAI({ apiKey, endpoint: vendor.origin, apiVersion: '2024-10-21', maxRetries: 0, logLevel: 'off' })
const ask = (model: string) => ({ model, messages: [{ role: 'user' as const, content: 'one two' }] })

describe('AzureOpenAI of openai 7.55', () => {
  test('by deployment: whole, streamed with a first chunk without choices, embeddings', async () => {
    await using vendor = await startAzure({ entraToken: 'ey.entra.token' })
    const whole = await client(vendor).chat.completions.create(ask('my-gpt-4o'))
    assert.equal(whole.choices[0]?.message.content, 'one two')
    assert.ok('prompt_filter_results' in whole)
    assert.equal(vendor.requests[0]?.path, '/openai/deployments/my-gpt-4o/chat/completions')
    assert.equal(vendor.requests[0].query.get('api-version'), '2024-10-21')
    assert.equal(vendor.requests[0].headers['api-key'], vendor.key)
    const sizes: number[] = []
    let text = ''
    for await (const chunk of await client(vendor).chat.completions.create({ ...ask('my-gpt-4o'), stream: true })) {
      sizes.push(chunk.choices.length)
      text += chunk.choices[0]?.delta.content ?? ''
    }
    assert.deepEqual([sizes[0], sizes[1], text], [0, 1, 'one two'])
    const embedding = await client(vendor).embeddings.create({ model: 'my-text-embedding-3-small', input: 'a' })
    assert.equal(embedding.data[0]?.embedding.length, 1536)
    const entra = {
      azureADTokenProvider: async () => 'ey.entra.token',
      endpoint: vendor.origin,
      apiVersion: '2024-10-21',
    }
    assert.ok(await new AzureOpenAI(entra).chat.completions.create(ask('my-gpt-4o')))
  })

  test('/openai/v1 needs no api-version', async () => {
    await using vendor = await startAzure()
    const plain = new OpenAI({ apiKey: vendor.key, baseURL: `${vendor.origin}/openai/v1`, maxRetries: 0 })
    assert.equal((await plain.chat.completions.create(ask('my-gpt-4o'))).choices[0]?.message.content, 'one two')
    assert.ok((await plain.models.list()).data.some((one) => one.id === 'my-gpt-4o'))
  })

  test('rejects what Azure rejects', async () => {
    await using vendor = await startAzure()
    await assert.rejects(client(vendor).chat.completions.create(ask('gpt-4o')), (error) => {
      assert.ok(error instanceof NotFoundError)
      assert.equal(error.code, 'DeploymentNotFound')
      return true
    })
    await assert.rejects(client(vendor, 'wrong').chat.completions.create(ask('my-gpt-4o')), AuthenticationError)
    const url = `${vendor.origin}/openai/deployments/my-gpt-4o/chat/completions`
    const response = await fetch(url, { method: 'POST', headers: { 'api-key': vendor.key }, body: '{}' })
    assert.equal(response.status, 404)
    vendor.script({ status: 400, code: 'content_filter' })
    await assert.rejects(client(vendor).chat.completions.create(ask('my-gpt-4o')), {
      status: 400,
      code: 'content_filter',
    })
  })
})
