// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { presets } from '#modules/ai-gateway/endpoints/presets.ts'
import type { Shape } from '#gateway/model/offer.ts'
import { mediaProviders } from '#gateway/providers/every-provider.ts'
import type { Caller } from '../../../server.ts'
import { startBedrock } from '../../../vendors/bedrock/bedrock.ts'
import { startOllama } from '../../../vendors/ollama/ollama.ts'
import { serve } from '../../../vendors/server.ts'
import type { Json, Vendor } from '../../../vendors/vendor.ts'
import { startVertex } from '../../../vendors/gemini/vertex.ts'
import { type World, gatewayWorld, pricedModel, userMessages } from '../world.ts'

/** Accepts any request, records it for this test, and answers none. */
const listener = (): Promise<Vendor> =>
  serve({
    key: 'sk-listener',
    answer: () => ({ status: 400, body: { error: { type: 'invalid_request_error', message: 'not today' } } }),
    failure: () => ({ status: 400, body: {} }),
    headers: () => ({}),
  })

const shapes: readonly Shape[] = ['openai-chat', 'openai-responses', 'anthropic-messages', 'gemini', 'ollama']
/** Media vendors and servers, which write no text or have no quirks in it. */
const silent = new Set([
  ...mediaProviders.map(({ id }) => id),
  'local-ai',
  'speaches',
  'kokoro-fastapi',
  'stable-diffusion-cpp',
  'whisper-cpp',
])
const textPresets = presets.map(({ id }) => id).filter((id) => !silent.has(id))
/** Every shape as every known text vendor might speak it, and as an unknown server does. */
const places = shapes.flatMap((shape) =>
  [null, ...textPresets].map((preset) => ({ shape, preset, slug: `${shape}-${preset ?? 'unnamed'}` })),
)
/** Their requests are signed, so their own fakes are used. */
const signedPresets = new Set(['bedrock', 'vertex'])

let world: World
let vendor: Vendor
let bedrock: Awaited<ReturnType<typeof startBedrock>>
let vertex: Awaited<ReturnType<typeof startVertex>>
/** Its remaining cap is less than any model writes. */
let cappedKey: Caller

before(async () => {
  world = await gatewayWorld()
  vendor = await listener()
  bedrock = await startBedrock()
  vertex = await startVertex()
  cappedKey = await world.person.key({ spend_cap_usd: 0.01, spend_cap_period: 'day' })
  const { accessKeyId, secretAccessKey } = bedrock.account
  for (const { shape, preset, slug } of places) {
    if (preset !== null && signedPresets.has(preset)) continue
    const bare = shape === 'anthropic-messages' || shape === 'ollama'
    await world.bring(vendor, slug, {
      shape,
      preset,
      base_url: bare ? vendor.origin : `${vendor.origin}/v1`,
      ...(preset === 'azure' && { headers: { 'x-uk-api-version': '2026-10-21' } }),
      models: [pricedModel('a-model'), pricedModel('gpt-5.5', { capabilities: ['reasoning', 'tools'] })],
    })
  }
  await world.bring(bedrock, 'anthropic-messages-bedrock', {
    shape: 'anthropic-messages',
    preset: 'bedrock',
    base_url: bedrock.origin,
    api_key: `${accessKeyId}:${secretAccessKey}`,
    headers: { 'x-uk-region': 'us-east-1' },
    models: [pricedModel('us.anthropic.claude-sonnet-4-5-20250929-v1:0'), pricedModel('amazon.nova-pro-v1:0')],
  })
  for (const [shape, id] of [
    ['gemini', 'gemini-3.8-flash'],
    ['anthropic-messages', 'claude-sonnet-5-5'],
  ] as const)
    await world.bring(vertex, `${shape}-vertex`, {
      shape,
      preset: 'vertex',
      base_url: `${vertex.origin}/v1/projects/${vertex.project}/locations/${vertex.location}`,
      api_key: Buffer.from(JSON.stringify(vertex.account)).toString('base64'),
      models: [pricedModel(id)],
    })
})
after(async () => {
  await world[Symbol.asyncDispose]()
  for (const one of [vendor, bedrock, vertex]) await one[Symbol.asyncDispose]()
})

const LIMITS = /^(?:max_tokens|max_completion_tokens|max_output_tokens|maxOutputTokens|maxTokens|num_predict)$/

/** Finds every limit in a request, at any depth. */
function limitsIn(value: unknown): [string, unknown][] {
  if (value === null || typeof value !== 'object') return []
  return Object.entries(value).flatMap(([name, inner]) =>
    LIMITS.test(name) ? [[name, inner] as [string, unknown]] : limitsIn(inner),
  )
}

/** The names that the vendors document. A limit may be sent under one of them. */
function namesAt(path: string, shape: Shape, preset: string | null, model: string): readonly string[] {
  // OpenAI and xAI are called in either of OpenAI's shapes.
  if (path.endsWith('/responses')) return ['max_output_tokens']
  if (shape === 'gemini') return ['maxOutputTokens']
  if (shape === 'anthropic-messages') return model.includes('nova') ? ['maxTokens'] : ['max_tokens']
  if (shape === 'ollama') return ['max_tokens']
  const reasons = model.startsWith('gpt-5')
  if (preset === 'openai' || preset === 'azure')
    return reasons ? ['max_completion_tokens'] : ['max_completion_tokens', 'max_tokens']
  if (preset === null) return reasons ? ['max_completion_tokens', 'max_tokens'] : ['max_tokens']
  const both = ['openrouter', 'groq', 'cerebras', 'xai'].includes(preset)
  return both ? ['max_tokens', 'max_completion_tokens'] : ['max_tokens']
}

interface Way {
  name: string
  path: string
  body(model: string): object
  limits: object[]
}

const messages = userMessages('Go on.')
const chatLimits = [
  { max_tokens: 77 },
  { max_completion_tokens: 77 },
  { max_tokens: 99, max_completion_tokens: 77 },
  { max_completion_tokens: 77, max_tokens: null },
]
const chat = (model: string) => ({ model, messages })
const responses = (model: string) => ({ model, input: 'Go on.' })
const gateway = (path: string, body: Way['body'], limits: object[]): Way => ({ name: path, path, body, limits })
const ways: Way[] = [
  ...['/compat-a/v1/chat/completions', '/compat-c/v1/chat/completions'].map((path) => gateway(path, chat, chatLimits)),
  ...['/compat-a/v1/responses', '/compat-c/v1/responses'].map((path) =>
    gateway(path, responses, [{ max_output_tokens: 77 }]),
  ),
  ...['/compat-b/v1/messages', '/compat-c/v1/messages'].map((path) => gateway(path, chat, [{ max_tokens: 77 }])),
  gateway('/v1/inference/text', chat, [{ max_output_tokens: 77 }]),
]

/** Returns the request that the vendor received. */
async function receivedFor(of: Vendor, ask: () => Promise<{ text: string }>): Promise<{ path: string; json: Json }> {
  const before = of.requests.length
  const { text } = await ask()
  const requests = of.requests.slice(before).filter(({ method, path }) => method === 'POST' && path !== '/token')
  assert.equal(requests.length, 1, text)
  return { path: requests[0]!.path, json: requests[0]!.json() }
}

const doubleOf = (preset: string | null): Vendor =>
  preset === 'bedrock' ? bedrock : preset === 'vertex' ? vertex : vendor

const modelsOf = (preset: string | null, shape: Shape): string[] => {
  if (preset === 'bedrock') return ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 'amazon.nova-pro-v1:0']
  if (preset === 'vertex') return [shape === 'gemini' ? 'gemini-3.8-flash' : 'claude-sonnet-5-5']
  return shape === 'openai-chat' ? ['a-model', 'gpt-5.5'] : ['a-model']
}

const servedPlaces = places.filter(
  ({ preset, shape }) =>
    preset === null ||
    !signedPresets.has(preset) ||
    shape === 'anthropic-messages' ||
    (shape === 'gemini' && preset === 'vertex'),
)

test('a limit arrives under exactly the one name that its vendor reads, on every surface and in every shape', async () => {
  let count = 0
  for (const { shape, preset, slug } of servedPlaces)
    for (const model of modelsOf(preset, shape)) {
      for (const { path, body, limits } of ways)
        for (const limit of limits)
          for (const stream of path.endsWith('completions') ? [false, true] : [false]) {
            const ask = { ...body(`${slug}/${model}`), ...limit, ...(stream && { stream }) }
            const received = await receivedFor(doubleOf(preset), () => world.key.post(path, ask))
            const names = namesAt(received.path, shape, preset, model)
            const limits = limitsIn(received.json).filter(([, value]) => value !== null)
            const context = `${slug}/${model} asked by ${path} with ${JSON.stringify(limit)}: ${JSON.stringify(limits)}`
            assert.deepEqual(
              [limits.length, limits[0]?.[1], names.includes(limits[0]?.[0] ?? '')],
              [1, 77, true],
              context,
            )
            count++
          }
    }
  assert.ok(count > 2_000, `${count} asked`)
})

test('a limit added by a cap has the name that its vendor reads, on every surface and in chats', async () => {
  const chatOf = async (model: string) => (await cappedKey.post('/chats', { model })).body.data.id as string
  const usual = servedPlaces.filter(
    ({ shape, preset }) => preset === null || presets.some((one) => one.id === preset && one.shape === shape),
  )
  for (const { shape, preset, slug } of usual)
    for (const model of modelsOf(preset, shape)) {
      const at = `${slug}/${model}`
      const id = await chatOf(at)
      const asks = [
        ...ways.filter(({ path }) => !path.includes('messages')).map(({ path, body }) => ({ path, body: body(at) })),
        { path: `/chats/${id}/messages`, body: { content: 'Go on.' } },
      ]
      for (const { path, body } of asks) {
        const received = await receivedFor(doubleOf(preset), () => cappedKey.post(path, body))
        const limits = limitsIn(received.json)
        const names = namesAt(received.path, shape, preset, model)
        const context = `${at} asked by ${path}: ${JSON.stringify(limits)}`
        assert.deepEqual([limits.length, names.includes(limits[0]?.[0] ?? '')], [1, true], context)
        assert.ok(Number(limits[0]![1]) > 1_024 && Number(limits[0]![1]) < 5_000, context)
      }
    }
})

test('`developer` becomes `system` for all vendors not known to support it', async () => {
  const withDeveloper = [{ role: 'developer', content: 'Be brief.' }, ...messages]
  const reads = (preset: string | null) => preset === 'openai' || preset === 'azure'
  for (const { shape, preset, slug } of servedPlaces.filter(
    ({ shape }) => shape === 'openai-chat' || shape === 'ollama',
  ))
    for (const path of ['/compat-a/v1/chat/completions', '/compat-c/v1/chat/completions']) {
      const ask = { model: `${slug}/a-model`, messages: withDeveloper, n: 1.0 }
      const received = await receivedFor(vendor, () => world.key.post(path, ask))
      const [first] = received.json['messages'] as Json[]
      const role = shape === 'openai-chat' && reads(preset) ? 'developer' : 'system'
      assert.deepEqual(first, { role, content: 'Be brief.' }, `${slug} asked by ${path}`)
    }
})

test('Ollama respects its limit and instruction, and accepts any effort and call in the history', async () => {
  await using ollama = await startOllama({ otherwise: { talks: 3_000 } })
  await world.bring(ollama, 'shop', { shape: 'ollama', base_url: ollama.origin, models: [pricedModel('qwen3:4b')] })
  await world.bring(ollama, 'shop-v1', { preset: 'ollama', shape: 'openai-chat', models: [pricedModel('qwen3:4b')] })
  const call = { id: 'c1', type: 'function', function: { name: 'now', arguments: '' } }
  const history = [
    { role: 'developer', content: 'Be brief.' },
    ...messages,
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'c1', content: 'noon' },
  ]
  for (const model of ['shop/qwen3:4b', 'shop-v1/qwen3:4b'])
    for (const path of ['/compat-a/v1/chat/completions', '/compat-c/v1/chat/completions'])
      for (const effort of ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra'])
        for (const reasoningField of [{ reasoning_effort: effort }, { reasoning: { effort } }]) {
          const ask = { model, messages: history, max_completion_tokens: 50, ...reasoningField }
          const answer = await world.key.post(path, ask)
          const context = `${model} ${path} ${JSON.stringify(reasoningField)}: ${answer.text}`
          assert.equal(answer.status, 200, context)
          assert.deepEqual(
            [answer.body.usage.completion_tokens, answer.body.choices[0].finish_reason],
            [50, 'length'],
            context,
          )
          assert.deepEqual(ollama.requests.at(-1)!.seen!.messages[0], { role: 'system', content: 'Be brief.' })
        }
})
