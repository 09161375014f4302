import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type House, at, bring, hello, openHouse, slugs } from '#test/endpoints/house.ts'
import type { UpstreamFault } from '#gateway/model/canonical-request.ts'
import type { ProviderEndpoint } from '#gateway/model/offer.ts'
import { type Caller, type Person, type TestServer, caller } from '#test/server.ts'
import { until } from '#test/until.ts'
import { startOpenAI } from '#test/vendors/openai/openai.ts'
import { Connections } from './connections.ts'

let house: House
let server: TestServer
let alice: Person
let bob: Person
before(async () => {
  house = await openHouse()
  ;({ server, alice, bob } = house)
})
after(() => house[Symbol.asyncDispose]())

const one = async (who: Caller, id: string) => (await who.get(`${at}/${id}`)).body.data
const provider = async (who: Caller, slug: string) =>
  (await who.get('/ai-gateway/providers?limit=100')).body.data.find((row: { slug: string }) => row.slug === slug)
/** Disables automatic tests while the test case looks at it. */
const rest = (id: string) =>
  server.app.engine.postgres.pool.query(
    'update provider_connections set next_test_at = null where id = (select connection from provider_endpoints where id = $1)',
    [id],
  )
const isFailing = ({ status }: any) => status === 'failing'
const isWorking = ({ status }: any) => status === 'working'

test('an invalid key is reported at once and none of its models are offered until a valid key replaces it', async () => {
  await using vendor = await startOpenAI({ key: 'sk-bob-0123456789' })
  const { id } = await bring(bob, vendor, 'dead', { api_key: 'sk-dead-0123456789' })
  // On a slow machine, the response may arrive before the test result.
  const endpoint = await until(() => one(bob, id), isFailing)
  assert.deepEqual([endpoint.status, endpoint.status_reason], ['failing', 'It rejected its API key.'])
  assert.match(endpoint.last_error, /^The provider returned status 401/)
  assert.ok(!JSON.stringify(endpoint).includes('sk-dead'))
  assert.ok(endpoint.last_error_at !== null && endpoint.last_success_at === null)
  assert.deepEqual(await slugs(bob).then((all) => all.filter((slug) => slug.startsWith('dead/'))), [])
  const providerView = await provider(bob, 'dead')
  assert.deepEqual(
    [providerView.status, providerView.serving, providerView.last_error],
    ['failing', false, endpoint.last_error],
  )

  assert.equal((await bob.patch(`${at}/${endpoint.id}`, { api_key: vendor.key })).status, 200)
  const good = await until(() => one(bob, id), isWorking)
  assert.deepEqual([good.status, good.status_reason, good.models_count], ['working', null, 4])
  assert.ok(good.latency_ms >= 0 && good.last_success_at !== null)
  assert.equal(good.last_error, null, 'it was the other key’s')
  assert.ok((await slugs(bob)).includes('dead/gpt-4o'))
  const testResult = (await bob.post(`${at}/${endpoint.id}/test`)).body.data
  const counts = [testResult, await one(bob, endpoint.id), await provider(bob, 'dead')].map(
    ({ models_count }) => models_count,
  )
  assert.deepEqual(counts, [4, 4, 4], 'one count everywhere')
  // A new name or slug keeps the connection, so no test runs.
  const before = vendor.requests.length
  assert.equal((await bob.patch(`${at}/${endpoint.id}`, { name: 'Renamed', priority: 3 })).body.data.status, 'working')
  assert.equal(vendor.requests.length, before)
})

test('without a test the first request determines the status, and enabling an endpoint tests it', async () => {
  await using vendor = await startOpenAI()
  const models = [{ id: 'gpt-4o' }]
  const endpoint = await bring(bob, vendor, 'quiet', { models, test: false })
  assert.deepEqual([endpoint.status, endpoint.last_success_at, vendor.requests.length], ['untested', null, 0])
  assert.ok((await slugs(bob)).includes('quiet/gpt-4o'))
  assert.equal((await bob.post('/inference/text', hello('quiet/gpt-4o'))).status, 200)
  const workingEndpoint = await until(() => one(bob, endpoint.id), isWorking)
  assert.deepEqual([workingEndpoint.models_count, workingEndpoint.last_error], [1, null])
  const off = await bring(bob, vendor, 'off', { api_key: 'sk-wrong-0123456789', models, enabled: false })
  assert.deepEqual([off.status, off.last_error], ['disabled', null])
  assert.equal((await bob.patch(`${at}/${off.id}`, { enabled: true })).status, 200)
  await until(() => one(bob, off.id), isFailing)
})

test('a revoked key fails in every process after one request, and the next success clears it in all of them', async () => {
  await using vendor = await startOpenAI()
  await using twin = await server.twin()
  const beyond = caller(twin.origin, bob.headers)
  const endpoint = await bring(bob, vendor, 'fading', { models: [{ id: 'gpt-4o' }] })
  assert.ok((await slugs(beyond)).includes('fading/gpt-4o'))
  vendor.script({ refuses: 'key' })
  assert.equal((await bob.post('/inference/text', hello('fading/gpt-4o'))).status, 502)
  await until(() => one(bob, endpoint.id), isFailing)
  await rest(endpoint.id)
  for (const who of [bob, beyond]) {
    const failing = await until(() => one(who, endpoint.id), isFailing)
    assert.equal(failing.status_reason, 'It rejected its API key.')
    await until(
      () => slugs(who),
      (all) => !all.includes('fading/gpt-4o'),
    )
    const model = (await who.get('/models/fading/gpt-4o')).body.data
    assert.deepEqual([model.status, model.status_reason], ['failing', 'It rejected its API key.'])
    assert.ok((await slugs(who, '&status=failing')).includes('fading/gpt-4o'))
    const preview = (await who.post('/ai-gateway/routing-preview', { model: 'fading/gpt-4o' })).body.data
    assert.match(preview.candidates[0].reason, /^it’s failing, so it’s tried last: It rejected its API key\.$/)
  }
  // Without an alternative, it's still tried.
  assert.equal((await beyond.post('/inference/text', hello('fading/gpt-4o'))).status, 200)
  for (const who of [bob, beyond]) {
    await until(() => one(who, endpoint.id), isWorking)
    await until(
      () => slugs(who),
      (all) => all.includes('fading/gpt-4o'),
    )
  }
})

test('the owner is notified once when a provider fails and once when it works again, but not about one unaffordable request', async () => {
  await using vendor = await startOpenAI()
  const endpoint = await bring(bob, vendor, 'paid', { models: [{ id: 'gpt-4o' }] })
  await until(() => one(bob, endpoint.id), isWorking)
  const message =
    'This request requires more credits, or fewer max_tokens. You requested 9000, but can only afford 3242'
  vendor.script({ status: 402, message })
  assert.equal((await bob.post('/inference/text', hello('paid/gpt-4o'))).status, 502)
  assert.equal((await bob.post('/inference/text', hello('paid/gpt-4o'))).status, 200)
  assert.equal((await one(bob, endpoint.id)).status, 'working')

  vendor.script({ refuses: 'key' })
  await bob.post('/inference/text', hello('paid/gpt-4o'))
  const notifications = async () =>
    (await bob.get('/notifications?limit=100')).body.data
      .filter(({ resource }: any) => resource?.id === endpoint.id)
      .map(({ type, title }: any) => `${type}: ${title}`)
  const fails = 'provider.failing: The provider paid is failing'
  await until(notifications, (all) => all.includes(fails))
  assert.equal((await bob.post('/inference/text', hello('paid/gpt-4o'))).status, 200)
  const works = 'provider.working: The provider paid works again'
  await until(notifications, (all) => all.includes(works))
  assert.deepEqual((await notifications()).toSorted(), [fails, works])
})

test('users who left a workspace get no notifications about the providers they added to it', async () => {
  await using vendor = await startOpenAI()
  const nina = await server.person('Nina')
  const team = (await bob.post('/workspaces', { name: 'Team' })).body.data.id
  const invitation = await bob.post(`/workspaces/${team}/invitations`, { email: nina.email, role: 'admin' })
  await nina.post('/invitations/accept', { token: invitation.body.data.token })
  const endpoint = await bring(nina, vendor, 'teams', { workspace_id: team, models: [{ id: 'gpt-4o' }] })
  await until(() => one(bob, endpoint.id), isWorking)
  assert.equal((await bob.delete(`/workspaces/${team}/members/${nina.id}`)).status, 200)
  const notifications = async () =>
    (
      await server.app.engine.postgres.pool.query(
        `select channel from changes where type = 'provider_endpoint.status_changed' and resource_id = $1
          and data ->> 'status' = 'failing'`,
        [endpoint.id],
      )
    ).rows.map(({ channel }) => channel)
  vendor.script({ refuses: 'key' })
  await bob.post('/inference/text', hello('teams/gpt-4o', { workspace_id: team }))
  assert.deepEqual(await until(notifications, (all) => all.length > 0), [`workspace:${team}`])
})

test('the state of an endpoint is discarded when its address changes or the endpoint is deleted', async () => {
  await using vendor = await startOpenAI()
  const endpoint = await bring(bob, vendor, 'moving')
  const { pool } = server.app.engine.postgres
  const connection = async () =>
    (await pool.query('select connection as id from provider_endpoints where id = $1', [endpoint.id])).rows[0]?.id
  const hasState = async (id: string) =>
    (await pool.query('select from provider_connections where id = $1', [id])).rowCount === 1
  const first = await connection()
  assert.equal((await bob.patch(`${at}/${endpoint.id}`, { api_key: vendor.key })).status, 200)
  const second = await connection()
  await until(() => one(bob, endpoint.id), isWorking)
  assert.deepEqual([await hasState(first), await hasState(second)], [false, true])
  assert.equal((await bob.delete(`${at}/${endpoint.id}`)).status, 200)
  assert.equal(await hasState(second), false)
})

test('a process cut off from a provider marks it as failing only if no other process can use it', async () => {
  await using vendor = await startOpenAI()
  const { id } = await bring(bob, vendor, 'half', { test: false })
  const { postgres, bus, log } = server.app.engine
  const { rows } = await postgres.pool.query('select connection from provider_endpoints where id = $1', [id])
  const { connection } = rows[0]
  const process = () => new Connections({ postgres, bus, log, changed: () => {} })
  await using cutOff = process()
  await using otherProcess = process()
  await cutOff.learn([connection])
  await otherProcess.learn([connection])
  // Only the connection is read.
  const endpoint = { connection } as unknown as ProviderEndpoint
  const fault: UpstreamFault = { kind: 'unreachable', message: 'connect ENETUNREACH' }
  otherProcess.called(endpoint, { ok: true, firstByteMs: 1 }, 'gpt-4o')
  await until(
    async () => cutOff.stateOf(endpoint)?.status,
    (status) => status === 'working',
  )
  for (let i = 0; i < 5; i++) cutOff.called(endpoint, { ok: false, fault }, 'gpt-4o')
  await until(
    async () => otherProcess.stateOf(endpoint)?.lastErrorKind,
    (kind) => kind === 'unreachable',
  )
  assert.equal((await one(bob, id)).status, 'working')
  for (let i = 0; i < 3; i++) otherProcess.called(endpoint, { ok: false, fault }, 'gpt-4o')
  await until(() => one(bob, id), isFailing)
})

test('a failing endpoint is tried last, regardless of the configured order', async () => {
  await using dead = await startOpenAI({ key: 'sk-first-0123456789' })
  await using live = await startOpenAI({ key: 'sk-second-0123456789' })
  const models = [{ id: 'shared-model' }]
  const wrong = { models, priority: 0, api_key: 'sk-wrong-0123456789' }
  const first = await bring(bob, dead, 'first', wrong)
  await until(() => one(bob, first.id), isFailing)
  await bring(bob, live, 'second', { models, priority: 9, test: false })
  const { candidates } = (await bob.post('/ai-gateway/routing-preview', { model: 'shared-model' })).body.data
  assert.deepEqual(
    candidates.map((row: { provider: string }) => row.provider),
    ['second', 'first'],
  )
})

test('failing endpoints are retested automatically, even after the testing process died', async () => {
  await using vendor = await startOpenAI()
  const endpoint = await bring(bob, vendor, 'again', { api_key: 'sk-wrong-0123456789' })
  await until(() => one(bob, endpoint.id), isFailing)
  const { pool } = server.app.engine.postgres
  const due =
    'update provider_connections set next_test_at = now() where id = (select connection from provider_endpoints where id = $1) returning status'
  const { rows } = await pool.query(
    'select next_test_at > now() as later from provider_connections where id = (select connection from provider_endpoints where id = $1)',
    [endpoint.id],
  )
  assert.deepEqual(rows, [{ later: true }])
  const before = vendor.requests.length
  await pool.query(due, [endpoint.id])
  await until(
    async () => vendor.requests.length,
    (count) => count > before,
  )
  assert.equal((await one(bob, endpoint.id)).status, 'failing')
  // As left by a process killed between the insert and the test.
  const orphanedEndpoint = await bring(bob, vendor, 'left', { test: false })
  assert.deepEqual((await pool.query(due, [orphanedEndpoint.id])).rows, [{ status: 'untested' }])
  await until(() => one(bob, orphanedEndpoint.id), isWorking)
})

test('an endpoint created by a server of an older version is announced like any other', async () => {
  await using vendor = await startOpenAI()
  const endpoint = await bring(bob, vendor, 'newer', { test: false, api_key: null, models: [{ id: 'gpt-4o' }] })
  const columns =
    'account_id, workspace_id, owner_id, name, shape, base_url, models, enabled, priority, weight, created_by'
  const id = endpoint.id.replace(/.$/, endpoint.id.endsWith('0') ? '1' : '0')
  await server.app.engine.postgres.pool.query(
    `insert into provider_endpoints (id, slug, ${columns}) select $1, 'older', ${columns} from provider_endpoints where id = $2`,
    [id, endpoint.id],
  )
  assert.equal((await one(bob, id)).status, 'untested')
  assert.equal((await bob.post(`${at}/${id}/test`)).body.data.ok, false)
  assert.deepEqual([(await one(bob, id)).status, (await one(bob, endpoint.id)).status], ['failing', 'untested'])
})

test('other users and viewers can’t test endpoints, and only administrators of an endpoint see provider messages', async () => {
  await using vendor = await startOpenAI({ key: 'sk-team-0123456789' })
  const { id } = (await alice.post('/workspaces', { name: 'Tested' })).body.data
  const carol = await server.person('Carol')
  const { token } = (await alice.post(`/workspaces/${id}/invitations`, { email: carol.email, role: 'viewer' })).body
    .data
  assert.equal((await carol.post('/invitations/accept', { token })).status, 200)
  vendor.script({
    status: 403,
    message: 'The account of acme-corp is closed, key sk-team-0123456789',
    on: 'GET /v1/models',
    times: 100,
  })
  const newEndpoint = await bring(alice, vendor, 'team', { workspace_id: id })
  const endpoint = await until(() => one(alice, newEndpoint.id), isFailing)
  await rest(endpoint.id)
  assert.match(endpoint.last_error, /acme-corp/)
  assert.ok(!endpoint.last_error.includes('sk-team'), endpoint.last_error)
  const viewerEndpoint = await one(carol, endpoint.id)
  assert.deepEqual([viewerEndpoint.status, viewerEndpoint.last_error], ['failing', 'It rejected its API key.'])
  const listText = (await carol.get(`${at}?workspace_id=${id}`)).text
  assert.ok(!listText.includes('acme-corp') && !(await carol.get('/ai-gateway/providers')).text.includes('acme-corp'))
  assert.equal((await carol.post(`${at}/${endpoint.id}/test`)).body.error.code, 'insufficient_role')
  const count = vendor.requests.length
  const strange = await server.person('Mallory')
  assert.equal((await strange.post(`${at}/${endpoint.id}/test`)).status, 404)
  assert.equal((await (await strange.key()).post(`${at}/${endpoint.id}/test`)).status, 404)
  assert.equal(vendor.requests.length, count)
})

test('an endpoint that flaps on every request causes only a few writes', async () => {
  await using vendor = await startOpenAI()
  const endpoint = await bring(bob, vendor, 'flapping', { models: [{ id: 'gpt-4o' }] })
  const { pool } = server.app.engine.postgres
  const tables = ['provider_connections', 'refused_models']
  await pool.query(`create function count_write() returns trigger language plpgsql as
    $$ begin perform nextval('writes_of_' || tg_table_name); return null; end $$`)
  for (const table of tables)
    await pool.query(`create sequence writes_of_${table};
      create trigger counted after insert or update on ${table} for each statement execute function count_write()`)
  const startedAt = performance.now()
  for (let i = 0; i < 40; i++) {
    if (i % 2 === 0) vendor.script({ refuses: 'key' })
    await bob.post('/inference/text', hello('flapping/gpt-4o'))
  }
  await until(() => one(bob, endpoint.id), isWorking)
  const seconds = (performance.now() - startedAt) / 1_000
  for (const table of tables) {
    const { rows } = await pool.query(`select last_value::int as writes from writes_of_${table}`)
    await pool.query(`drop trigger counted on ${table}`)
    // Collected states are written once a second. Tests of a failing endpoint write immediately.
    assert.ok(rows[0].writes <= 3 + seconds * 2, `${table}: ${rows[0].writes} writes in ${seconds} s`)
  }
})

test('the newest 200 rejected models of an endpoint are kept', async () => {
  await using vendor = await startOpenAI()
  const models = Array.from({ length: 230 }, (_, n) => ({ id: `m-${n}` }))
  const endpoint = await bring(bob, vendor, 'many', { models, test: false })
  const { pool } = server.app.engine.postgres
  const storedModels = async () => {
    const { rows } = await pool.query(
      'select model from refused_models where connection = (select connection from provider_endpoints where id = $1::bpchar)',
      [endpoint.id],
    )
    return rows.map(({ model }) => model as string)
  }
  for (const { id } of models) {
    vendor.script({ refuses: 'key' })
    await bob.post('/inference/text', hello(`many/${id}`))
  }
  const names = await until(storedModels, (all) => all.includes('m-229') && !all.includes('m-0'))
  assert.ok(names.length <= 200, String(names.length))
})

test('providers from the environment are tested at startup, with their status shown', async () => {
  const providerView = await until(() => provider(bob, 'anthropic'), isWorking)
  assert.deepEqual([providerView.source, providerView.last_error], ['environment', null])
  assert.equal(house.anthropic.requests[0]!.path, '/v1/models')
  const engine = await until(
    () => provider(bob, 'ollama'),
    (row) => row?.status === 'working',
  )
  assert.equal(engine.source, 'discovered')
})
