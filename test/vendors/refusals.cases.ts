import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import OpenAI from 'openai'
import { startAnthropic } from './anthropic/anthropic.ts'
import { startAzure } from './azure/azure.ts'
import { startBedrock } from './bedrock/bedrock.ts'
import { startGemini } from './gemini/gemini.ts'
import { startOllama } from './ollama/ollama.ts'
import { startOpenAI } from './openai/openai.ts'
import { startOpenRouter } from './openrouter/openrouter.ts'
import type { Refusal, Vendor } from './vendor.ts'

const reasons: Refusal[] = ['key', 'permission', 'quota', 'throttle']
type PlainRequest = { path: string; headers: Record<string, string>; body: object }
const messages = [{ role: 'user', content: 'Hi' }]
const contents = [{ role: 'user', parts: [{ text: 'Hi' }] }]
const plain: PlainRequest = { path: '/v1/chat/completions', headers: {}, body: { model: 'gpt-4o', messages } }

/** A request that each vendor accepts by default, and the statuses of its four refusals. */
const vendors: [string, () => Promise<Vendor>, (key: string) => PlainRequest, number[]][] = [
  ['openai', startOpenAI, (key) => ({ ...plain, headers: { authorization: `Bearer ${key}` } }), [401, 403, 429, 429]],
  ['ollama', startOllama, () => ({ ...plain, body: { model: 'llama3.2', messages } }), [401, 403, 429, 503]],
  [
    'anthropic',
    startAnthropic,
    (key) => ({
      path: '/v1/messages',
      headers: { 'x-api-key': key, 'anthropic-version': '2023-06-01' },
      body: { model: 'claude-opus-5-5', max_tokens: 9, messages },
    }),
    [401, 403, 429, 429],
  ],
  [
    'openrouter',
    startOpenRouter,
    (key) => ({
      path: '/api/v1/chat/completions',
      headers: { authorization: `Bearer ${key}` },
      body: { model: 'openai/gpt-4o-mini', messages },
    }),
    [401, 403, 402, 429],
  ],
  [
    'gemini',
    startGemini,
    (key) => ({
      path: '/v1beta/models/gemini-2.0-flash:generateContent',
      headers: { 'x-goog-api-key': key },
      body: { contents },
    }),
    [400, 403, 429, 429],
  ],
  [
    'azure',
    startAzure,
    (key) => ({
      path: '/openai/v1/chat/completions',
      headers: { 'api-key': key },
      body: { model: 'my-gpt-4o', messages },
    }),
    [401, 403, 403, 429],
  ],
  [
    'bedrock',
    startBedrock,
    (key) => ({
      path: '/model/amazon.nova-pro-v1:0/converse',
      headers: { authorization: `Bearer ${key}` },
      body: { messages: [{ role: 'user', content: [{ text: 'Hi' }] }] },
    }),
    [403, 403, 429, 429],
  ],
]

describe('refusals', () => {
  for (const [name, start, ask, statuses] of vendors)
    test(`${name} refuses an unknown key, missing permission, an exhausted account, and excess requests`, async () => {
      await using vendor = await start()
      const send = async () => {
        const { path, headers, body } = ask(vendor.key)
        return await fetch(vendor.origin + path, { method: 'POST', headers, body: JSON.stringify(body) })
      }
      const seen: number[] = []
      for (const refuses of reasons) {
        vendor.script({ refuses })
        const answer = await send()
        seen.push(answer.status)
        assert.match(await answer.text(), /"message"/)
        assert.equal(vendor.requests.at(-1)!.seen, undefined, 'no model saw it')
      }
      assert.deepEqual(seen, statuses)
      assert.equal((await send()).status, 200)
      assert.ok(vendor.requests.at(-1)!.seen)
    })

  test('openai 7.55 retries after throttling, following `retry-after-ms`, and reports the exhausted quota', async () => {
    await using vendor = await startOpenAI()
    const client = new OpenAI({ apiKey: vendor.key, baseURL: `${vendor.origin}/v1`, maxRetries: 1, logLevel: 'off' })
    const ask = () => client.chat.completions.create({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hi' }] })
    vendor.script({ refuses: 'throttle' })
    assert.equal((await ask()).choices[0]!.message.content, 'Hi')
    assert.equal(vendor.requests.length, 2)
    vendor.script({ refuses: 'quota', times: 2 })
    await assert.rejects(ask(), { status: 429, code: 'insufficient_quota', type: 'insufficient_quota' })
  })
})
