import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import OpenAI from 'openai'
import { startOllama } from './ollama.ts'
import type { Json, Vendor } from '../vendor.ts'

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
    const info = (await (await post(vendor, '/api/show', { model: 'qwen3:4b' })).json()) as Json
    assert.deepEqual(info['capabilities'], ['completion', 'tools', 'thinking'])
    const missing = await post(vendor, '/api/show', { model: 'nope' })
    assert.deepEqual([missing.status, await missing.json()], [404, { error: "model 'nope' not found" }])
  })

  test('models are pulled layer by layer, loaded, reported, and removed', async () => {
    const layers = [1_000, 40]
    await using vendor = await startOllama({ registry: [{ name: 'tiny:latest', layers, context: 512, numCtx: 256 }] })
    const get = async (path: string) => ((await (await fetch(vendor.origin + path)).json()) as Json)['models'] as Json[]
    const names = async () => (await get('/api/tags')).map(({ name }) => name as string)
    const none = await post(vendor, '/api/pull', { model: 'nope' })
    assert.equal(none.status, 200)
    assert.deepEqual(lines(await none.text()), [
      { status: 'pulling manifest' },
      { error: 'pull model manifest: file does not exist' },
    ])
    assert.equal((await post(vendor, '/api/pull', {})).status, 400)

    vendor.script({ on: 'POST /api/pull', perChunkDelayMs: 5 })
    const leaving = new AbortController()
    const body = JSON.stringify({ model: 'tiny' })
    const response = await fetch(`${vendor.origin}/api/pull`, { method: 'POST', body, signal: leaving.signal })
    let text = ''
    for await (const part of response.body!.pipeThrough(new TextDecoderStream()))
      if ((text += part).split('\n').length > 6) break
    leaving.abort()
    await vendor.requests.at(-1)!.ended
    assert.equal((await names()).includes('tiny:latest'), false)

    const pullLines = lines(await (await post(vendor, '/api/pull', { model: 'tiny' })).text())
    assert.ok(pullLines[1]!['completed'] >= 100 && pullLines[1]!['total'] === 1_000, JSON.stringify(pullLines[1]))
    assert.deepEqual(
      pullLines.slice(-3).map(({ status }) => status),
      ['verifying sha256 digest', 'writing manifest', 'success'],
    )
    const tag = (await get('/api/tags')).find(({ name }) => name === 'tiny:latest')!
    assert.deepEqual([tag['size'], tag['digest'].length], [1_040, 64])

    assert.deepEqual(await get('/api/ps'), [])
    const load = (keep_alive: unknown) => post(vendor, '/api/generate', { model: 'tiny', keep_alive })
    assert.equal(((await (await load('1h')).json()) as Json)['done_reason'], 'load')
    assert.deepEqual(
      (await get('/api/ps')).map(({ name, context_length: context }) => [name, context]),
      [['tiny:latest', 256]],
    )
    assert.equal(((await (await load(0)).json()) as Json)['done_reason'], 'unload')
    assert.deepEqual(await get('/api/ps'), [])
    const generateLines = lines(await (await post(vendor, '/api/generate', { model: 'tiny', prompt: 'Hello' })).text())
    assert.deepEqual([generateLines[0]!['response'], generateLines.at(-1)!['done']], ['Hello', true])

    const remove = async () =>
      (await fetch(`${vendor.origin}/api/delete`, { method: 'DELETE', body: JSON.stringify({ model: 'tiny' }) })).status
    assert.deepEqual([await remove(), await remove()], [200, 404])
    assert.equal((await names()).includes('tiny:latest'), false)
  })

  test('vectors, on its own route and on OpenAI’s', async () => {
    await using vendor = await startOllama()
    const own = (await (await post(vendor, '/api/embed', { model: 'all-minilm', input: ['a', 'b'] })).json()) as Json
    assert.deepEqual([own['embeddings'].length, own['embeddings'][0].length, own['prompt_eval_count']], [2, 384, 2])
    const { data, usage } = await client(vendor).embeddings.create({ model: 'all-minilm', input: 'a' })
    assert.ok(Math.abs(data[0]!.embedding[0]! - own['embeddings'][0][0]) < 1e-6)
    assert.equal(usage.prompt_tokens, 1)
    assert.equal((await post(vendor, '/api/embed', { model: 'nope', input: 'a' })).status, 404)
  })

  test('input longer than the context silently loses its oldest messages', async () => {
    await using vendor = await startOllama({ models: [{ name: 'small:latest', numCtx: 20 }] })
    const messages = [
      { role: 'system', content: 'be brief' },
      { role: 'user', content: 'word '.repeat(30) },
      { role: 'assistant', content: 'ok' },
      { role: 'user', content: 'last' },
    ]
    const answer = await post(vendor, '/v1/chat/completions', { model: 'small', messages })
    assert.equal(answer.status, 200)
    assert.deepEqual(
      vendor.requests[0]!.seen!.messages.map(({ content }) => content),
      ['be brief', 'ok', 'last'],
    )
  })
})

describe('ollama, chat', () => {
  test('its own chat: lines of JSON, or one object', async () => {
    await using vendor = await startOllama()
    vendor.script({
      reply: { text: 'Hello', tools: [{ name: 'weather', arguments: { city: 'Kyōto' } }] },
      usage: { input: 7, output: 3 },
    })
    const streamLines = lines(await (await post(vendor, '/api/chat', ask('Hi'))).text())
    assert.deepEqual(
      streamLines.map((line) => line['done']),
      [false, false, true],
    )
    assert.deepEqual(streamLines[1]?.['message'].tool_calls[0].function, {
      index: 0,
      name: 'weather',
      arguments: { city: 'Kyōto' },
    })
    assert.deepEqual([streamLines[2]?.['prompt_eval_count'], streamLines[2]?.['eval_count']], [7, 3])
    const whole = (await (await post(vendor, '/api/chat', { ...ask('Hi', 'qwen3:4b'), stream: false })).json()) as Json
    assert.equal(whole['message'].content, 'Hi')
    assert.ok(whole['message'].thinking)
    vendor.script({ midStreamError: { message: 'gone' } })
    assert.deepEqual(lines(await (await post(vendor, '/api/chat', ask('one two three'))).text()).at(-1), {
      error: 'gone',
    })
    assert.equal((await post(vendor, '/api/chat', { ...ask('x'), think: true })).status, 400)
  })

  test('openai 7.55 works with it', async () => {
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

  test('it only knows max_tokens: with another name the answer has no limit', async () => {
    await using vendor = await startOllama({ otherwise: { talks: 3_000 } })
    const answerLength = async (more: object) => {
      const answer = await client(vendor).chat.completions.create({ ...ask('Go on.'), ...more })
      return [answer.usage!.completion_tokens, answer.choices[0]!.finish_reason, vendor.requests.at(-1)!.seen!.limit]
    }
    assert.deepEqual(await answerLength({ max_tokens: 50 }), [50, 'length', 50])
    assert.deepEqual(await answerLength({ max_completion_tokens: 50 }), [3_000, 'stop', undefined])
    assert.deepEqual(await answerLength({}), [3_000, 'stop', undefined])
    const native = { ...ask('Go on.'), stream: false, options: { num_predict: 7 } }
    assert.equal(((await (await post(vendor, '/api/chat', native)).json()) as Json)['eval_count'], 7)
  })

  test('a developer message is accepted and never reaches the model; a system message does', async () => {
    await using vendor = await startOllama()
    const messages = ['developer', 'system', 'user'].map((role) => ({ role, content: `from ${role}` }))
    const answer = await post(vendor, '/v1/chat/completions', { model: 'llama3.2', messages })
    assert.equal(answer.status, 200)
    assert.deepEqual(
      vendor.requests[0]!.seen!.messages.map(({ role }) => role),
      ['system', 'user'],
    )
  })
})

describe('ollama, errors', () => {
  test('it rejects unknown efforts, and calls in the history whose arguments aren’t an object', async () => {
    await using vendor = await startOllama()
    const chat = async (body: object) => {
      const answer = await post(vendor, '/v1/chat/completions', { ...ask('Hi', 'qwen3:4b'), ...body })
      return [answer.status, ((await answer.json()) as Json)['error']?.message as string | undefined] as const
    }
    for (const effort of ['none', 'low', 'medium', 'high', 'max'])
      assert.equal((await chat({ reasoning_effort: effort }))[0], 200, effort)
    for (const effort of ['minimal', 'xhigh', 'ultra', 'auto']) {
      const [status, message] = await chat({ reasoning_effort: effort })
      assert.equal(status, 400, effort)
      assert.match(message!, /^invalid reasoning value: '/)
    }
    const callWith = (argumentsText: string) => ({
      messages: [
        { role: 'user', content: 'Weather?' },
        {
          role: 'assistant',
          tool_calls: [{ id: 'c', type: 'function', function: { name: 'weather', arguments: argumentsText } }],
        },
        { role: 'tool', tool_call_id: 'c', content: 'sunny' },
      ],
    })
    assert.equal((await chat(callWith('{}')))[0], 200)
    for (const argumentsText of ['', '[]', '{"city":'])
      assert.deepEqual(await chat(callWith(argumentsText)), [400, 'invalid tool call arguments'], argumentsText)
  })

  test('a stream that breaks goes silent', async () => {
    await using vendor = await startOllama()
    vendor.script({ midStreamError: true })
    const text = await (await post(vendor, '/v1/chat/completions', { ...ask('one two three'), stream: true })).text()
    assert.doesNotMatch(text, /\[DONE\]|"finish_reason":"|error/)
  })
})
