// Thorough: run by the merge check, or by name; it installs the engine once.
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import OpenAI from 'openai'
import { Refusal } from '#core/errors.ts'
import { tinyGguf } from '#test/local-inference/tiny-gguf.ts'
import { ownProgram } from '../process.ts'
import { ModelStore } from '../store.ts'
import { LlamaEngine } from './llama.ts'

/** Kept from run to run, since it is downloaded. */
const folder = fileURLToPath(new URL('../../../../node_modules/.cache/engines', import.meta.url))
let room: string
let engine: LlamaEngine

before(async () => {
  room = await mkdtemp(join(tmpdir(), 'uk-engine-'))
  const store = new ModelStore(join(room, 'models'))
  const { bytes, sha256 } = tinyGguf()
  const part = await store.partFor('tiny', sha256)
  await writeFile(part, bytes)
  await store.add('tiny', part, sha256, 'test', new AbortController().signal)
  await mkdir(folder, { recursive: true })
  engine = new LlamaEngine({ folder, store, program: ownProgram(), gpu: 'off' })
})
after(async () => {
  await engine[Symbol.asyncDispose]()
  await rm(room, { recursive: true, force: true })
})

/** OpenAI's own SDK, with the engine in the place of the network. */
const openai = new OpenAI({
  apiKey: 'none',
  maxRetries: 0,
  fetch: async (url, init) => {
    const path = new URL(String(url)).pathname.replace('/v1/', '') as 'chat/completions'
    const body = Buffer.from(String(init?.body))
    const signal = init?.signal ?? new AbortController().signal
    const { model } = JSON.parse(body.toString()) as { model: string }
    const answer = await engine.call({ model, path, body, signal })
    return new Response(ReadableStream.from(answer.body), {
      status: answer.status,
      headers: { 'content-type': body.includes('"stream":true') ? 'text/event-stream' : 'application/json' },
    })
  },
})
const ask = {
  model: 'tiny',
  messages: [{ role: 'user' as const, content: 'hello' }],
  max_tokens: 12,
  seed: 7,
  temperature: 0.5,
}

test('llama.cpp is installed, loads a model, and answers whole or streamed, the same for the same seed', async () => {
  const phases: string[] = []
  await engine.start((phase) => void phases.push(phase), new AbortController().signal)
  assert.deepEqual(phases, ['downloading', 'loading'])
  assert.equal((await engine.row()).status, 'running')
  const whole = await openai.chat.completions.create(ask)
  assert.equal(whole.model, 'tiny')
  assert.equal(whole.choices[0]!.finish_reason, 'length')
  assert.ok(whole.usage!.prompt_tokens > 5 && whole.usage!.completion_tokens === 12, JSON.stringify(whole.usage))
  let streamed = ''
  let usage: unknown
  let finish: string | null = null
  for await (const chunk of await openai.chat.completions.create({
    ...ask,
    stream: true,
    stream_options: { include_usage: true },
  })) {
    streamed += chunk.choices[0]?.delta.content ?? ''
    finish = chunk.choices[0]?.finish_reason ?? finish
    usage = chunk.usage ?? usage
  }
  assert.equal(streamed, whole.choices[0]!.message.content)
  assert.deepEqual([usage, finish], [whole.usage, 'length'])
  assert.deepEqual(
    (await engine.models()).map(({ name, loaded, context_length, quantization, status }) => [
      name,
      loaded,
      context_length,
      quantization,
      status,
    ]),
    [['tiny', true, 4096, 'F32', 'ready']],
  )
})

test('embeddings as numbers and as the SDK’s default base64 are equal', async () => {
  const plain = await openai.embeddings.create({ model: 'tiny', input: ['the a', 'b'], encoding_format: 'float' })
  const coded = await openai.embeddings.create({ model: 'tiny', input: ['the a', 'b'] })
  assert.deepEqual(
    plain.data.map(({ embedding }) => embedding.length),
    [64, 64],
  )
  for (const [n, { embedding }] of plain.data.entries())
    for (const [at, value] of embedding.entries()) assert.ok(Math.abs(value - coded.data[n]!.embedding[at]!) < 1e-6)
  assert.notDeepEqual(plain.data[0]!.embedding, plain.data[1]!.embedding)
})

test('a response follows its required schema', async () => {
  const schema = {
    type: 'object',
    properties: { ok: { type: 'boolean' } },
    required: ['ok'],
    additionalProperties: false,
  }
  const { choices } = await openai.chat.completions.create({
    ...ask,
    max_tokens: 60,
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } },
  })
  assert.equal(typeof (JSON.parse(choices[0]!.message.content!) as { ok: unknown }).ok, 'boolean')
})

test('an unsupported request is rejected with its field, and a conversation that is too long isn’t truncated', async () => {
  const bad = async (more: object, param: string, code?: string): Promise<void> => {
    // Tests values that the SDK's types forbid.
    await assert.rejects(openai.chat.completions.create({ ...ask, ...more } as never), (error: unknown) => {
      assert.ok(error instanceof OpenAI.BadRequestError, String(error))
      assert.equal(error.param, param)
      if (code) assert.equal(error.code, code)
      return true
    })
  }
  await bad({ n: 3 }, 'n')
  await bad({ tool_choice: 'required' }, 'tool_choice')
  await bad(
    { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:' } }] }] },
    'messages.0.content',
  )
  await bad({ messages: [{ role: 'user', content: 'word '.repeat(4_000) }] }, 'messages', 'context_length_exceeded')
  await assert.rejects(openai.chat.completions.create({ ...ask, model: 'other' }), (error: unknown) => {
    assert.ok(error instanceof OpenAI.APIConnectionError)
    assert.equal((error.cause as Refusal).code, 'not_found')
    return true
  })
})

test('a disconnected caller stops the model, excess callers wait, and a crash fails only its own calls', async () => {
  const leaving = new AbortController()
  const stream = await openai.chat.completions.create(
    { ...ask, max_tokens: 400, stream: true },
    { signal: leaving.signal },
  )
  await stream[Symbol.asyncIterator]().next()
  leaving.abort()
  const all = await Promise.all(Array.from({ length: 6 }, () => openai.chat.completions.create(ask)))
  assert.equal(new Set(all.map(({ choices }) => choices[0]!.message.content)).size, 1)
  const longStream = await openai.chat.completions.create({ ...ask, max_tokens: 450, temperature: 2, stream: true })
  const chunks = longStream[Symbol.asyncIterator]()
  await chunks.next()
  await engine.stop()
  await assert.rejects(async () => {
    while (!(await chunks.next()).done);
  })
  assert.equal(
    (await openai.chat.completions.create(ask)).choices[0]!.message.content,
    all[0]!.choices[0]!.message.content,
  )
  await engine.unload(null)
  assert.deepEqual(
    (await engine.models()).map(({ loaded }) => loaded),
    [false],
  )
})
