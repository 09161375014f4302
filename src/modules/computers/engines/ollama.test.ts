// Ollama on a user's machine, simulated as documented: test/vendors/ollama.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { type OllamaBox, ollamaBox } from '#test/local-inference/ollama-box.ts'
import type { Caller } from '#test/server.ts'
import { twoServers } from '#test/two-servers.ts'
import { until } from '#test/until.ts'

const { server, twin, alice } = await twoServers()
const stack = new AsyncDisposableStack()
const layers = [600_000, 5_000, 300]
let box: OllamaBox
let key: Caller & { key: string }

before(async () => {
  const models = [{ name: 'tiny:latest', capabilities: ['completion'], context: 8_192, numCtx: 512 }]
  const registry = [
    { name: 'smollm:135m', capabilities: ['completion', 'tools'], context: 2_048, layers },
    { name: 'nomic-embed-text:latest', capabilities: ['embedding'], family: 'nomic-bert', layers: [900] },
    { name: 'hf.co/somebody/small-gguf:Q4_K_M', capabilities: ['completion'], layers: [900] },
  ]
  box = stack.use(await ollamaBox(server.origin, alice, 'Den', { models, registry, version: '0.24.0' }))
  key = await alice.key()
})
after(() => stack.disposeAsync())

const local = (path = '') => `/computers/${box.id}/local-inference${path}`
const waitForEnd = async (operation: { id: string }) =>
  (
    await until(
      () => alice.get(`/operations/${operation.id}/await?timeout_seconds=5`),
      ({ body }) => !['queued', 'running'].includes(body.data.status),
    )
  ).body.data
const installing = async (ollama: string) => {
  const answer = await alice.post(local('/models'), { source: { ollama } })
  assert.equal(answer.status, 202, answer.text)
  return answer.body.data
}
const models = async () => (await alice.get(local('/models'))).body.data as Record<string, any>[]
const names = async () => (await models()).map(({ name }) => name as string)
const openai = (origin = server.origin) =>
  new OpenAI({ apiKey: key.key, baseURL: `${origin}/compat-a/v1`, maxRetries: 0 })
const ask = (content = 'hello there', model = 'local/tiny:latest') => ({
  model,
  messages: [{ role: 'user' as const, content }],
})
const pulls = () => box.ollama.requests.filter(({ path }) => path === '/api/pull')

test('a running Ollama is detected, and can only be stopped on its machine', async () => {
  const state = await alice.post(local(), { action: 'status' })
  assert.equal(state.status, 200, state.text)
  assert.equal(state.body.data.engine, 'ollama')
  assert.deepEqual(
    state.body.data.engines.map(({ name, status, version }: Record<string, unknown>) => [name, status, version]),
    [
      ['llama', 'absent', null],
      ['sherpa', 'absent', null],
      ['ollama', 'running', '0.24.0'],
    ],
  )
  assert.equal((await alice.get(`/computers/${box.id}`)).body.data.engine, 'ready')
  assert.equal((await alice.post(local(), { action: 'start', engine: 'ollama' })).status, 200)
  const stopResponse = await alice.post(local(), { action: 'stop', engine: 'ollama' })
  assert.deepEqual([stopResponse.status, stopResponse.body.error.code], [409, 'not_supported'])
  assert.deepEqual(
    (await models()).map((row) => [row.name, row.engine, row.status, row.context_length, row.quantization]),
    [['tiny:latest', 'ollama', 'ready', 512, 'Q4_K_M']],
  )
})

test('library models install with progress, and a canceled download resumes later', async () => {
  box.ollama.script({ on: 'POST /api/pull', perChunkDelayMs: 60 })
  const pullOperation = await installing('smollm:135m')
  const again = await alice.post(local('/models'), { source: { ollama: 'smollm:135m' } })
  assert.deepEqual([again.status, again.body.error.code], [409, 'already_exists'])
  const progress = await until(
    () => alice.get(local('/operations')),
    ({ body }) => body.data[0].bytes_done > 100_000,
  )
  assert.equal(progress.body.data[0].phase, 'downloading')
  assert.ok((await names()).includes('smollm:135m'))
  assert.equal((await alice.post(local(`/operations/${pullOperation.id}/cancel`))).status, 200)
  assert.equal((await waitForEnd(pullOperation)).status, 'cancelled')
  await pulls()[0]!.ended
  assert.equal(pulls()[0]!.aborted, true)
  assert.equal((await names()).includes('smollm:135m'), false)

  box.ollama.script({ on: 'POST /api/pull', perChunkDelayMs: 30 })
  const next = await installing('smollm:135m')
  const totals: number[] = []
  await until(
    async () => {
      const [operation] = (await alice.get(local('/operations'))).body.data
      if (operation.bytes_done > 0) totals.push(operation.bytes_done)
      return operation.status as string
    },
    (status) => status === 'succeeded',
  )
  assert.ok(totals[0]! >= 100_000, `it began again at ${totals[0]}`)
  assert.deepEqual(
    totals,
    totals.toSorted((a, b) => a - b),
    'progress never goes back',
  )
  assert.equal(totals.at(-1), 605_300)
  const { result } = await waitForEnd(next)
  assert.deepEqual([result.name, result.status, result.size_bytes], ['smollm:135m', 'ready', 605_300])
  assert.match(result.digest, /^[0-9a-f]{64}$/)
  // The length that Ollama serves, which may differ from the trained length.
  assert.equal(result.context_length, 2_048)
})

test('a broken pull resumes automatically, and an impossible one reports why', async () => {
  box.ollama.script({ on: 'POST /api/pull', garbage: 'closes socket' })
  const broken = await waitForEnd(await installing('hf.co/somebody/small-gguf:Q4_K_M'))
  assert.equal(broken.status, 'succeeded', JSON.stringify(broken.error))
  assert.equal(broken.result.name, 'hf.co/somebody/small-gguf:Q4_K_M')
  const error = async (name: string) => (await waitForEnd(await installing(name))).error
  const none = await error('nobody-made-this')
  assert.equal(none.type, 'upstream_error')
  assert.match(none.message, /pull model manifest: file does not exist/)
  box.ollama.script({
    on: 'POST /api/pull',
    midStreamError: { message: 'digest mismatch, file must be downloaded again' },
  })
  assert.match((await error('nomic-embed-text')).message, /digest mismatch/)
  box.ollama.script({ on: 'POST /api/pull', garbage: 'not json' })
  assert.match((await error('nomic-embed-text')).message, /unexpected response/)
  assert.equal((await names()).includes('nomic-embed-text:latest'), false)
  const refusal = await alice.post(local('/models'), { source: { ollama: 'nomic-embed-text' }, name: 'mine' })
  assert.deepEqual([refusal.status, refusal.body.error.param], [400, 'name'])
  const result = await waitForEnd(await installing('nomic-embed-text'))
  assert.equal(result.result.name, 'nomic-embed-text:latest')
})

test('Ollama models work in every API, chats, /inference/text and embeddings, streamed or not, at no cost', async () => {
  const client = openai()
  const modelIds = (await client.models.list()).data.map(({ id }) => id)
  for (const name of ['tiny:latest', 'smollm:135m', 'hf.co/somebody/small-gguf:Q4_K_M'])
    assert.ok(modelIds.includes(`local/${name}`), modelIds.join())
  const whole = await client.chat.completions.create(ask())
  assert.equal(whole.choices[0]!.message.content, 'hello there')
  let streamed = ''
  for await (const chunk of await client.chat.completions.create({ ...ask(), stream: true }))
    streamed += chunk.choices[0]?.delta.content ?? ''
  assert.equal(streamed, 'hello there')
  // Ollama gets its own model name and one of OpenAI's two token limits.
  const request = box.ollama.requests.findLast(({ path }) => path === '/v1/chat/completions')!
  assert.equal(request.json()['model'], 'tiny:latest')
  await client.chat.completions.create({ ...ask('one two three four five six'), max_completion_tokens: 2 })
  const bounded = box.ollama.requests.findLast(({ path }) => path === '/v1/chat/completions')!
  assert.equal(bounded.seen!.limit, 2)
  const responses = await client.responses.create({ model: 'local/tiny:latest', input: 'hello there' })
  assert.equal(responses.output_text, 'hello there')
  const anthropic = new Anthropic({ apiKey: key.key, baseURL: `${server.origin}/compat-b`, maxRetries: 0 })
  const message = await anthropic.messages.create({ ...ask(), max_tokens: 50 })
  assert.deepEqual(message.content, [{ type: 'text', text: 'hello there', citations: null }])
  const stream = anthropic.messages.stream({ ...ask(), max_tokens: 50 })
  assert.equal(await stream.finalText(), 'hello there')
  const third = await key.post(
    '/compat-c/v1/chat/completions',
    ask('hello there', 'local/hf.co/somebody/small-gguf:Q4_K_M'),
  )
  assert.equal(third.status, 200, third.text)
  assert.deepEqual([third.body.choices[0].message.content, third.body.usage.cost], ['hello there', 0])
  // Calls the process that doesn't hold the link.
  const beyond = await openai(twin.origin).chat.completions.create(ask())
  assert.equal(beyond.choices[0]!.message.content, 'hello there')

  const text = await alice.post('/inference/text', ask())
  assert.deepEqual([text.status, text.body.data.cost_usd], [200, 0], text.text)
  const chat = (await alice.post('/chats', { title: 'Local' })).body.data
  const chatMessage = await alice.post(`/chats/${chat.id}/messages`, {
    content: 'hello there',
    model: 'local/tiny:latest',
  })
  assert.equal(chatMessage.status, 200, chatMessage.text)
  assert.deepEqual([chatMessage.body.data.provider, chatMessage.body.data.cost_usd], ['local', 0])

  const { data } = await client.embeddings.create({ model: 'local/nomic-embed-text:latest', input: ['the a', 'b'] })
  assert.deepEqual(
    data.map(({ embedding }) => embedding.length),
    [384, 384],
  )
  const own = await alice.post('/inference/embeddings', { model: 'local/nomic-embed-text:latest', input: 'the a' })
  if (own.status !== 404) assert.equal(own.body.data?.cost_usd ?? 0, 0, own.text)
})

test('a stream broken halfway ends with an error, and Ollama’s own errors are passed on', async () => {
  box.ollama.script({ midStreamError: true, on: 'POST /v1/chat/completions' })
  await assert.rejects(async () => {
    for await (const _ of await openai().chat.completions.create({ ...ask('one two three four'), stream: true }));
  })
  box.ollama.script({
    status: 500,
    message: 'llama runner process has terminated',
    times: 3,
    on: 'POST /v1/chat/completions',
  })
  await assert.rejects(openai().chat.completions.create(ask('again')), /llama runner process has terminated/)
  box.ollama.unscript()
})

test('a model stays in memory while in use and can be unloaded', async () => {
  await openai().embeddings.create({ model: 'local/nomic-embed-text:latest', input: 'x' })
  await openai().chat.completions.create(ask())
  const loaded = async () => (await alice.post(local(), { action: 'status' })).body.data.loaded as string[]
  assert.ok((await loaded()).includes('tiny:latest'))
  const one = await alice.post(local(), { action: 'unload', model: 'nomic-embed-text:latest' })
  assert.equal(one.status, 200, one.text)
  assert.equal(one.body.data.loaded.includes('nomic-embed-text:latest'), false)
  const none = await alice.post(local(), { action: 'unload', engine: 'ollama' })
  assert.deepEqual(none.body.data.loaded, [])
})

test('prompts longer than Ollama’s context are rejected in each API’s format, not silently cut', async () => {
  const long = ask('some words of a long talk '.repeat(300))
  const before = box.ollama.requests.filter(({ seen }) => seen).length
  await assert.rejects(openai().chat.completions.create(long), (error: unknown) => {
    assert.ok(error instanceof OpenAI.BadRequestError, String(error))
    assert.equal(error.code, 'context_length_exceeded')
    assert.match(error.message, /512/)
    return true
  })
  const anthropic = new Anthropic({ apiKey: key.key, baseURL: `${server.origin}/compat-b`, maxRetries: 0 })
  await assert.rejects(anthropic.messages.create({ ...long, max_tokens: 5 }), (error: unknown) => {
    assert.ok(error instanceof Anthropic.BadRequestError, String(error))
    assert.match(error.message, /prompt is too long/)
    return true
  })
  assert.equal(box.ollama.requests.filter(({ seen }) => seen).length, before)
})

test('a mapped model is served by Ollama', async () => {
  const { id } = (await models()).find(({ name }) => name === 'smollm:135m')!
  const mapped = await alice.patch(local(`/models/${id}/mapping`), { model: 'openai/gpt-5-mini' })
  assert.equal(mapped.body.data.mapping, 'openai/gpt-5-mini')
  const { data, response } = await openai()
    .chat.completions.create(ask('hello there', 'openai/gpt-5-mini'))
    .withResponse()
  assert.equal(data.choices[0]!.message.content, 'hello there')
  assert.match(response.headers.get('x-uk-route')!, /provider=local/)
  const mappedTo = box.ollama.requests.findLast(({ path }) => path === '/v1/chat/completions')!
  assert.equal(mappedTo.json()['model'], 'smollm:135m')
  await alice.patch(local(`/models/${id}/mapping`), { model: null })
  await assert.rejects(openai().chat.completions.create(ask('x', 'openai/gpt-5-mini')), { status: 404 })
})

test('removing a model removes it from Ollama, and removals in Ollama show up', async () => {
  const row = (await models()).find(({ name }) => name === 'smollm:135m')!
  const removed = await alice.delete(local(`/models/${row['id']}`))
  assert.deepEqual([removed.status, removed.body], [200, { deleted: true, id: row['id'] }], removed.text)
  assert.equal((await names()).includes('smollm:135m'), false)
  assert.equal(box.ollama.requests.findLast(({ method }) => method === 'DELETE')!.json()['model'], 'smollm:135m')
  await assert.rejects(openai().chat.completions.create(ask('x', 'local/smollm:135m')), { status: 404 })
  await fetch(`${box.ollama.origin}/api/delete`, {
    method: 'DELETE',
    body: JSON.stringify({ model: 'nomic-embed-text' }),
  })
  assert.equal((await names()).includes('nomic-embed-text:latest'), false)
})

test('models and mappings survive an Ollama that is temporarily unavailable', async () => {
  const { id } = (await models()).find(({ name }) => name === 'tiny:latest')!
  await alice.patch(local(`/models/${id}/mapping`), { model: 'openai/gpt-5-mini' })
  await box.ollama[Symbol.asyncDispose]()
  const row = (await models()).find(({ name }) => name === 'tiny:latest')
  assert.equal(row?.['mapping'], 'openai/gpt-5-mini')
  await assert.rejects(openai().chat.completions.create(ask()), (error: unknown) => {
    assert.ok(error instanceof OpenAI.APIError, String(error))
    assert.equal(error.status, 503)
    assert.match(error.message, /Ollama doesn’t respond/)
    return true
  })
  // Without Ollama there is nothing to confirm the removal, so deleting succeeds.
  assert.equal((await alice.delete(local(`/models/${id}`))).status, 200)
  assert.equal((await names()).includes('tiny:latest'), false)
})
