import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import OpenAI from 'openai'
import { type OllamaBox, ollamaBox } from '#test/local-inference/ollama-box.ts'
import type { Caller } from '#test/server.ts'
import { twoServers } from '#test/two-servers.ts'
import { until } from '#test/until.ts'
import { startOpenAI } from '#test/vendors/openai/openai.ts'
import type { Vendor } from '#test/vendors/vendor.ts'

const { server, twin, alice } = await twoServers({ environment: { UK_UPSTREAM_ALLOW: '127.0.0.0/8' } })
const stack = new AsyncDisposableStack()
const models = [
  { name: 'tiny:latest', capabilities: ['completion'] },
  { name: 'other:latest', capabilities: ['completion'] },
]
let den: OllamaBox
let loft: OllamaBox
let cloud: Vendor
let key: Caller & { key: string }

before(async () => {
  den = stack.use(await ollamaBox(server.origin, alice, 'Den', { models }))
  const otherwise = [models[0]!, { ...models[1]!, digest: 'f'.repeat(64) }]
  loft = stack.use(await ollamaBox(server.origin, alice, 'Loft', { models: otherwise }))
  cloud = stack.use(await startOpenAI())
  key = await alice.key()
})
after(() => stack.disposeAsync())

const openai = (origin = server.origin) =>
  new OpenAI({ apiKey: key.key, baseURL: `${origin}/compat-a/v1`, maxRetries: 0 })
const ask = (model: string, content = 'hello there') => ({ model, messages: [{ role: 'user' as const, content }] })
const answersOf = ({ ollama }: OllamaBox) =>
  ollama.requests.filter(({ path }) => path === '/v1/chat/completions').length
interface Candidate {
  computer_id: string | null
  provider: string
  reason: string
}
const preview = async (model: string, seed: number | null = null, of: Caller = alice) =>
  (await of.post('/ai-gateway/routing-preview', { model, seed })).body.data as { seed: number; candidates: Candidate[] }
const order = async (model: string, seed?: number) =>
  (await preview(model, seed)).candidates.map(({ computer_id }) => computer_id)
/** Finds a seed with which this machine is tried first. */
async function drawnFirst(box: OllamaBox, model = 'local/tiny:latest'): Promise<string> {
  const { seed } = await until(
    () => preview(model),
    ({ candidates }) => candidates[0]!.computer_id === box.id,
  )
  return String(seed)
}

test('the same model on two machines is one model, also callable per machine', async () => {
  const { candidates } = await preview('local/tiny:latest')
  assert.deepEqual(candidates.map(({ computer_id }) => computer_id).toSorted(), [den.id, loft.id].toSorted())
  for (const [box, word] of [
    [den, 'den'],
    [loft, 'loft'],
    [loft, loft.id],
  ] as const) {
    const before = [answersOf(den), answersOf(loft)]
    const answer = await openai().chat.completions.create(ask(`local/${word}/tiny:latest`))
    assert.equal(answer.choices[0]!.message.content, 'hello there')
    assert.deepEqual(
      [answersOf(den), answersOf(loft)],
      box === den ? [before[0]! + 1, before[1]] : [before[0], before[1]! + 1],
    )
  }
  // Calls and previews choose alike.
  for (const box of [den, loft]) {
    const before = answersOf(box)
    const seed = await drawnFirst(box)
    await openai().chat.completions.create(ask('local/tiny:latest'), { headers: { 'x-uk-seed': seed } })
    assert.equal(answersOf(box), before + 1)
  }
  const modelIds = (await openai().models.list()).data.map(({ id }) => id)
  assert.deepEqual(modelIds.filter((id) => id.startsWith('local/')).toSorted(), [
    'local/den/other:latest',
    'local/loft/other:latest',
    'local/tiny:latest',
  ])
})

test('different models with the same name are ambiguous, and the caller must choose', async () => {
  await assert.rejects(openai().chat.completions.create(ask('local/other:latest')), (error: unknown) => {
    assert.ok(error instanceof OpenAI.NotFoundError, String(error))
    assert.match(error.message, /`local\/den\/other:latest`, `local\/loft\/other:latest`/)
    return true
  })
  const answer = await openai().chat.completions.create(ask('local/loft/other:latest'))
  assert.equal(answer.choices[0]!.message.content, 'hello there')
})

test('if a machine disconnects before its first token, the other one responds once', async () => {
  den.ollama.script({ hang: true, on: 'POST /v1/chat/completions' })
  const seed = await drawnFirst(den)
  const [atDen, atLoft] = [answersOf(den), answersOf(loft)]
  const requestCount = den.ollama.requests.length
  const answer = openai().chat.completions.create(ask('local/tiny:latest'), { headers: { 'x-uk-seed': seed } })
  await until(
    () => Promise.resolve(den.ollama.requests.slice(requestCount)),
    (requests) => requests.some(({ path }) => path === '/v1/chat/completions'),
  )
  await den.leave()
  assert.equal((await answer).choices[0]!.message.content, 'hello there')
  assert.deepEqual([answersOf(den), answersOf(loft)], [atDen + 1, atLoft + 1])
})

test('offline machines are tried last in every process, and the preview says why', async () => {
  for (let seed = 0; seed < 8; seed++) {
    const { candidates } = await until(
      () => preview('local/tiny:latest', seed),
      (routing) => routing.candidates[1]?.reason.includes('isn’t connected') === true,
    )
    assert.deepEqual(
      candidates.map(({ computer_id }) => computer_id),
      [loft.id, den.id],
    )
  }
  const before = answersOf(loft)
  for (const origin of [server.origin, twin.origin, server.origin, twin.origin])
    await openai(origin).chat.completions.create(ask('local/tiny:latest'))
  assert.equal(answersOf(loft), before + 4)
  await den.comeBack()
  await until(
    async () =>
      new Set(
        await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(async (seed) => (await order('local/tiny:latest', seed))[0])),
      ),
    (first) => first.size === 2,
  )
})

test('a mapped model falls back to the provider when its machine disconnects', async () => {
  const providerResponse = await alice.post('/ai-gateway/provider-endpoints', {
    name: 'Cloud',
    slug: 'openai',
    shape: 'openai-chat',
    base_url: `${cloud.origin}/v1`,
    api_key: cloud.key,
    models: [{ id: 'gpt-4o-mini', pricing: { input: 1, output: 2 } }],
    test: false,
  })
  assert.equal(providerResponse.status, 201, providerResponse.text)
  const at = `/computers/${den.id}/local-inference/models`
  const tiny = (await alice.get(at)).body.data.find(({ name }: { name: string }) => name === 'tiny:latest')
  const mapped = await alice.patch(`${at}/${tiny.id}/mapping`, { model: 'openai/gpt-4o-mini' })
  assert.equal(mapped.status, 200, mapped.text)
  const { candidates } = await preview('openai/gpt-4o-mini')
  assert.deepEqual(
    candidates.map(({ provider, computer_id }) => [provider, computer_id]),
    [
      ['local', den.id],
      ['openai', null],
    ],
  )
  den.ollama.script({ hang: true, on: 'POST /v1/chat/completions' })
  const requestCount = den.ollama.requests.length
  const answer = openai()
    .chat.completions.create({ ...ask('openai/gpt-4o-mini'), stream: true })
    .withResponse()
  await until(
    () => Promise.resolve(den.ollama.requests.slice(requestCount)),
    (requests) => requests.some(({ path }) => path === '/v1/chat/completions'),
  )
  await den.leave()
  const { data, response } = await answer
  assert.match(response.headers.get('x-uk-route')!, /provider=openai/)
  let text = ''
  for await (const chunk of data) text += chunk.choices[0]?.delta.content ?? ''
  assert.equal(text, 'hello there')
  assert.equal(cloud.requests.length, 1)
  const after = await until(
    () => preview('openai/gpt-4o-mini'),
    ({ candidates: routes }) => routes[0]!.provider === 'openai',
  )
  assert.equal(after.candidates[1]!.computer_id, den.id)
  await assert.rejects(openai().chat.completions.create(ask('local/den/tiny:latest')), { status: 503 })
})
