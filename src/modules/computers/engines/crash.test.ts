// Thorough: run by the merge check, or by name. Runs a daemon and llama.cpp in separate processes and kills llama.cpp.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { type DaemonProcess, bringEngine, daemonProcess } from '#test/local-inference/daemon.ts'
import { type Shelf, shelf } from '#test/local-inference/shelf.ts'
import { testServer } from '#test/server.ts'
import { tinyGguf } from '#test/local-inference/tiny-gguf.ts'
import { until } from '#test/until.ts'

const stack = new AsyncDisposableStack()
const server = stack.use(await testServer())
const alice = await server.person('Alice')
const { key } = await alice.key()
const model = tinyGguf()
const CONTEXT = 2_048
let files: Shelf
let box: DaemonProcess

before(async () => {
  await bringEngine()
  files = stack.use(await shelf({ '/tiny.gguf': model.bytes }))
  const words = ['--engine-fetch-allow', files.host, '--engine-context', String(CONTEXT)]
  box = stack.use(await daemonProcess(server.origin, alice, { words }))
  const source = { url: `${files.origin}/tiny.gguf` }
  const { body } = await alice.post(`/computers/${box.id}/local-inference/models`, { source })
  await until(
    () => alice.get(`/operations/${body.data.id}/await?timeout_seconds=5`),
    ({ body }) => body.data.status === 'succeeded',
  )
})
after(() => stack.disposeAsync())

const openai = new OpenAI({ apiKey: key, baseURL: `${server.origin}/compat-a/v1`, maxRetries: 0 })
const anthropic = new Anthropic({ apiKey: key, baseURL: `${server.origin}/compat-b`, maxRetries: 0 })
const ask = {
  model: 'local/tiny',
  messages: [{ role: 'user' as const, content: 'hello' }],
  max_tokens: 12,
  seed: 7,
  temperature: 0.5,
}
const status = async () =>
  (await alice.post(`/computers/${box.id}/local-inference`, { action: 'status' })).body.data.engines[0] as {
    status: string
    reason: string | null
  }

test('models list their served context length, and every API rejects longer prompts', async () => {
  const [row] = (await alice.get(`/computers/${box.id}/local-inference/models`)).body.data
  assert.equal(row.context_length, CONTEXT)
  assert.equal((await alice.get('/models/local%2Ftiny')).body.data.context_length, CONTEXT)
  const fits = await openai.chat.completions.create({ ...ask, messages: [{ role: 'user', content: 'a '.repeat(300) }] })
  assert.ok(fits.usage!.prompt_tokens < CONTEXT)
  const messages = [{ role: 'user' as const, content: 'word '.repeat(1_500) }]
  await assert.rejects(openai.chat.completions.create({ ...ask, messages }), (error: unknown) => {
    assert.ok(error instanceof OpenAI.BadRequestError, String(error))
    assert.equal(error.code, 'context_length_exceeded')
    assert.match(error.message, new RegExp(`${CONTEXT}`))
    return true
  })
  await assert.rejects(anthropic.messages.create({ model: ask.model, max_tokens: 12, messages }), (error: unknown) => {
    assert.ok(error instanceof Anthropic.BadRequestError, String(error))
    assert.match(error.message, /prompt is too long/)
    return true
  })
  const third = await alice.post(
    '/compat-c/v1/chat/completions',
    { ...ask, messages },
    { authorization: `Bearer ${key}` },
  )
  assert.equal(third.status, 400, third.text)
  await assert.rejects(
    openai.embeddings.create({ model: ask.model, input: 'word '.repeat(1_500) }),
    (error: unknown) => {
      assert.ok(error instanceof OpenAI.BadRequestError, String(error))
      assert.equal(error.code, 'context_length_exceeded')
      return true
    },
  )
})

test('when an engine is killed under load, running responses fail and queued calls run once after its restart', async () => {
  const expected = (await openai.chat.completions.create(ask)).choices[0]!.message.content
  const engine = await box.engine()
  const long = { ...ask, max_tokens: CONTEXT - 100, temperature: 0 }
  // A model runs two conversations at once, so these queue behind two long ones.
  const activeStreams = await Promise.all(
    [1, 2].map(async () => {
      const chunks = (await openai.chat.completions.create({ ...long, stream: true }))[Symbol.asyncIterator]()
      await chunks.next()
      return chunks
    }),
  )
  const queuedCalls = Array.from({ length: 4 }, () => openai.chat.completions.create(ask))
  const streams = Array.from({ length: 2 }, async () => {
    const states: string[] = []
    const finishes: string[] = []
    for await (const { choices } of await openai.chat.completions.create({ ...ask, stream: true })) {
      states.push(choices[0]?.delta.content ?? '')
      if (choices[0]?.finish_reason) finishes.push(choices[0].finish_reason)
    }
    return [states.join(''), finishes] as const
  })
  for (const one of [...queuedCalls, ...streams]) one.catch(() => {})
  process.kill(engine, 'SIGKILL')
  for (const chunks of activeStreams)
    await assert.rejects(async () => {
      while (!(await chunks.next()).done);
    }, /engine exited in the middle/)
  for (const answer of await Promise.all(queuedCalls)) assert.equal(answer.choices[0]!.message.content, expected)
  for (const answer of await Promise.all(streams)) assert.deepEqual(answer, [expected, ['length']])
  assert.notEqual(await box.engine(), engine)
  assert.deepEqual(await status(), { name: 'llama', status: 'running', version: '3.21.1', reason: null })
})

test('an engine killed while idle reports why, and the next call restarts it', async () => {
  process.kill(await box.engine(), 'SIGKILL')
  const state = await until(status, (row) => row.status !== 'running')
  assert.equal(state.status, 'failed')
  assert.match(state.reason!, /SIGKILL/)
  const answer = await openai.chat.completions.create(ask)
  assert.equal(answer.usage!.completion_tokens, 12)
  assert.equal((await status()).reason, null)
})
