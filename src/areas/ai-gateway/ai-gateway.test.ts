import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { type Caller, type Person, type TestServer, testRootKey, testServer } from '#test/server.ts'
import { stopwatch } from '#test/until.ts'
import { startAnthropic } from '#test/vendors/anthropic/anthropic.ts'
import { startOllama } from '#test/vendors/ollama/ollama.ts'
import { startOpenAI } from '#test/vendors/openai/openai.ts'
import { startOpenRouter } from '#test/vendors/openrouter/openrouter.ts'
import type { Vendor } from '#test/vendors/vendor.ts'

const at = '/ai-gateway/provider-endpoints'
const hello = (model: string, more: object = {}) => ({
  model,
  messages: [{ role: 'user', content: 'hello you' }],
  ...more,
})

let server: TestServer
let alice: Person
let bob: Person
let anthropic: Vendor
let ollama: Vendor
const logged: string[] = []

before(async () => {
  anthropic = await startAnthropic()
  ollama = await startOllama()
  server = await testServer({
    log: pino({ level: 'debug' }, { write: (line: string) => void logged.push(line) }),
    environment: {
      UK_UPSTREAM_ALLOW: '127.0.0.1',
      OLLAMA_HOST: ollama.origin,
      ANTHROPIC_API_KEY: anthropic.key,
      ANTHROPIC_BASE_URL: anthropic.origin,
    },
  })
  alice = await server.person('Alice')
  bob = await server.person('Bob')
})
after(async () => {
  await server[Symbol.asyncDispose]()
  await anthropic[Symbol.asyncDispose]()
  await ollama[Symbol.asyncDispose]()
})

/** An endpoint of somebody's at a loopback vendor. */
async function bring(who: Caller, vendor: Vendor, slug: string, more: object = {}) {
  const answer = await who.post(at, {
    name: slug,
    slug,
    shape: 'openai-chat',
    base_url: `${vendor.origin}/v1`,
    api_key: vendor.key,
    ...more,
  })
  assert.equal(answer.status, 201, answer.text)
  return answer.body.data
}
const slugs = async (who: Caller, query = ''): Promise<string[]> =>
  (await who.get(`/models?limit=100${query}`)).body.data.map(({ slug }: { slug: string }) => slug)

test('bob brings his own key: it is tested, its models are listed, and his calls cost him nothing here', async () => {
  await using vendor = await startOpenAI({ key: 'sk-bob-0123456789' })
  const made = await bring(bob, vendor, 'mine', { headers: { 'OpenAI-Project': 'proj_secret' } })
  assert.deepEqual([made.has_api_key, made.api_key_last4, made.header_names], [true, '6789', ['openai-project']])
  assert.equal('api_key' in made || 'headers' in made, false)
  const tested = (await bob.post(`${at}/${made.id}/test`)).body.data
  assert.deepEqual([tested.ok, tested.models_count, tested.error], [true, 4, null])
  assert.ok((await slugs(bob)).includes('mine/gpt-4o'))
  assert.ok(!(await slugs(bob)).includes('mine/text-embedding-3-small'))
  const answer = await bob.post('/inference/text', hello('mine/gpt-4o'))
  assert.equal(answer.body.data?.text, 'hello you', answer.text)
  assert.deepEqual([answer.body.data.provider, answer.body.data.cost_usd], ['mine', null])
  const sent = vendor.requests.findLast(({ path }) => path === '/v1/chat/completions')!
  assert.deepEqual(
    [sent.headers.authorization, sent.headers['openai-project'], sent.json().model],
    [`Bearer ${vendor.key}`, 'proj_secret', 'gpt-4o'],
  )
  const key = await bob.key()
  const direct = await key.post('/compat-a/v1/chat/completions', hello('mine/gpt-4o'))
  assert.equal(direct.body.choices?.[0].message.content, 'hello you', direct.text)
  // One answer is left for the bare name too.
  assert.equal((await bob.post('/inference/text', hello('gpt-4o'))).body.data.model, 'mine/gpt-4o')
  const [row] = (await bob.get('/ai-gateway/providers')).body.data.filter(
    ({ slug }: { slug: string }) => slug === 'mine',
  )
  assert.deepEqual([row.billing, row.source, row.endpoint_id, row.models_count], ['byok', 'account', made.id, 4])
  assert.deepEqual((await bob.delete(`${at}/${made.id}`)).body, { deleted: true, id: made.id })
  assert.equal((await bob.post('/inference/text', hello('mine/gpt-4o'))).status, 404)
})

test('a preset fills in what is left out, and its models and prices are the catalogue’s', async () => {
  await using vendor = await startOpenAI()
  const made = (await bob.post(at, { preset: 'openai', base_url: `${vendor.origin}/v1/`, api_key: vendor.key })).body
    .data
  assert.deepEqual(
    [made.name, made.slug, made.shape, made.base_url],
    ['OpenAI', 'openai', 'openai-chat', `${vendor.origin}/v1`],
  )
  const model = (await bob.get('/models/openai%2Fgpt-4o')).body.data
  assert.deepEqual(
    [model.status, model.pricing.input, model.pricing.output, model.price_source],
    ['available', 2.5, 10, '@earendil-works/pi-ai@1.5.2'],
  )
  vendor.script({ usage: { input: 1_000, output: 100 } })
  const { data } = (await bob.post('/inference/text', hello('openai/gpt-4o'))).body
  assert.equal(data.cost_usd, (1_000 * 2.5 + 100 * 10) / 1e6)
  assert.equal(vendor.requests.filter(({ path }) => path === '/v1/models').length, 0, 'nobody had to ask for the list')
  // A model that the catalogue does not know: the provider is asked.
  const asked = await bob.post('/inference/text', hello('openai/no-such-model'))
  assert.equal(asked.status, 404)
  assert.equal(vendor.requests.filter(({ path }) => path === '/v1/models').length, 1)
  assert.equal((await bob.post(at, { preset: 'openai', api_key: 'x' })).body.error.code, 'already_exists')
  await bob.delete(`${at}/${made.id}`)
})

test('a vendor whose API needs a key is not added without one, and what it needs is not taken away', async () => {
  const nora = await server.person('Nora')
  const place = { base_url: 'https://vendor.example/v1' }
  for (const preset of ['openai', 'anthropic', 'google', 'azure', 'bedrock', 'vertex']) {
    const refused = await nora.post(at, { preset, ...(['azure', 'bedrock', 'vertex'].includes(preset) && place) })
    const { code, param, message } = refused.body.error
    assert.deepEqual([refused.status, code, param], [400, 'missing_parameter', 'api_key'])
    assert.match(message, new RegExp(`^The preset \`${preset}\` needs a key: give \`api_key\`, or `))
  }
  // A header of another vendor's opens nothing here.
  const other = await nora.post(at, { preset: 'openai', headers: { 'x-api-key': 'sk-0123456789' } })
  assert.deepEqual([other.status, other.body.error.param], [400, 'api_key'])
  assert.match(other.body.error.message, /`authorization` in `headers`/)
  assert.deepEqual((await nora.get('/ai-gateway/providers?limit=100')).body.data.filter(isOpenAI), [])

  const byHeader = (await nora.post(at, { preset: 'openai', headers: { Authorization: 'Bearer sk-0' } })).body.data
  assert.deepEqual([byHeader.has_api_key, byHeader.header_names], [false, ['authorization']])
  const bare = await nora.patch(`${at}/${byHeader.id}`, { headers: {} })
  assert.deepEqual([bare.status, bare.body.error.param], [400, 'api_key'])
  assert.equal((await nora.patch(`${at}/${byHeader.id}`, { headers: {}, api_key: 'sk-0123456789' })).status, 200)
  const taken = await nora.patch(`${at}/${byHeader.id}`, { api_key: null })
  assert.deepEqual([taken.status, taken.body.error.param], [400, 'api_key'])
  assert.equal((await nora.get(`${at}/${byHeader.id}`)).body.data.has_api_key, true)

  const proxied = { preset: 'openai', slug: 'moved', base_url: 'https://moved.example/v1' }
  const { id } = (await nora.post(at, proxied)).body.data
  const garbage = await nora.patch(`${at}/${id}`, { base_url: 'garbage' })
  assert.deepEqual([garbage.status, garbage.body.error.param], [400, 'base_url'])
  const back = await nora.patch(`${at}/${id}`, { base_url: 'https://api.openai.com/v1' })
  assert.deepEqual([back.status, back.body.error.param], [400, 'api_key'])

  const claude = { preset: 'anthropic', headers: { 'x-api-key': 'sk-0123456789' } }
  assert.equal((await nora.post(at, claude)).status, 201)
  const local = [
    { preset: 'vllm', base_url: 'https://gpu.example/v1' },
    { preset: 'llama-cpp', base_url: 'https://gpu.example/v1' },
  ]
  const own = { slug: 'own', shape: 'openai-chat', base_url: 'https://gpu.example/v1' }
  // A proxy of one's own may take no key, with the catalogue of the vendor that stands behind it.
  const proxy = { preset: 'openai', slug: 'proxy', base_url: 'https://proxy.example/v1' }
  for (const keyless of [...local, own, proxy]) assert.equal((await nora.post(at, keyless)).status, 201)
})

test('an endpoint whose vendor needs a key and that was stored without one serves nothing, and says why until it is given one', async () => {
  const olga = await server.person('Olga')
  const made = (await olga.post(at, { preset: 'openai', api_key: 'sk-0123456789' })).body.data
  assert.deepEqual([made.status, made.status_reason], ['available', null])
  const deployed = { preset: 'azure', base_url: 'https://olga.example/openai/v1', api_key: 'k' }
  const azure = (await olga.post(at, deployed)).body.data
  // As they were stored before they were refused.
  const { pool } = server.app.engine.postgres
  await pool.query('update provider_endpoints set sealed_key = null, api_key_last4 = null where id = any($1)', [
    [made.id, azure.id],
  ])
  for (const { id, name } of [made, azure]) {
    const renamed = await olga.patch(`${at}/${id}`, { name: `${name}, old` })
    const { status, status_reason, enabled } = renamed.body.data
    assert.deepEqual([renamed.status, status, enabled], [200, 'needs_key', true])
    assert.match(status_reason, /^The preset `(openai|azure)` needs a key: give `api_key`, or /)
    const { ok, error, models_count } = (await olga.post(`${at}/${id}/test`)).body.data
    assert.deepEqual([ok, error, models_count], [false, status_reason, null])
  }
  const listed = (await olga.get(at)).body.data.map(({ status }: { status: string }) => status)
  assert.deepEqual(listed, ['needs_key', 'needs_key'])
  assert.deepEqual((await olga.get('/ai-gateway/providers?limit=100')).body.data.filter(isOpenAI), [])
  assert.deepEqual(
    (await slugs(olga)).filter((slug) => slug.startsWith('openai/')),
    [],
  )
  assert.equal((await olga.post('/inference/text', hello('openai/gpt-4o'))).status, 404)
  assert.equal((await olga.post('/inference/text', hello('azure/mine'))).status, 404)

  const off = await olga.patch(`${at}/${made.id}`, { enabled: false })
  assert.deepEqual([off.status, off.body.data.status], [200, 'disabled'])
  const given = (await olga.patch(`${at}/${made.id}`, { enabled: true, api_key: 'sk-0123456789' })).body.data
  assert.deepEqual([given.status, given.status_reason], ['available', null])
  assert.ok((await slugs(olga)).some((slug) => slug.startsWith('openai/')))
})

test('an endpoint whose key cannot be opened any more serves nothing, and says so until it is given again', async () => {
  const pia = await server.person('Pia')
  const made = (await pia.post(at, { preset: 'openai', api_key: 'sk-0123456789', headers: { 'x-team': 'a' } })).body
    .data
  const { pool } = server.app.engine.postgres
  const sealed = 'update provider_endpoints set sealed_key = $2, sealed_headers = $2 where id = $1'
  await pool.query(sealed, [made.id, 'xx'])
  const again = async (body: object) => (await pia.patch(`${at}/${made.id}`, body)).body.data
  const renamed = await again({ name: 'Old' })
  for (const { status, status_reason } of [renamed, ...(await pia.get(at)).body.data])
    assert.deepEqual(
      [status, status_reason],
      ['unreadable_key', 'Its key cannot be opened with the root keys of this instance: give it again.'],
    )
  const tested = await pia.post(`${at}/${made.id}/test`)
  assert.deepEqual([tested.status, tested.body.data?.ok, tested.body.data?.error], [200, false, renamed.status_reason])
  assert.deepEqual((await pia.get('/ai-gateway/providers?limit=100')).body.data.filter(isOpenAI), [])

  const keyed = await again({ api_key: 'sk-0123456789' })
  assert.deepEqual(
    [keyed.status, keyed.status_reason.startsWith('Its headers cannot be opened')],
    ['unreadable_key', true],
  )
  const given = await again({ headers: {} })
  assert.deepEqual([given.status, given.status_reason], ['available', null])
  assert.ok((await slugs(pia)).some((slug) => slug.startsWith('openai/')))
})
const isOpenAI = ({ slug }: { slug: string }): boolean => slug === 'openai'

test("alice's key never goes to bob's endpoint, nor to an address that it was not given for", async () => {
  await using hers = await startOpenAI({ key: 'sk-alice-0123456789' })
  await using his = await startOpenAI({ key: 'sk-bob-0123456789' })
  const mine = await bring(alice, hers, 'same')
  await bring(bob, his, 'same')
  assert.equal((await alice.post('/inference/text', hello('same/gpt-4o'))).status, 200)
  assert.equal((await bob.post('/inference/text', hello('same/gpt-4o'))).status, 200)
  for (const [vendor, other] of [
    [hers, his],
    [his, hers],
  ] as const) {
    assert.ok(vendor.requests.some(({ path }) => path === '/v1/chat/completions'))
    assert.ok(vendor.requests.every(({ headers }) => headers.authorization !== `Bearer ${other.key}`))
  }
  for (const answer of [
    await bob.get(`${at}/${mine.id}`),
    await bob.patch(`${at}/${mine.id}`, { name: 'x' }),
    await bob.post(`${at}/${mine.id}/test`),
    await bob.delete(`${at}/${mine.id}`),
  ])
    assert.equal(answer.status, 404)
  const moved = await alice.patch(`${at}/${mine.id}`, { base_url: `${his.origin}/v1` })
  assert.deepEqual([moved.status, moved.body.error.param], [400, 'api_key'])
  const samePlace = await alice.patch(`${at}/${mine.id}`, { base_url: `${hers.origin}/v1/`, name: 'Renamed' })
  assert.deepEqual(
    [samePlace.status, samePlace.body.data.name, samePlace.body.data.has_api_key],
    [200, 'Renamed', true],
  )
  const away = await alice.patch(`${at}/${mine.id}`, { base_url: `${his.origin}/v1`, api_key: 'sk-another-0123456789' })
  assert.equal(away.status, 200)
  const wrongKey = (await alice.post(`${at}/${mine.id}/test`)).body.data
  assert.equal(wrongKey.ok, false)
  assert.match(wrongKey.error, /^The provider answered 401/)
  assert.ok(!wrongKey.error.includes('sk-another-0123456789'))
})

test('a key of one workspace does not reach what its owner has elsewhere', async () => {
  await using vendor = await startOpenAI()
  await bring(alice, vendor, 'private')
  const team = (await alice.post('/workspaces', { name: 'Team' })).body.data
  const key = await alice.key({ workspace_id: team.id })
  assert.ok(!(await slugs(key)).includes('private/gpt-4o'))
  assert.equal((await key.post('/inference/text', hello('private/gpt-4o'))).status, 404)
  assert.deepEqual((await key.get(at)).body.data, [])
  const made = await bring(key, vendor, 'shared')
  assert.equal(made.workspace_id, team.id)
  assert.equal((await key.post('/inference/text', hello('shared/gpt-4o'))).status, 200)
  assert.equal(
    (await key.post(at, { slug: 'x', shape: 'openai-chat', base_url: 'https://example.com/v1', instance: true }))
      .status,
    403,
  )
})

test('nor does what such a key starts in the background', async () => {
  await using hers = await startOpenAI({ key: 'sk-own-0123456789' })
  await using everybodys = await startOpenAI({ key: 'sk-instance-0123456789' })
  const models = [{ id: 'gpt-4o', pricing: { input: 1, output: 1 } }]
  const erin = await server.person('Erin')
  const instance = await bring(alice, everybodys, 'twice', { instance: true, models })
  const own = await bring(erin, hers, 'twice', { models })
  await alice.post(`/admin/accounts/${erin.id}/credits`, { amount_usd: 1, note: 'for the story' })
  const team = (await erin.post('/workspaces', { name: 'Behind' })).body.data
  const key = await erin.key({ workspace_id: team.id })
  const { data: operation } = (await key.post('/inference/text', hello('twice/gpt-4o', { background: true }))).body
  const { data } = await ended(key, operation.id)
  assert.equal(data.status, 'succeeded', JSON.stringify(data.error))
  const asked = ({ requests }: Vendor) => requests.filter(({ path }) => path === '/v1/chat/completions').length
  assert.deepEqual([asked(hers), asked(everybodys)], [0, 1])
  const chat = (await key.post('/chats', { title: 'Behind', model: 'twice/gpt-4o' })).body.data
  assert.equal((await key.post(`/chats/${chat.id}/messages`, { content: 'hello' })).status, 200)
  assert.deepEqual([asked(hers), asked(everybodys)], [0, 2])
  // She herself, unrestricted, goes to her own first, in that workspace too.
  assert.equal((await erin.post('/inference/text', hello('twice/gpt-4o', { workspace_id: team.id }))).status, 200)
  assert.deepEqual([asked(hers), asked(everybodys)], [1, 2])
  await alice.delete(`${at}/${instance.id}`)
  await erin.delete(`${at}/${own.id}`)
})

/** An operation at its end. */
async function ended(who: Caller, id: string) {
  for (;;) {
    const { body } = await who.get(`/operations/${id}/await?timeout_seconds=10`)
    if (!['queued', 'running'].includes(body.data.status)) return body
  }
}

test("a workspace's endpoint serves its members, and takes no name away from anybody", async () => {
  await using team = await startAnthropic({ key: 'sk-team-0123456789' })
  await using own = await startAnthropic({ key: 'sk-own-0123456789' })
  const shape = { shape: 'anthropic-messages', api_key: team.key, base_url: team.origin }
  const { id } = (await alice.post('/workspaces', { name: 'Claude' })).body.data
  const carol = await server.person('Carol')
  const { token } = (await alice.post(`/workspaces/${id}/invitations`, { email: carol.email })).body.data
  assert.equal((await carol.post('/invitations/accept', { token })).status, 200)
  const refused = await carol.post(at, { name: 't', slug: 'team', ...shape, workspace_id: id })
  assert.equal(refused.body.error.code, 'insufficient_role')
  const models = [{ id: 'claude-haiku-4-5', pricing: { input: 1, output: 5 } }]
  const made = await bring(alice, team, 'anthropic', { ...shape, models, workspace_id: id })
  assert.equal((await bob.get(`${at}/${made.id}`)).status, 404)
  assert.equal((await carol.get(`${at}/${made.id}`)).body.data.workspace_id, id)
  assert.equal((await carol.delete(`${at}/${made.id}`)).body.error.code, 'insufficient_role')
  // The instance has an `anthropic` too: both its name and the bare one stay the instance's, which Carol cannot pay for.
  for (const model of ['anthropic/claude-haiku-4-5', 'claude-haiku-4-5'])
    assert.equal((await carol.post('/inference/text', hello(model))).body.error.code, 'insufficient_credits')
  assert.equal(team.requests.length, 0)
  // In the workspace it goes first.
  const inside = await carol.post('/inference/text', hello('anthropic/claude-haiku-4-5', { workspace_id: id }))
  assert.equal(inside.status, 200, inside.text)
  assert.deepEqual([team.requests.length, team.requests[0]!.headers['x-api-key']], [1, team.key])
  await alice.patch(`${at}/${made.id}`, { slug: 'claude' })
  assert.equal((await carol.post('/inference/text', hello('claude/claude-haiku-4-5'))).status, 200)
  await bring(carol, own, 'claude', { shape: 'anthropic-messages', base_url: own.origin, models })
  assert.equal((await carol.post('/inference/text', hello('claude/claude-haiku-4-5'))).status, 200)
  assert.deepEqual([team.requests.length, own.requests.length], [2, 1])
})

test("the administrator's endpoints serve everybody on credits, and nobody else may make them", async () => {
  await using vendor = await startOpenAI()
  const body = {
    name: 'House',
    slug: 'house',
    shape: 'openai-chat',
    base_url: `${vendor.origin}/v1`,
    api_key: vendor.key,
    instance: true,
  }
  assert.equal((await bob.post(at, body)).body.error.code, 'insufficient_role')
  const house = await bring(alice, vendor, 'house', {
    instance: true,
    models: [{ id: 'gpt-4o', pricing: { input: 3, output: 6 } }, { id: 'gpt-4o-mini' }],
  })
  assert.equal(house.instance, true)
  assert.equal((await bob.get(`${at}/${house.id}`)).status, 404)
  assert.ok((await slugs(bob)).includes('house/gpt-4o'))
  assert.equal((await bob.post('/inference/text', hello('house/gpt-4o'))).body.error.code, 'insufficient_credits')
  await alice.post(`/admin/accounts/${bob.id}/credits`, { amount_usd: 2, note: 'for the house' })
  vendor.script({ usage: { input: 10, output: 5 } })
  const paid = (await bob.post('/inference/text', hello('house/gpt-4o', { max_output_tokens: 50 }))).body.data
  assert.equal(paid.cost_usd, 0.00006)
  // No price: on credits it cannot be charged, and only callers who are charged nothing may call it.
  assert.equal((await bob.post('/inference/text', hello('house/gpt-4o-mini'))).body.error.code, 'unpriced_model')
  assert.equal((await alice.post('/inference/text', hello('house/gpt-4o-mini'))).body.data.cost_usd, null)
  const capped = await alice.key({ spend_cap_usd: 5 })
  assert.equal((await capped.post('/inference/text', hello('house/gpt-4o-mini'))).body.error.code, 'unpriced_model')
  await alice.delete(`${at}/${house.id}`)
})

test('an unpriced model runs on one’s own key, and not under a cap', async () => {
  await using vendor = await startOpenAI()
  await bring(bob, vendor, 'unpriced')
  assert.equal((await bob.post('/inference/text', hello('unpriced/gpt-4o'))).body.data.cost_usd, null)
  const capped = await bob.key({ spend_cap_usd: 5 })
  assert.equal((await capped.post('/inference/text', hello('unpriced/gpt-4o'))).body.error.code, 'unpriced_model')
})

test('the preview leaves out what the call would be refused for its money', async () => {
  await using vendor = await startOpenAI()
  await bring(bob, vendor, 'unknown-price')
  const preview = async (who: Caller, model: string) =>
    (await who.post('/ai-gateway/routing-preview', { model })).body.data as {
      candidates: { provider: string }[]
      excluded: { provider: string; reason: string }[]
    }
  assert.equal((await preview(bob, 'unknown-price/gpt-4o')).candidates.length, 1)
  const capped = await bob.key({ spend_cap_usd: 5 })
  const unpriced = await preview(capped, 'unknown-price/gpt-4o')
  assert.deepEqual(unpriced.candidates, [])
  assert.match(unpriced.excluded[0]!.reason, /price is in no source/)
  assert.equal((await preview(capped, 'sim/echo')).candidates.length, 1)
  const tight = await bob.key({ spend_cap_usd: 0.000001 })
  assert.equal((await tight.post('/inference/text', hello('sim/echo'))).body.error.code, 'spend_cap_reached')
  const poor = await preview(tight, 'sim/echo')
  assert.deepEqual(poor.candidates, [])
  assert.match(poor.excluded[0]!.reason, /than balance and caps leave/)
})

test('a provider that does not say what it serves is not said to lack a model', async () => {
  await using vendor = await startOpenAI()
  const { id } = await bring(bob, vendor, 'silent', { api_key: 'sk-wrong' })
  const key = await bob.key()
  for (const [path, body] of [
    ['/compat-a/v1/chat/completions', hello('silent/gpt-4o')],
    ['/compat-b/v1/messages', hello('silent/gpt-4o', { max_tokens: 10 })],
    ['/compat-c/v1/chat/completions', hello('silent/gpt-4o')],
    ['/inference/text', hello('silent/gpt-4o')],
    ['/ai-gateway/routing-preview', { model: 'silent/gpt-4o' }],
  ] as const) {
    const { status, text, headers } = await key.post(path, body)
    assert.equal(status, 502, `${path}: ${text}`)
    assert.match(text, /`silent` does not say which models it serves\. The provider answered 401.*Mend its key/)
    assert.equal(headers.get('x-should-retry'), 'false')
  }
  assert.equal((await key.post('/compat-a/v1/chat/completions', hello('nobody/gpt-4o'))).status, 404)
  const instead = { ...hello('silent/gpt-4o'), models: ['silent/gpt-4o', 'sim/echo'] }
  assert.equal((await key.post('/compat-c/v1/chat/completions', instead)).body.model, 'sim/echo')

  assert.equal((await bob.patch(`${at}/${id}`, { api_key: vendor.key })).status, 200)
  assert.equal((await key.post('/compat-a/v1/chat/completions', hello('silent/gpt-4o'))).status, 200)
})

test('what a provider said of a key is told to whoever brought it, and to nobody else', async () => {
  await using vendor = await startOpenAI()
  const { id } = await bring(alice, vendor, 'house', { api_key: 'sk-wrong', instance: true })
  const hers = await alice.post(`${at}/${id}/test`)
  assert.match(hers.body.data.error, /401/)
  const his = await (await bob.key()).post('/compat-a/v1/chat/completions', hello('house/gpt-4o'))
  assert.equal(his.status, 502, his.text)
  assert.match(his.text, /`house` does not say which models it serves\. Whoever brought it can test it/)
  assert.doesNotMatch(his.text, /401|Incorrect|sk-/)
  assert.equal((await alice.delete(`${at}/${id}`)).status, 200)
})

test('a provider that was away is asked again at once when it is called by name', async () => {
  const late = createServer()
  // It lets nobody in, and nobody else takes its place.
  let isAway = true
  late.on('connection', (socket) => void (isAway && socket.destroy()))
  late.listen(0, '127.0.0.1')
  await once(late, 'listening')
  const { port } = late.address() as AddressInfo
  const away = { origin: `http://127.0.0.1:${port}`, key: 'sk-late' } as Vendor
  await bring(bob, away, 'late')
  const call = () => bob.post('/inference/text', hello('late/tiny'))
  assert.equal((await call()).status, 503)
  late.on('request', (request, response) =>
    response.setHeader('content-type', 'application/json').end(
      JSON.stringify(
        request.url === '/v1/models'
          ? { data: [{ id: 'tiny' }] }
          : {
              id: 'x',
              choices: [{ index: 0, message: { role: 'assistant', content: 'here' }, finish_reason: 'stop' }],
            },
      ),
    ),
  )
  isAway = false
  const since = stopwatch()
  while ((await call()).status === 503) assert.ok(since() < 5_000)
  assert.equal((await call()).status, 200)
  late.close()
  late.closeAllConnections()
})

test('an Ollama that is there is found, and its models answer for nothing', async () => {
  await ollama.arrival()
  const carl = await server.person('Carl')
  await carl.get('/ai-gateway/providers')
  const { data } = await carl.get('/models/ollama/llama3.2:latest').then(({ body }) => body)
  assert.deepEqual(
    [data.context_length, data.pricing.input, data.capabilities, data.provider],
    [131_072, 0, ['tools'], 'ollama'],
  )
  assert.ok(!(await slugs(carl)).includes('ollama/all-minilm:latest'))
  const answer = await carl.post('/inference/text', hello('ollama/llama3.2:latest'))
  assert.deepEqual(
    [answer.status, answer.body.data?.text, answer.body.data?.cost_usd],
    [200, 'hello you', 0],
    answer.text,
  )
})

test('the instance’s key of the environment serves on credits, in its own shape', async () => {
  const { data } = (await alice.post('/inference/text', hello('claude-haiku-4-5', { max_output_tokens: 64 }))).body
  assert.deepEqual([data.model, data.provider, data.text], ['anthropic/claude-haiku-4-5', 'anthropic', 'hello you'])
  assert.ok(data.cost_usd > 0)
  assert.equal(anthropic.requests.at(-1)!.headers['x-api-key'], anthropic.key)
})

test('private addresses are refused to users unless the instance allows them; slugs and addresses are checked', async () => {
  await using plain = await testServer()
  const admin = await plain.person('Admin')
  const user = await plain.person('User')
  const make = (who: Caller, more: object) =>
    who.post(at, { name: 'x', slug: 'x', shape: 'openai-chat', base_url: 'https://api.example.com/v1', ...more })
  for (const base_url of [
    'http://127.0.0.1:9',
    'http://localhost:9/v1',
    'http://[::1]:9',
    'http://10.0.0.7/v1',
    'http://169.254.169.254',
    'http://0x7f000001/',
  ])
    assert.equal((await make(user, { base_url })).body.error?.code, 'policy_denied', base_url)
  for (const base_url of ['ftp://example.com', 'nonsense', 'https://u:p@example.com', 'https://example.com/v1?key=1'])
    assert.deepEqual((await make(user, { base_url })).body.error?.param, 'base_url', base_url)
  for (const slug of ['sim', 'local', 'auto', 'Upper', '-x', ''])
    assert.deepEqual((await make(user, { slug })).body.error?.param, 'slug', slug)
  for (const headers of [{ Host: 'x' }, { 'content-length': '1' }, { 'a b': 'c' }, { a: 'b\r\nc: d' }])
    assert.equal((await make(user, { headers })).status, 400, JSON.stringify(headers))
  assert.equal((await make(user, { slug: undefined })).body.error.param, 'slug')
  const remedies = async (who: Caller) => (await make(who, { base_url: 'http://127.0.0.1:9' })).body.error.message
  assert.match(await remedies(user), /The administrator can allow it with UK_UPSTREAM_ALLOW=127\.0\.0\.1:9\.$/)
  assert.match(await remedies(admin), /add the endpoint with `instance: true`.*UK_UPSTREAM_ALLOW=127\.0\.0\.1:9\.$/)
  assert.equal((await make(admin, { base_url: 'http://127.0.0.1:9', instance: true })).status, 201)
  const dead = (await admin.get(at)).body.data[0]
  const tested = (await admin.post(`${at}/${dead.id}/test`)).body.data
  assert.deepEqual([tested.ok, tested.models_count, tested.error], [false, null, 'Nothing listens at this address.'])
})

test('what a provider redirects to is not followed, and an answer that is none is said to be so', async () => {
  const odd = createServer((request, response) => {
    if (request.url!.startsWith('/moved')) response.writeHead(302, { location: 'http://169.254.169.254/' }).end()
    else response.end('<html>')
  })
  odd.listen(0, '127.0.0.1')
  await once(odd, 'listening')
  const origin = `http://127.0.0.1:${(odd.address() as AddressInfo).port}`
  const { id } = (await alice.post(at, { name: 'odd', slug: 'odd', shape: 'openai-chat', base_url: `${origin}/moved` }))
    .body.data
  assert.equal((await alice.post(`${at}/${id}/test`)).body.data.error, 'The provider answered 302.')
  await alice.patch(`${at}/${id}`, { base_url: `${origin}/page` })
  assert.match((await alice.post(`${at}/${id}/test`)).body.data.error, /no JSON/)
  await alice.delete(`${at}/${id}`)
  odd.close()
})

test('where the list of models answers to anybody, the test asks for more', async () => {
  await using vendor = await startOpenRouter()
  const { id } = await bring(alice, vendor, 'router', {
    preset: 'openrouter',
    base_url: `${vendor.origin}/api/v1`,
    api_key: 'sk-or-wrong-0123456789',
  })
  assert.equal((await alice.post(`${at}/${id}/test`)).body.data.ok, false)
  await alice.patch(`${at}/${id}`, { api_key: vendor.key })
  const good = (await alice.post(`${at}/${id}/test`)).body.data
  assert.equal(good.ok, true, good.error)
  await alice.delete(`${at}/${id}`)
})

test('a model has the same date on every surface, and no model is of 1970', async () => {
  await using vendor = await startOpenAI()
  const dora = await server.person('Dora')
  await bring(dora, vendor, 'listed')
  await bring(dora, vendor, 'given', { models: [{ id: 'gpt-4o' }] })
  await bring(dora, vendor, 'known', { preset: 'openai' })
  const key = await dora.key()
  for (const slug of ['listed/gpt-4o', 'given/gpt-4o', 'known/gpt-4o', 'sim/echo']) {
    const { created_at } = (await dora.get(`/models/${slug}`)).body.data
    const seconds = Math.floor(Date.parse(created_at) / 1000)
    assert.ok(seconds > Date.UTC(2020, 0) / 1000, slug)
    const [a, b, c] = await Promise.all(
      ['/compat-a/v1/models', '/compat-b/v1/models?limit=1000', '/compat-c/api/v1/models'].map(async (path) =>
        (await key.get(path)).body.data.find(({ id }: { id: string }) => id === slug),
      ),
    )
    assert.deepEqual([a.created, b.created_at, c.created], [seconds, created_at, seconds], slug)
  }
})

test('a disabled endpoint is refused at once here, within a second elsewhere, and its streams end', async () => {
  await using twin = await server.twin()
  await using vendor = await startOpenAI({ otherwise: { reply: 'word '.repeat(2_000), perChunkDelayMs: 20 } })
  const { id } = await bring(bob, vendor, 'going')
  const key = await bob.key()
  const there = (path: string, body: object, headers: Record<string, string> = {}) =>
    fetch(`${twin.origin}/v1${path}`, {
      method: 'POST',
      headers: { ...key.headers, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  const streaming = await there('/inference/text/stream', hello('going/gpt-4o'))
  assert.equal(streaming.status, 200)
  const whole = streaming.text()
  const surface = await fetch(`${twin.origin}/compat-a/v1/chat/completions`, {
    method: 'POST',
    headers: { ...key.headers, 'content-type': 'application/json' },
    body: JSON.stringify(hello('going/gpt-4o', { stream: true })),
  })
  const broken = surface.text().then(
    () => 'ended',
    () => 'broken off',
  )
  await bob.patch(`${at}/${id}`, { enabled: false })
  const disabledAt = performance.now()
  assert.equal((await bob.post('/inference/text', hello('going/gpt-4o'))).status, 404)
  const text = await whole
  assert.equal(await broken, 'broken off')
  assert.ok(performance.now() - disabledAt < 5_000)
  assert.match(text, /event: run\.failed\ndata: .*"no_route"/)
  assert.equal((await there('/inference/text', hello('going/gpt-4o'))).status, 404)
  await bob.patch(`${at}/${id}`, { enabled: true })
  assert.ok((await slugs(bob)).includes('going/gpt-4o'))
})

test('an endpoint that is disabled before its first word, or goes with its workspace, ends the stream too', async () => {
  await using slow = await startOpenAI({
    otherwise: { reply: 'word '.repeat(2_000), perChunkDelayMs: 20, delayMs: 1_500 },
  })
  const { id } = await bring(bob, slow, 'slow')
  const stream = (model: string) =>
    fetch(`${server.origin}/v1/inference/text/stream`, {
      method: 'POST',
      headers: { ...bob.headers, 'content-type': 'application/json' },
      body: JSON.stringify(hello(model)),
      signal: AbortSignal.timeout(10_000),
    })
  const before = stream('slow/gpt-4o')
  while (!slow.requests.some(({ path }) => path === '/v1/chat/completions')) await slow.arrival(slow.requests.length)
  await bob.patch(`${at}/${id}`, { enabled: false })
  assert.match(await (await before).text(), /"no_route"/)

  await using vendor = await startOpenAI({ otherwise: { reply: 'word '.repeat(2_000), perChunkDelayMs: 20 } })
  const team = (await bob.post('/workspaces', { name: 'Going' })).body.data
  await bring(bob, vendor, 'theirs', { workspace_id: team.id })
  const streaming = await stream('theirs/gpt-4o')
  assert.equal(streaming.status, 200)
  await bob.delete(`/workspaces/${team.id}?confirm=Going`)
  assert.match(await streaming.text(), /"no_route"/)
})

test(
  'an Ollama that is slow to tell of each of its models holds nobody up for long',
  { timeout: 30_000 },
  async (t) => {
    const models = Array.from({ length: 100 }, (_, i) => ({ name: `m${i}`, model: `m${i}` }))
    const tarpit = createServer((request, response) => {
      request.resume()
      if (request.url === '/api/tags') response.end(JSON.stringify({ models }))
    }).listen(0, '127.0.0.1')
    t.after(() => {
      tarpit.closeAllConnections()
      tarpit.close()
    })
    await once(tarpit, 'listening')
    const base_url = `http://127.0.0.1:${(tarpit.address() as AddressInfo).port}`
    const dave = await server.person('Dave')
    const made = await dave.post(at, { slug: 'tarpit', name: 'Tarpit', shape: 'ollama', base_url })
    assert.equal(made.status, 201, made.text)
    const startedAt = performance.now()
    const found = (await dave.get('/models/search?provider=tarpit')).body
    assert.equal(found.total_count, models.length, 'they are served all the same')
    assert.ok(performance.now() - startedAt < 12_000)
  },
)

test('of what a provider says it serves, only what can be true of a model is believed', async (t) => {
  const absurd = { context_length: 1e300, max_completion_tokens: -1, created: 1e12 }
  const data = [
    ...Array.from({ length: 50 }, () => ({ id: 'again', name: 'n'.repeat(100_000), ...absurd })),
    { id: 'x'.repeat(100_000) },
    { id: '' },
    { id: 7 },
    null,
  ]
  const liar = createServer((request, response) => {
    request.resume()
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ data }))
  }).listen(0, '127.0.0.1')
  t.after(() => {
    liar.closeAllConnections()
    liar.close()
  })
  await once(liar, 'listening')
  const base_url = `http://127.0.0.1:${(liar.address() as AddressInfo).port}/v1`
  const fay = await server.person('Fay')
  const made = (await fay.post(at, { slug: 'liar', shape: 'openai-chat', base_url, api_key: 'sk-0123456789' })).body
    .data
  assert.equal((await fay.post(`${at}/${made.id}/test`)).body.data.models_count, 1)
  const { items } = (await fay.get('/models/search?provider=liar')).body
  assert.deepEqual(
    items.map((model: Record<string, unknown>) => [model.slug, model.context_length, model.max_output_tokens]),
    [['liar/again', null, null]],
  )
  assert.ok(items[0].name.length <= 120)
  assert.match(items[0].created_at, /^2\d{3}-/)
})

test('a change that changes nothing is none, and every preset has an id and a slug', async () => {
  const gil = await server.person('Gil')
  const { data } = (await gil.post(at, { preset: 'openai', api_key: 'sk-0123456789', headers: { 'x-team': 'a' } })).body
  const told = async (): Promise<number> => {
    const { rows } = await server.app.engine.postgres.pool.query<{ n: bigint }>(
      `select count(distinct event) as n from (select id as event from outbox where resource_id = $1
        union all select event_id from changes where resource_id = $1) e`,
      [data.id],
    )
    return Number(rows[0]!.n)
  }
  assert.equal(await told(), 1)
  const again = { base_url: 'https://api.openai.com/v1/', models: [], weight: 1 }
  for (const same of [{}, { name: 'OpenAI', enabled: true }, again]) {
    const answer = await gil.patch(`${at}/${data.id}`, same)
    assert.deepEqual([answer.status, answer.body.data], [200, data])
  }
  assert.equal(await told(), 1)
  const off = (await gil.patch(`${at}/${data.id}`, { enabled: false })).body.data
  assert.ok(off.updated_at > data.updated_at)
  assert.equal(await told(), 2)
  const keyed = (await gil.patch(`${at}/${data.id}`, { api_key: 'sk-0123456789' })).body.data
  assert.ok(keyed.updated_at > off.updated_at, 'a key is never compared')
  const { data: presets } = (await gil.get(`${at}/presets?limit=100`)).body
  for (const preset of presets) assert.match(preset.id, /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/)
  assert.ok(presets.some(({ slug }: { slug: string }) => slug === 'openai'))
})

test('no key is to be found in the database, the log or an answer, even when its provider says it aloud', async () => {
  const canary = 'sk-canary-7Yq2vKf93LmXz'
  await using vendor = await startOpenAI({ key: canary })
  const { id } = await bring(bob, vendor, 'canary', { headers: { 'x-extra': `${canary}-header` } })
  const answers = [await bob.get(at), await bob.patch(`${at}/${id}`, { name: 'Canary' })]
  vendor.script({ on: 'GET /v1/models', status: 403, message: `Your key ${canary} is no good` })
  answers.push(await bob.post(`${at}/${id}/test`))
  assert.match(answers.at(-1)!.body.data.error, /is no good/)
  answers.push(await bob.post('/inference/text', hello('canary/gpt-4o')))
  vendor.script({ status: 400, message: `${canary} may not` }, { status: 500, message: `${canary} broke`, times: 2 })
  for (const path of ['/inference/text', '/inference/text']) answers.push(await bob.post(path, hello('canary/gpt-4o')))
  vendor.script({ status: 400, message: `${canary} may not` })
  answers.push(await (await bob.key()).post('/compat-a/v1/chat/completions', hello('canary/gpt-4o')))
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 200, 400, 502, 400],
  )
  for (const { text } of answers) assert.ok(!text.includes(canary), text)
  assert.ok(logged.length > 0 && !logged.join('').includes(canary))
  const { pool } = server.app.engine.postgres
  await server.app.engine.ledger.flush()
  const { rows: tables } = await pool.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
  )
  assert.ok(tables.some(({ name }) => name === 'public.provider_endpoints'))
  for (const { name } of tables) {
    const { rows } = await pool.query(`select 1 from ${name} t where t::text like $1 limit 1`, [`%${canary}%`])
    assert.equal(rows.length, 0, name)
  }
})

test('a rotated root key seals stored keys again, and then the old one is needed no more', async () => {
  await using vendor = await startOpenAI()
  await bring(bob, vendor, 'sealed')
  const { pool } = server.app.engine.postgres
  const sealed = async () =>
    (await pool.query(`select sealed_key from provider_endpoints where slug = 'sealed'`)).rows[0].sealed_key as string
  const before = await sealed()
  const newest = 'another root key of the tests, of 32 characters'
  const options = { database: server.database, environment: { UK_UPSTREAM_ALLOW: '127.0.0.1' } }
  const callAt = async (origin: string) =>
    (
      await fetch(`${origin}/v1/inference/text`, {
        method: 'POST',
        headers: { ...bob.headers, 'content-type': 'application/json' },
        body: JSON.stringify(hello('sealed/gpt-4o')),
      })
    ).status
  {
    await using rotating = await testServer({ ...options, rootKeys: [newest, testRootKey] })
    assert.equal(await callAt(rotating.origin), 200)
  }
  const after = await sealed()
  assert.notEqual(after.split(':')[1], before.split(':')[1])
  await using rotated = await testServer({ ...options, rootKeys: [newest] })
  assert.equal(await callAt(rotated.origin), 200)
})
