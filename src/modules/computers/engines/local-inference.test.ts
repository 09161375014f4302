// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { type DaemonProcess, bringEngine, daemonProcess } from '#test/local-inference/daemon.ts'
import { type Shelf, shelf } from '#test/local-inference/shelf.ts'
import { teamOf } from '#test/makers.ts'
import type { Caller, Person } from '#test/server.ts'
import { tinyGguf } from '#test/local-inference/tiny-gguf.ts'
import { twoServers } from '#test/two-servers.ts'
import { until } from '#test/until.ts'

const { server, twin, alice } = await twoServers()
const model = tinyGguf()
const other = tinyGguf(2)
const stack = new AsyncDisposableStack()
let files: Shelf
let slow: Shelf
let box: DaemonProcess
let bob: Person
let carol: Person
let team: string
let key: Caller & { key: string }
let tinyId: string

before(async () => {
  await bringEngine()
  files = stack.use(await shelf({ '/models/tiny.gguf': model.bytes, '/models/text': Buffer.from('no model') }))
  slow = stack.use(await shelf({ '/slow.gguf': model.bytes }, { bytesPerSecond: 100_000 }))
  box = stack.use(
    await daemonProcess(server.origin, alice, { words: ['--engine-fetch-allow', `${files.host},${slow.host}`] }),
  )
  bob = await server.person('Bob')
  carol = await server.person('Carol')
  team = await teamOf(alice, [[bob, 'member']])
  key = await alice.key()
})

after(() => stack.disposeAsync())

const local = (path = '') => `/computers/${box.id}/local-inference${path}`
const waitForEnd = async (operation: { id: string }, person: Caller = alice) =>
  (
    await until(
      () => person.get(`/operations/${operation.id}/await?timeout_seconds=5`),
      ({ body }) => !['queued', 'running'].includes(body.data.status),
    )
  ).body.data

const installed = async (body: object) => {
  const answer = await alice.post(local('/models'), body)
  assert.equal(answer.status, 202, answer.text)
  return answer.body.data
}

const names = async (person: Caller = alice) =>
  (await person.get(local('/models'))).body.data.map(({ name }: { name: string }) => name)

const openai = (key: string, origin = server.origin) =>
  new OpenAI({ apiKey: key, baseURL: `${origin}/compat-a/v1`, maxRetries: 0 })

const hello = [{ role: 'user' as const, content: 'hello' }]

test('an engine’s state is shown on its computer, also after a start', async () => {
  const state = await alice.post(local(), { action: 'status' })
  assert.equal(state.status, 200, state.text)
  assert.equal(state.body.data.id, box.id)
  assert.deepEqual(
    state.body.data.engines.map(({ name, status }: Record<string, string>) => [name, status]),
    [
      ['llama', 'stopped'],
      ['sherpa', state.body.data.engines[1].status],
      ['ollama', 'absent'],
    ],
  )
  assert.equal((await alice.get(`/computers/${box.id}`)).body.data.engine, 'stopped')
  const startResponse = await alice.post(local(), { action: 'start', engine: 'llama' })
  assert.equal(startResponse.status, 200, startResponse.text)
  assert.ok(startResponse.body.data.memory_bytes > 1e6)
  assert.equal((await alice.get(`/computers/${box.id}`)).body.data.engine, 'ready')
  const missing = await alice.post(local(), { action: 'start', engine: 'ollama' })
  assert.deepEqual([missing.status, missing.body.error.code], [409, 'not_supported'])
})

test('a model is installed from a URL with progress and a checked digest', async () => {
  const operation = await installed({ source: { url: `${files.origin}/models/tiny.gguf`, sha256: model.sha256 } })
  assert.deepEqual(
    [operation.kind, operation.computer_id, operation.bytes_done],
    ['computers.local_inference', box.id, 0],
  )
  const again = await alice.post(local('/models'), { source: { url: `${files.origin}/models/tiny.gguf` } })
  assert.deepEqual([again.status, again.body.error.code], [409, 'already_exists'])
  const result = await waitForEnd(operation)
  assert.equal(result.status, 'succeeded', JSON.stringify(result.error))
  assert.deepEqual([result.result.name, result.result.digest], ['tiny', `sha256:${model.sha256}`])
  const { data } = (await alice.get(local('/models'))).body
  assert.deepEqual(
    data.map((row: Record<string, unknown>) => [
      row.name,
      row.engine,
      row.status,
      row.size_bytes,
      row.quantization,
      row.mapping,
    ]),
    [['tiny', 'llama', 'ready', model.bytes.length, 'F32', null]],
  )
  tinyId = data[0].id
  const operations = (await alice.get(local('/operations?status=succeeded'))).body.data
  assert.deepEqual(
    operations.map(({ id, phase, bytes_done }: Record<string, unknown>) => [id, phase, bytes_done]),
    [[operation.id, 'verifying', model.bytes.length]],
  )
})

test('failed installations leave nothing behind: wrong digest, missing file, blocked address', async () => {
  const ends = async (source: object, name: string) => (await waitForEnd(await installed({ source, name }))).error
  const wrong = await ends({ url: `${files.origin}/models/tiny.gguf`, sha256: '0'.repeat(64) }, 'wrong')
  assert.equal(wrong.code, 'checksum_mismatch')
  assert.deepEqual([wrong.details.found], [model.sha256])
  assert.equal((await ends({ url: `${files.origin}/models/none.gguf` }, 'none')).type, 'upstream_error')
  assert.equal((await ends({ url: `${files.origin}/models/text` }, 'text')).code, 'invalid_parameter')
  assert.equal((await ends({ url: 'http://127.0.0.1:9/x.gguf' }, 'near')).code, 'policy_denied')
  assert.equal((await ends({ url: 'http://169.254.169.254/latest' }, 'meta')).code, 'policy_denied')
  assert.deepEqual(await names(), ['tiny'])
  for (const [body, param] of [
    [{ source: { url: 'ftp://x.example/a.gguf' } }, 'source'],
    [{ source: { url: 'https://x.example/a', file_id: alice.id } }, 'source'],
    [{ source: { url: 'https://x.example/' } }, 'name'],
    [{ source: { ollama: 'x' }, name: 'y' }, 'name'],
    [{ source: { file_id: alice.id } }, 'source.file_id'],
  ] as const) {
    const { status, body: responseBody, text } = await alice.post(local('/models'), body)
    assert.ok(status === 400 || status === 404, text)
    assert.ok(String(responseBody.error.param).startsWith(param), text)
  }
})

test('models can be installed from the drive, and equal bytes count as one model', async () => {
  const form = new FormData()
  form.set('workspace_id', alice.workspaceId)
  form.set('file', new Blob([new Uint8Array(other.bytes)]), 'second.gguf')
  const uploaded = await fetch(`${server.origin}/v1/drive/files`, {
    method: 'POST',
    headers: alice.headers,
    body: form,
  })
  const { id } = ((await uploaded.json()) as any).data
  const result = await waitForEnd(await installed({ source: { file_id: id } }))
  assert.equal(result.status, 'succeeded', JSON.stringify(result.error))
  assert.deepEqual([result.result.name, result.result.digest], ['second', `sha256:${other.sha256}`])
  assert.deepEqual(await names(), ['second', 'tiny'])
  const bobs = await bob.post(local('/models'), { source: { file_id: id } })
  assert.equal(bobs.status, 404)
})

test('local models work through the OpenAI and Anthropic SDKs: complete, streamed and embeddings, at no cost', async () => {
  const client = openai(key.key)
  const modelIds = (await client.models.list()).data.map(({ id }) => id)
  assert.ok(modelIds.includes('local/tiny') && modelIds.includes('local/second'), modelIds.join())
  const ask = { model: 'local/tiny', messages: hello, max_tokens: 12, seed: 7 }
  const whole = await client.chat.completions.create(ask)
  assert.equal(whole.usage!.completion_tokens, 12)
  let streamed = ''
  for await (const chunk of await client.chat.completions.create({ ...ask, stream: true }))
    streamed += chunk.choices[0]?.delta.content ?? ''
  assert.equal(streamed, whole.choices[0]!.message.content)
  const { data } = await client.embeddings.create({ model: 'local/tiny', input: ['the a', 'b'] })
  assert.deepEqual(
    data.map(({ embedding }) => embedding.length),
    [64, 64],
  )
  const responses = await client.responses.create({ model: 'local/tiny', input: 'hello', max_output_tokens: 16 })
  assert.ok(responses.output_text.length > 0)
  const anthropic = new Anthropic({ apiKey: key.key, baseURL: `${server.origin}/compat-b`, maxRetries: 0 })
  const message = await anthropic.messages.create({ model: 'local/tiny', messages: hello, max_tokens: 12 })
  assert.deepEqual([message.usage.output_tokens, message.stop_reason], [12, 'max_tokens'])
  const stream = anthropic.messages.stream({ model: 'local/tiny', messages: hello, max_tokens: 12 })
  assert.equal((await stream.finalMessage()).usage.output_tokens, 12)
  const third = await key.post('/compat-c/v1/chat/completions', { ...ask, provider: { only: ['local'] } })
  assert.equal(third.status, 200, third.text)
  assert.equal(third.body.usage.cost, 0)
  assert.match(third.headers.get('x-uk-route')!, /provider=local/)
  // Calls the process that doesn't hold the link.
  const beyond = await openai(key.key, twin.origin).chat.completions.create(ask)
  assert.equal(beyond.choices[0]!.message.content, whole.choices[0]!.message.content)
})

test('local models work in chats and /inference/text, and appear in the routing preview', async () => {
  const text = await alice.post('/inference/text', { model: 'local/tiny', messages: hello, max_output_tokens: 8 })
  assert.equal(text.status, 200, text.text)
  assert.deepEqual([text.body.data.cost_usd, text.body.data.usage.output_tokens], [0, 8])
  const agent = await alice.post('/agents', {
    name: 'Small',
    model: 'local/tiny',
    workspace_id: alice.workspaceId,
    tools: [],
  })
  const chat = await alice.post('/chats', { title: 'Local', agent_id: agent.body.data.id })
  assert.equal(chat.status, 201, chat.text)
  const message = await alice.post(`/chats/${chat.body.data.id}/messages`, { content: 'hello', model: 'local/tiny' })
  assert.equal(message.status, 200, message.text)
  assert.deepEqual(
    [message.body.data.model, message.body.data.provider, message.body.data.cost_usd],
    ['local/tiny', 'local', 0],
  )
  const preview = await alice.post('/ai-gateway/routing-preview', { model: 'local/tiny' })
  assert.deepEqual(
    preview.body.data.candidates.map(({ provider, billing, max_cost_usd }: Record<string, unknown>) => [
      provider,
      billing,
      max_cost_usd,
    ]),
    [['local', 'free', 0]],
  )
  const { data } = (await alice.get('/models/local%2Ftiny')).body
  assert.deepEqual([data.context_length, data.pricing.input, data.price_source], [4096, 0, 'local'])
})

test('a mapped model is served locally until it is unmapped', async () => {
  const mapped = await alice.patch(local(`/models/${tinyId}/mapping`), { model: 'openai/gpt-5-mini' })
  assert.equal(mapped.body.data.mapping, 'openai/gpt-5-mini')
  const client = openai(key.key)
  const ask = { model: 'openai/gpt-5-mini', messages: hello, max_tokens: 4 }
  const { data, response } = await client.chat.completions.create(ask).withResponse()
  assert.equal(data.usage!.completion_tokens, 4)
  assert.match(response.headers.get('x-uk-route')!, /provider=local/)
  assert.equal((await alice.patch(local(`/models/${tinyId}/mapping`), { model: 'local/x' })).status, 400)
  await alice.patch(local(`/models/${tinyId}/mapping`), { model: null })
  await assert.rejects(client.chat.completions.create(ask), { status: 404 })
})

test('strangers can’t see or call a computer’s models; a grantee can until it is withdrawn', async () => {
  const carols = await carol.key()
  for (const answer of [
    await carol.get(local('/models')),
    await carol.get(local('/operations')),
    await carol.post(local(), { action: 'status' }),
    await carol.post(local('/models'), { source: { url: 'https://x.example/a.gguf' } }),
  ])
    assert.equal(answer.status, 404)
  await assert.rejects(openai(carols.key).chat.completions.create({ model: 'local/tiny', messages: hello }), {
    status: 404,
  })
  const bobs = await bob.key()
  const ask = { model: 'local/tiny', messages: hello, max_tokens: 4 }
  await assert.rejects(openai(bobs.key).chat.completions.create(ask), { status: 404 })
  await alice.post(`/computers/${box.id}/exposures`, { workspace_id: team, capabilities: ['exec'] })
  assert.deepEqual((await bob.post(local(), { action: 'status' })).body.error.code, 'capability_denied')
  await assert.rejects(openai(bobs.key).chat.completions.create(ask), { status: 404 })
  await alice.patch(`/computers/${box.id}/exposures/${team}`, { capabilities: ['inference'] })
  const response = await until(
    () =>
      openai(bobs.key)
        .chat.completions.create(ask)
        .catch(() => null),
    (answer) => answer !== null,
  )
  assert.equal(response!.usage!.completion_tokens, 4)
  assert.equal((await bob.delete(local(`/models/${tinyId}`))).status, 403)
  assert.equal((await bob.patch(local(`/models/${tinyId}/mapping`), { model: 'openai/gpt-5' })).status, 403)
  const stream = () =>
    openai(bobs.key).chat.completions.create({ ...ask, max_tokens: 4_000, temperature: 0, stream: true })
  let chunks = (await stream())[Symbol.asyncIterator]()
  await chunks.next()
  await alice.delete(`/computers/${box.id}/exposures/${team}`)
  await assert.rejects(async () => {
    // A small model may finish early, so requests repeat until access is withdrawn.
    for (;;) if ((await chunks.next()).done) chunks = (await stream())[Symbol.asyncIterator]()
  })
  await until(
    () =>
      openai(bobs.key)
        .chat.completions.create(ask)
        .then(
          () => 200,
          ({ status }: { status: number }) => status,
        ),
    (status) => status === 404,
  )
})

test('a canceled installation stops downloading, and continues later from what it had', async () => {
  const source = { url: `${slow.origin}/slow.gguf`, sha256: model.sha256 }
  const operation = await installed({ source })
  const progress = await until(
    () => alice.get(local('/operations')),
    ({ body }) => body.data[0].bytes_done > 50_000,
  )
  assert.deepEqual(
    [progress.body.data[0].phase, progress.body.data[0].bytes_total],
    ['downloading', model.bytes.length],
  )
  assert.ok((await names()).includes('slow'))
  const cancelled = await alice.post(local(`/operations/${operation.id}/cancel`))
  assert.equal(cancelled.status, 200, cancelled.text)
  assert.equal((await waitForEnd(operation)).status, 'cancelled')
  await until(
    () => Promise.resolve(slow.left),
    (count) => count === 1,
  )
  assert.equal((await names()).includes('slow'), false)
  assert.equal((await alice.post(local(`/operations/${operation.id}/cancel`))).status, 200)
  const result = await waitForEnd(await installed({ source }))
  assert.equal(result.status, 'succeeded', JSON.stringify(result.error))
  assert.match(slow.ranges.at(-1)!, /^bytes=[1-9]\d{4,}-$/)
  const over = await alice.post(local(`/operations/${result.id}/cancel`))
  assert.deepEqual([over.status, over.body.error.code], [409, 'invalid_state'])
  const { data } = (await alice.get(local('/models'))).body
  const { id } = data.find(({ name }: { name: string }) => name === 'slow')
  assert.deepEqual((await alice.delete(local(`/models/${id}`))).body, { deleted: true, id })
  assert.deepEqual(await names(), ['second', 'tiny'])
})

test('an installation survives `kill -9` of the daemon, and offline computers are reported', async () => {
  slow.ranges.length = 0
  const operation = await installed({
    source: { url: `${slow.origin}/slow.gguf`, sha256: model.sha256 },
    name: 'again',
  })
  await until(
    () => alice.get(local('/operations')),
    ({ body }) => body.data[0].bytes_done > 50_000,
  )
  await box.stop('SIGKILL')
  await until(
    () => alice.get(`/computers/${box.id}`),
    ({ body }) => body.data.connection === 'offline',
  )
  const away = await alice.post(local(), { action: 'status' })
  assert.deepEqual([away.status, away.body.error.code], [409, 'computer_offline'])
  assert.deepEqual((await alice.post(local('/models'), { source: { url: 'https://x.example/a.gguf' } })).status, 409)
  assert.ok((await names()).includes('tiny'), 'as it last said')
  const refusal = await openai(key.key)
    .chat.completions.create({ model: 'local/tiny', messages: hello })
    .catch((error: unknown) => error)
  assert.ok(refusal instanceof OpenAI.APIError, String(refusal))
  assert.equal(refusal.status, 503)
  assert.match(refusal.message, /isn’t connected. It was last seen at/)
  await box.start()
  const result = await waitForEnd(operation)
  assert.equal(result.status, 'succeeded', JSON.stringify(result.error))
  assert.equal(slow.ranges.length, 2)
  assert.match(slow.ranges[1]!, /^bytes=[1-9]\d{4,}-$/)
  await openai(key.key).chat.completions.create({ model: 'local/again', messages: hello, max_tokens: 2 })
})
