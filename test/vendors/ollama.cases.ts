import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import OpenAI from 'openai'
import { startOllama } from './ollama.ts'
import type { Json, Vendor } from './vendor.ts'

const client = (vendor: Vendor) =>
  new OpenAI({ apiKey: 'any', baseURL: `${vendor.origin}/v1`, maxRetries: 0, logLevel: 'off' })
const ask = (content: string, model = 'llama3.2') => ({ model, messages: [{ role: 'user' as const, content }] })
const weather = { type: 'function' as const, function: { name: 'weather', parameters: {} } }

const post = async (vendor: Vendor, path: string, body: unknown) =>
  await fetch(vendor.origin + path, { method: 'POST', body: JSON.stringify(body) })
const lines = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Json)

describe('ollama', () => {
  test('its own API', async () => {
    await using vendor = await startOllama({ version: '1.2.3' })
    const get = async (path: string) => (await (await fetch(vendor.origin + path)).json()) as Json
    assert.deepEqual(await get('/api/version'), { version: '1.2.3' })
    assert.equal((await get('/api/tags'))['models'][0].name, 'llama3.2:latest')
    const shown = (await (await post(vendor, '/api/show', { model: 'qwen3:4b' })).json()) as Json
    assert.deepEqual(shown['capabilities'], ['completion', 'tools', 'thinking'])
    const missing = await post(vendor, '/api/show', { model: 'nope' })
    assert.deepEqual([missing.status, await missing.json()], [404, { error: "model 'nope' not found" }])
  })

  test('its own chat: lines of JSON, or one object', async () => {
    await using vendor = await startOllama()
    vendor.script({
      reply: { text: 'Hello', tools: [{ name: 'weather', arguments: { city: 'Kyōto' } }] },
      usage: { input: 7, output: 3 },
    })
    const streamed = lines(await (await post(vendor, '/api/chat', ask('Hi'))).text())
    assert.deepEqual(
      streamed.map((line) => line['done']),
      [false, false, true],
    )
    assert.deepEqual(streamed[1]?.['message'].tool_calls[0].function, {
      index: 0,
      name: 'weather',
      arguments: { city: 'Kyōto' },
    })
    assert.deepEqual([streamed[2]?.['prompt_eval_count'], streamed[2]?.['eval_count']], [7, 3])
    const whole = (await (await post(vendor, '/api/chat', { ...ask('Hi', 'qwen3:4b'), stream: false })).json()) as Json
    assert.equal(whole['message'].content, 'Hi')
    assert.ok(whole['message'].thinking)
    vendor.script({ midStreamError: { message: 'gone' } })
    assert.deepEqual(lines(await (await post(vendor, '/api/chat', ask('one two three'))).text()).at(-1), {
      error: 'gone',
    })
    assert.equal((await post(vendor, '/api/chat', { ...ask('x'), think: true })).status, 400)
  })

  test('openai 7.55 talks to it', async () => {
    await using vendor = await startOllama()
    assert.equal((await client(vendor).models.list()).data[0]?.owned_by, 'library')
    assert.equal((await client(vendor).chat.completions.create(ask('Hi'))).choices[0]?.message.content, 'Hi')
    vendor.script({ reply: { tools: [{ name: 'weather' }, { name: 'weather' }] } })
    const options = { stream_options: { include_usage: true }, tools: [weather] }
    const answer = await client(vendor)
      .chat.completions.stream({ ...ask('Hi'), ...options })
      .finalChatCompletion()
    assert.equal(answer.choices[0]?.message.tool_calls?.length, 2)
    assert.equal(answer.choices[0]?.finish_reason, 'tool_calls')
    assert.ok(answer.usage)
    await assert.rejects(client(vendor).chat.completions.create(ask('x', 'nope')), {
      status: 404,
      type: 'not_found_error',
    })
    vendor.script({ status: 503, message: 'server busy' })
    await assert.rejects(client(vendor).chat.completions.create(ask('x')), { status: 503, type: 'api_error' })
  })

  test('a stream that breaks goes quiet', async () => {
    await using vendor = await startOllama()
    vendor.script({ midStreamError: true })
    const text = await (await post(vendor, '/v1/chat/completions', { ...ask('one two three'), stream: true })).text()
    assert.doesNotMatch(text, /\[DONE\]|"finish_reason":"|error/)
  })
})
