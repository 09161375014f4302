// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { OutsideFailed, outsideMcp } from '#infra/outbound/mcp-client.ts'
import { type Caller, type Person, type TestServer, testServer } from '../../../server.ts'
import { PATIENCE_MS, until } from '../../../until.ts'
import { endlessKinds, pathOf, startEndless } from '../../../vendors/endless.ts'

const LONGEST_MS = PATIENCE_MS

type Endless = Awaited<ReturnType<typeof startEndless>>
let vendor: Endless
let catalogue: Endless
/** There is one catalog URL for all: it answers with each kind in turn. */
let next = 0
let server: TestServer
let alice: Person
let key: Caller

before(async () => {
  vendor = await startEndless()
  catalogue = await startEndless(() => endlessKinds[next++]!)
  server = await testServer({
    environment: {
      UK_UPSTREAM_ALLOW: '127.0.0.0/8',
      UK_FETCH_ALLOW: '127.0.0.0/8',
      UK_LIMIT_INFERENCE: '0',
      UK_CATALOGUE_URL: `${catalogue.origin}/catalogue.json`,
    },
    waits: { headMs: 1_000, idleMs: 1_000, wholeMs: 1_500, streamMs: 2_000, errorMs: 400, mostBytes: 4 << 20 },
  })
  alice = await server.person('Alice')
  key = await alice.key()
  for (const kind of endlessKinds) {
    const slug = pathOf(kind).slice(1)
    const endpoint = await alice.post('/ai-gateway/provider-endpoints', {
      name: slug,
      slug,
      shape: 'openai-chat',
      base_url: `${vendor.origin}/${slug}/v1`,
      api_key: 'sk-endless',
      models: [{ id: 'm', pricing: { input: 0, output: 0 } }],
    })
    assert.equal(endpoint.status, 201, endpoint.text)
    endpoints.set(kind, endpoint.body.data.id)
  }
})
after(async () => {
  await server[Symbol.asyncDispose]()
  await vendor[Symbol.asyncDispose]()
  await catalogue[Symbol.asyncDispose]()
})

const endpoints = new Map<string, string>()
const modelOf = (kind: string): string => `${pathOf(kind).slice(1)}/m`
/** A large whole answer is forwarded as it arrives: an endless one breaks off. */
const orBroken = (response: Promise<{ status: number }>): Promise<boolean> =>
  response.then(
    ({ status }) => status >= 400,
    () => true,
  )
const messages = [{ role: 'user', content: 'hello' }]

/** All callers of other servers, and their result for an endless answer: true if it was reported as a failure. */
const ways: Record<string, (kind: string) => Promise<boolean>> = {
  'a passed call': (kind) => orBroken(key.post('/compat-a/v1/chat/completions', { model: modelOf(kind), messages })),
  'a passed stream': async (kind) => {
    const { status, text } = await key.post('/compat-a/v1/chat/completions', {
      model: modelOf(kind),
      messages,
      stream: true,
    })
    return status >= 400 || text.includes('"error"')
  },
  'a translated call': async (kind) =>
    (await key.post('/compat-b/v1/messages', { model: modelOf(kind), max_tokens: 9, messages })).status >= 400,
  'a call of the platform’s own': async (kind) =>
    (await alice.post('/inference/text', { model: modelOf(kind), messages })).status >= 400,
  embeddings: (kind) => orBroken(key.post('/compat-a/v1/embeddings', { model: modelOf(kind), input: 'hello' })),
  speech: (kind) =>
    orBroken(key.post('/compat-a/v1/audio/speech', { model: modelOf(kind), input: 'hello', voice: 'alloy' })),
  'the test of an endpoint': async (kind) => {
    const { body } = await alice.post(`/ai-gateway/provider-endpoints/${endpoints.get(kind)!}/test`, {})
    return typeof body.data.error === 'string'
  },
  'a page': async (kind) =>
    (await alice.post('/web/fetch', { url: `${vendor.origin}${pathOf(kind)}/page` })).status >= 400,
  'an agent’s server': (kind) =>
    outsideMcp(
      server.app.engine.outside,
      { url: `${vendor.origin}${pathOf(kind)}/mcp`, headers: {}, timeoutMs: 5_000 },
      { credential: '', party: kind },
    )
      .tools(AbortSignal.timeout(LONGEST_MS))
      .then(
        () => false,
        (error: unknown) => error instanceof OutsideFailed,
      ),
  'a webhook': async (kind) => {
    const url = `${vendor.origin}${pathOf(kind)}/hook`
    const webhook = await alice.post('/webhook-endpoints', {
      workspace_id: alice.workspaceId,
      name: kind,
      url,
      events: ['file.created'],
    })
    const at = `/webhook-endpoints/${webhook.body.data.id}`
    await alice.post(`${at}/test`, {})
    const { body } = await until(
      () => alice.get(`${at}/deliveries`),
      ({ body }) => body.data[0].attempts.length > 0,
    )
    return body.data[0].attempts[0].error !== null
  },
}

for (const [way, ask] of Object.entries(ways))
  test(`${way}: no endless answer blocks it`, async () => {
    const results = await Promise.all(
      endlessKinds.map(async (kind) => {
        const late = new Promise<string>((resolve) => setTimeout(() => resolve('held'), LONGEST_MS).unref())
        return [kind, await Promise.race([ask(kind), late])]
      }),
    )
    assert.deepEqual(
      results.filter(([, isFailure]) => isFailure !== true),
      [],
    )
    await until(
      () => Promise.resolve(vendor.open()),
      (open) => open === 0,
    )
  })

test('the catalog URL blocks nothing either', async () => {
  const answers = await Promise.all(endlessKinds.map(() => alice.post('/admin/catalogues', {})))
  for (const { status, text } of answers) assert.ok(status >= 500, text)
  assert.equal(next, endlessKinds.length)
})
