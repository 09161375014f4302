// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type World, gatewayWorld, pricedModel } from '../../journeys/gateway/world.ts'
import { startAnthropic } from '../../vendors/anthropic/anthropic.ts'
import { startOllama } from '../../vendors/ollama/ollama.ts'
import { startOpenAI } from '../../vendors/openai/openai.ts'
import { startOpenRouter } from '../../vendors/openrouter/openrouter.ts'
import { type Provider, modelCases, surfaceCases } from '../../wire/gateway-cases.ts'
import { byNode, byUs, walks } from '../../wire/walks.ts'

let world: World
let key: Record<string, string>
let providers: Provider[]
const stack = new AsyncDisposableStack()
let nodes = 0

before(async () => {
  world = stack.use(await gatewayWorld({ UK_LIMIT_READS: '0', UK_LIMIT_INFERENCE: '0' }))
  world.server.app.door.server.on('request', () => nodes++)
  key = world.key.headers
  const [openai, anthropic, router, ollama] = await Promise.all([
    startOpenAI(),
    startAnthropic(),
    startOpenRouter(),
    startOllama(),
  ])
  for (const vendor of [openai, anthropic, router, ollama]) stack.use(vendor)
  await world.bring(openai, 'oa', { models: [pricedModel('gpt-4o')] })
  await world.bring(openai, 'rs', { shape: 'openai-responses', models: [pricedModel('gpt-4o')] })
  const claude = [pricedModel('claude-sonnet-5-5')]
  await world.bring(anthropic, 'an', { shape: 'anthropic-messages', base_url: anthropic.origin, models: claude })
  const routedModels = [pricedModel('openai/gpt-4o-mini')]
  await world.bring(router, 'or', { preset: 'openrouter', base_url: `${router.origin}/api/v1`, models: routedModels })
  await world.bring(ollama, 'll', { shape: 'ollama', base_url: ollama.origin, models: [pricedModel('llama3.2')] })
  providers = [
    { model: 'oa/gpt-4o', vendor: openai },
    { model: 'rs/gpt-4o', vendor: openai },
    { model: 'an/claude-sonnet-5-5', vendor: anthropic },
    { model: 'or/openai/gpt-4o-mini', vendor: router },
    { model: 'll/llama3.2', vendor: ollama },
  ]
})
after(() => stack.disposeAsync())

test('model calls on every surface, passed through, translated and simulated, whole, streamed and broken, read by Node', async (t) => {
  await walks(t, world.server.origin, modelCases(key, providers), byNode)
})

test('the same calls on the fast path', async (t) => {
  const before = nodes
  const cases = modelCases(key, providers).filter(({ body }) => body!.length < 200_000)
  await walks(
    t,
    world.server.origin,
    [...cases, ...surfaceCases(key).filter(({ method, body }) => method === 'POST' && body)],
    byUs,
  )
  assert.equal(nodes, before, 'Node read some of them')
})

test('the same calls with the fast path disabled', async (t) => {
  await using twin = await world.server.twin({ UK_FAST_HTTP: 'off' })
  let readCount = 0
  twin.app.door.server.on('request', () => readCount++)
  const transcripts = await walks(
    t,
    twin.origin,
    modelCases(key, providers).filter(({ body }) => body!.length < 2_000),
    byUs,
  )
  assert.equal(
    readCount,
    transcripts.reduce((sum, { answers }) => sum + answers, 0),
    'Node read them all',
  )
})
