import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Caller, type Person, type TestServer, testServer } from '#test/server.ts'
import { startAnthropic } from '#test/vendors/anthropic/anthropic.ts'
import { startOpenAI } from '#test/vendors/openai/openai.ts'
import type { Vendor } from '#test/vendors/vendor.ts'
import { type House, at, bring, hello, slugs, openHouse } from '#test/endpoints/house.ts'

let house: House
let server: TestServer
let alice: Person
let bob: Person
let anthropic: Vendor

before(async () => {
  house = await openHouse()
  ;({ server, alice, bob, anthropic } = house)
})
after(() => house[Symbol.asyncDispose]())

test('a user’s own provider key is tested, its models are listed, and requests with it cost no credits', async () => {
  await using vendor = await startOpenAI({ key: 'sk-bob-0123456789' })
  const endpoint = await bring(bob, vendor, 'mine', { headers: { 'OpenAI-Project': 'proj_secret' } })
  assert.deepEqual(
    [endpoint.has_api_key, endpoint.api_key_last4, endpoint.header_names],
    [true, '6789', ['openai-project']],
  )
  assert.equal('api_key' in endpoint || 'headers' in endpoint, false)
  const testResult = (await bob.post(`${at}/${endpoint.id}/test`)).body.data
  assert.deepEqual([testResult.ok, testResult.models_count, testResult.error], [true, 4, null])
  assert.ok((await slugs(bob)).includes('mine/gpt-4o'))
  assert.ok(!(await slugs(bob)).includes('mine/text-embedding-3-small'))
  const answer = await bob.post('/inference/text', hello('mine/gpt-4o'))
  assert.equal(answer.body.data?.text, 'hello you', answer.text)
  assert.deepEqual([answer.body.data.provider, answer.body.data.cost_usd], ['mine', null])
  const lastRequest = vendor.requests.findLast(({ path }) => path === '/v1/chat/completions')!
  assert.deepEqual(
    [lastRequest.headers.authorization, lastRequest.headers['openai-project'], lastRequest.json().model],
    [`Bearer ${vendor.key}`, 'proj_secret', 'gpt-4o'],
  )
  const key = await bob.key()
  const direct = await key.post('/compat-a/v1/chat/completions', hello('mine/gpt-4o'))
  assert.equal(direct.body.choices?.[0].message.content, 'hello you', direct.text)
  // The bare name resolves too.
  assert.equal((await bob.post('/inference/text', hello('gpt-4o'))).body.data.model, 'mine/gpt-4o')
  const [row] = (await bob.get('/ai-gateway/providers')).body.data.filter(
    ({ slug }: { slug: string }) => slug === 'mine',
  )
  assert.deepEqual([row.billing, row.source, row.endpoint_id, row.models_count], ['byok', 'account', endpoint.id, 4])
  assert.deepEqual((await bob.delete(`${at}/${endpoint.id}`)).body, { deleted: true, id: endpoint.id })
  assert.equal((await bob.post('/inference/text', hello('mine/gpt-4o'))).status, 404)
})

test('a preset fills in omitted settings, and its models and prices come from the catalogue', async () => {
  await using vendor = await startOpenAI()
  const endpoint = (
    await bob.post(at, { preset: 'openai', base_url: `${vendor.origin}/v1/`, api_key: vendor.key, test: false })
  ).body.data
  assert.deepEqual(
    [endpoint.name, endpoint.slug, endpoint.shape, endpoint.base_url],
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
  // The catalogue doesn't know this model, so the provider is asked.
  const response = await bob.post('/inference/text', hello('openai/no-such-model'))
  assert.equal(response.status, 404)
  assert.equal(vendor.requests.filter(({ path }) => path === '/v1/models').length, 1)
  assert.equal((await bob.post(at, { preset: 'openai', api_key: 'x' })).body.error.code, 'already_exists')
  await bob.delete(`${at}/${endpoint.id}`)
})

test('a workspace’s endpoint serves its members and shadows no other model names', async () => {
  await using team = await startAnthropic({ key: 'sk-team-0123456789' })
  await using own = await startAnthropic({ key: 'sk-own-0123456789' })
  const shape = { shape: 'anthropic-messages', api_key: team.key, base_url: team.origin }
  const { id } = (await alice.post('/workspaces', { name: 'Claude' })).body.data
  const carol = await server.person('Carol')
  const { token } = (await alice.post(`/workspaces/${id}/invitations`, { email: carol.email })).body.data
  assert.equal((await carol.post('/invitations/accept', { token })).status, 200)
  const refusal = await carol.post(at, { name: 't', slug: 'team', ...shape, workspace_id: id })
  assert.equal(refusal.body.error.code, 'insufficient_role')
  const models = [{ id: 'claude-haiku-4-5', pricing: { input: 1, output: 5 } }]
  const endpoint = await bring(alice, team, 'anthropic', { ...shape, models, workspace_id: id, test: false })
  assert.equal((await bob.get(`${at}/${endpoint.id}`)).status, 404)
  assert.equal((await carol.get(`${at}/${endpoint.id}`)).body.data.workspace_id, id)
  assert.equal((await carol.delete(`${at}/${endpoint.id}`)).body.error.code, 'insufficient_role')
  // The instance has an `anthropic` too. Both names still resolve to it, and Carol has no credits for it.
  for (const model of ['anthropic/claude-haiku-4-5', 'claude-haiku-4-5'])
    assert.equal((await carol.post('/inference/text', hello(model))).body.error.code, 'insufficient_credits')
  assert.equal(team.requests.length, 0)
  // In the workspace, its own endpoint comes first.
  const inside = await carol.post('/inference/text', hello('anthropic/claude-haiku-4-5', { workspace_id: id }))
  assert.equal(inside.status, 200, inside.text)
  assert.deepEqual([team.requests.length, team.requests[0]!.headers['x-api-key']], [1, team.key])
  await alice.patch(`${at}/${endpoint.id}`, { slug: 'claude' })
  assert.equal((await carol.post('/inference/text', hello('claude/claude-haiku-4-5'))).status, 200)
  await bring(carol, own, 'claude', { shape: 'anthropic-messages', base_url: own.origin, models, test: false })
  assert.equal((await carol.post('/inference/text', hello('claude/claude-haiku-4-5'))).status, 200)
  assert.deepEqual([team.requests.length, own.requests.length], [2, 1])
})

test('only administrators create instance endpoints, which serve every user on credits', async () => {
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
  const completion = (await bob.post('/inference/text', hello('house/gpt-4o', { max_output_tokens: 50 }))).body.data
  assert.equal(completion.cost_usd, 0.00006)
  // Without a price, credits can't be charged, so only callers who pay nothing may use it.
  assert.equal((await bob.post('/inference/text', hello('house/gpt-4o-mini'))).body.error.code, 'unpriced_model')
  assert.equal((await alice.post('/inference/text', hello('house/gpt-4o-mini'))).body.data.cost_usd, null)
  const cappedKey = await alice.key({ spend_cap_usd: 5 })
  assert.equal((await cappedKey.post('/inference/text', hello('house/gpt-4o-mini'))).body.error.code, 'unpriced_model')
  await alice.delete(`${at}/${house.id}`)
})

test('an unpriced model works with the user’s own key, but not under a spend cap', async () => {
  await using vendor = await startOpenAI()
  await bring(bob, vendor, 'unpriced')
  assert.equal((await bob.post('/inference/text', hello('unpriced/gpt-4o'))).body.data.cost_usd, null)
  const cappedKey = await bob.key({ spend_cap_usd: 5 })
  assert.equal((await cappedKey.post('/inference/text', hello('unpriced/gpt-4o'))).body.error.code, 'unpriced_model')
})

test('the routing preview excludes candidates that the caller can’t pay for', async () => {
  await using vendor = await startOpenAI()
  await bring(bob, vendor, 'unknown-price')
  const preview = async (who: Caller, model: string) =>
    (await who.post('/ai-gateway/routing-preview', { model })).body.data as {
      candidates: { provider: string }[]
      excluded: { provider: string; reason: string }[]
    }
  assert.equal((await preview(bob, 'unknown-price/gpt-4o')).candidates.length, 1)
  const cappedKey = await bob.key({ spend_cap_usd: 5 })
  const unpricedPreview = await preview(cappedKey, 'unknown-price/gpt-4o')
  assert.deepEqual(unpricedPreview.candidates, [])
  assert.match(unpricedPreview.excluded[0]!.reason, /price is unknown/)
  assert.equal((await preview(cappedKey, 'sim/echo')).candidates.length, 1)
  const tight = await bob.key({ spend_cap_usd: 0.000001 })
  assert.equal((await tight.post('/inference/text', hello('sim/echo'))).body.error.code, 'spend_cap_reached')
  const poor = await preview(tight, 'sim/echo')
  assert.deepEqual(poor.candidates, [])
  assert.match(poor.excluded[0]!.reason, /than the balance or a cap allows/)
})

test('an instance key from the environment serves on credits, in its own shape', async () => {
  const { data } = (await alice.post('/inference/text', hello('claude-haiku-4-5', { max_output_tokens: 64 }))).body
  assert.deepEqual([data.model, data.provider, data.text], ['anthropic/claude-haiku-4-5', 'anthropic', 'hello you'])
  assert.ok(data.cost_usd > 0)
  assert.equal(anthropic.requests.findLast(({ method }) => method === 'POST')!.headers['x-api-key'], anthropic.key)
})

test('users can’t use private addresses unless the instance allows them; slugs and addresses are validated', async () => {
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
  assert.match(await remedies(user), /An administrator can allow it with UK_UPSTREAM_ALLOW=127\.0\.0\.1:9\.$/)
  assert.match(await remedies(admin), /add the endpoint with `instance: true`.*UK_UPSTREAM_ALLOW=127\.0\.0\.1:9\.$/)
  assert.equal((await make(admin, { base_url: 'http://127.0.0.1:9', instance: true })).status, 201)
  const dead = (await admin.get(at)).body.data[0]
  const testResult = (await admin.post(`${at}/${dead.id}/test`)).body.data
  assert.deepEqual(
    [testResult.ok, testResult.models_count, testResult.error],
    [false, null, 'No server is listening at this address.'],
  )
})

test('an update without changes has no effect, and every preset has an ID and a slug', async () => {
  const gil = await server.person('Gil')
  const { data } = (
    await gil.post(at, { preset: 'openai', api_key: 'sk-0123456789', headers: { 'x-team': 'a' }, test: false })
  ).body
  const countEvents = async (): Promise<number> => {
    const { rows } = await server.app.engine.postgres.pool.query<{ n: bigint }>(
      `select count(distinct event) as n from (select id as event from outbox where resource_id = $1
        union all select event_id from changes where resource_id = $1) e`,
      [data.id],
    )
    return Number(rows[0]!.n)
  }
  assert.equal(await countEvents(), 1)
  const again = { base_url: 'https://api.openai.com/v1/', models: [], weight: 1 }
  for (const same of [{}, { name: 'OpenAI', enabled: true }, again]) {
    const answer = await gil.patch(`${at}/${data.id}`, same)
    assert.deepEqual([answer.status, answer.body.data], [200, data])
  }
  assert.equal(await countEvents(), 1)
  const off = (await gil.patch(`${at}/${data.id}`, { enabled: false })).body.data
  assert.ok(off.updated_at > data.updated_at)
  assert.equal(await countEvents(), 2)
  const keyedEndpoint = (await gil.patch(`${at}/${data.id}`, { api_key: 'sk-0123456789' })).body.data
  assert.ok(keyedEndpoint.updated_at > off.updated_at, 'a key is never compared')
  const { data: presets } = (await gil.get(`${at}/presets?limit=100`)).body
  for (const preset of presets) assert.match(preset.id, /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/)
  assert.ok(presets.some(({ slug }: { slug: string }) => slug === 'openai'))
})
