import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Caller, type Person, type TestServer, testRootKey, testServer } from '#test/server.ts'
import { startOpenAI } from '#test/vendors/openai/openai.ts'
import type { Vendor } from '#test/vendors/vendor.ts'
import { type House, at, bring, hello, slugs, openHouse } from '#test/endpoints/house.ts'

let house: House
let server: TestServer
let alice: Person
let bob: Person
let logLines: string[]

before(async () => {
  house = await openHouse()
  ;({ server, alice, bob, logged: logLines } = house)
})
after(() => house[Symbol.asyncDispose]())

const isOpenAI = ({ slug }: { slug: string }): boolean => slug === 'openai'

/** Waits until an operation ends. */
async function waitForEnd(who: Caller, id: string) {
  for (;;) {
    const { body } = await who.get(`/operations/${id}/await?timeout_seconds=10`)
    if (!['queued', 'running'].includes(body.data.status)) return body
  }
}

test('a vendor that requires a key can’t be added without one, and the key can’t be removed', async () => {
  const nora = await server.person('Nora')
  const place = { base_url: 'https://vendor.example/v1' }
  for (const preset of ['openai', 'anthropic', 'google', 'azure', 'bedrock', 'vertex']) {
    const refusal = await nora.post(at, { preset, ...(['azure', 'bedrock', 'vertex'].includes(preset) && place) })
    const { code, param, message } = refusal.body.error
    assert.deepEqual([refusal.status, code, param], [400, 'missing_parameter', 'api_key'])
    assert.match(message, new RegExp(`^The preset \`${preset}\` requires a key. Send \`api_key\`, or `))
  }
  // Another vendor's header isn't a key here.
  const other = await nora.post(at, { preset: 'openai', headers: { 'x-api-key': 'sk-0123456789' } })
  assert.deepEqual([other.status, other.body.error.param], [400, 'api_key'])
  assert.match(other.body.error.message, /`authorization` in `headers`/)
  assert.deepEqual((await nora.get('/ai-gateway/providers?limit=100')).body.data.filter(isOpenAI), [])

  const byHeader = (await nora.post(at, { preset: 'openai', headers: { Authorization: 'Bearer sk-0' } })).body.data
  assert.deepEqual([byHeader.has_api_key, byHeader.header_names], [false, ['authorization']])
  const bare = await nora.patch(`${at}/${byHeader.id}`, { headers: {} })
  assert.deepEqual([bare.status, bare.body.error.param], [400, 'api_key'])
  assert.equal((await nora.patch(`${at}/${byHeader.id}`, { headers: {}, api_key: 'sk-0123456789' })).status, 200)
  const removal = await nora.patch(`${at}/${byHeader.id}`, { api_key: null })
  assert.deepEqual([removal.status, removal.body.error.param], [400, 'api_key'])
  assert.equal((await nora.get(`${at}/${byHeader.id}`)).body.data.has_api_key, true)

  const proxyEndpoint = { preset: 'openai', slug: 'moved', base_url: 'https://moved.example/v1' }
  const { id } = (await nora.post(at, proxyEndpoint)).body.data
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
  // A user's own proxy may need no key, and uses the catalogue of its vendor.
  const proxy = { preset: 'openai', slug: 'proxy', base_url: 'https://proxy.example/v1' }
  for (const keyless of [...local, own, proxy]) assert.equal((await nora.post(at, keyless)).status, 201)
})

test('a stored endpoint without its required key serves nothing and shows why until a key is added', async () => {
  const olga = await server.person('Olga')
  const endpoint = (await olga.post(at, { preset: 'openai', api_key: 'sk-0123456789', test: false })).body.data
  assert.deepEqual([endpoint.status, endpoint.status_reason], ['untested', null])
  const azureEndpoint = { preset: 'azure', base_url: 'https://olga.example/openai/v1', api_key: 'k', test: false }
  const azure = (await olga.post(at, azureEndpoint)).body.data
  // As older versions stored them.
  const { pool } = server.app.engine.postgres
  await pool.query('update provider_endpoints set sealed_key = null, api_key_last4 = null where id = any($1)', [
    [endpoint.id, azure.id],
  ])
  for (const { id, name } of [endpoint, azure]) {
    const renameResponse = await olga.patch(`${at}/${id}`, { name: `${name}, old` })
    const { status, status_reason, enabled } = renameResponse.body.data
    assert.deepEqual([renameResponse.status, status, enabled], [200, 'needs_key', true])
    assert.match(status_reason, /^The preset `(openai|azure)` requires a key. Send `api_key`, or /)
    const { ok, error, models_count } = (await olga.post(`${at}/${id}/test`)).body.data
    assert.deepEqual([ok, error, models_count], [false, status_reason, null])
  }
  const statuses = (await olga.get(at)).body.data.map(({ status }: { status: string }) => status)
  assert.deepEqual(statuses, ['needs_key', 'needs_key'])
  assert.deepEqual((await olga.get('/ai-gateway/providers?limit=100')).body.data.filter(isOpenAI), [])
  assert.deepEqual(
    (await slugs(olga)).filter((slug) => slug.startsWith('openai/')),
    [],
  )
  assert.equal((await olga.post('/inference/text', hello('openai/gpt-4o'))).status, 404)
  assert.equal((await olga.post('/inference/text', hello('azure/mine'))).status, 404)

  const off = await olga.patch(`${at}/${endpoint.id}`, { enabled: false })
  assert.deepEqual([off.status, off.body.data.status], [200, 'disabled'])
  const keyedEndpoint = (
    await olga.patch(`${at}/${endpoint.id}`, { enabled: true, api_key: 'sk-0123456789', test: false })
  ).body.data
  assert.deepEqual([keyedEndpoint.status, keyedEndpoint.status_reason], ['untested', null])
  assert.ok((await slugs(olga)).some((slug) => slug.startsWith('openai/')))
})

test('an endpoint whose key can’t be decrypted serves nothing and shows why until the key is entered again', async () => {
  const pia = await server.person('Pia')
  const endpoint = (
    await pia.post(at, { preset: 'openai', api_key: 'sk-0123456789', headers: { 'x-team': 'a' }, test: false })
  ).body.data
  const { pool } = server.app.engine.postgres
  const sealStatement = 'update provider_endpoints set sealed_key = $2, sealed_headers = $2 where id = $1'
  await pool.query(sealStatement, [endpoint.id, 'xx'])
  const again = async (body: object) => (await pia.patch(`${at}/${endpoint.id}`, { ...body, test: false })).body.data
  const renamedEndpoint = await again({ name: 'Old' })
  for (const { status, status_reason } of [renamedEndpoint, ...(await pia.get(at)).body.data])
    assert.deepEqual(
      [status, status_reason],
      ['unreadable_key', 'The key can’t be decrypted with this instance’s root keys. Enter it again.'],
    )
  const testResult = await pia.post(`${at}/${endpoint.id}/test`)
  assert.deepEqual(
    [testResult.status, testResult.body.data?.ok, testResult.body.data?.error],
    [200, false, renamedEndpoint.status_reason],
  )
  assert.deepEqual((await pia.get('/ai-gateway/providers?limit=100')).body.data.filter(isOpenAI), [])

  const keyedEndpoint = await again({ api_key: 'sk-0123456789' })
  assert.deepEqual(
    [keyedEndpoint.status, keyedEndpoint.status_reason.startsWith('The headers can’t be decrypted')],
    ['unreadable_key', true],
  )
  const restoredEndpoint = await again({ headers: {} })
  assert.deepEqual([restoredEndpoint.status, restoredEndpoint.status_reason], ['untested', null])
  assert.ok((await slugs(pia)).some((slug) => slug.startsWith('openai/')))
})

test('a user’s key is never sent to another user’s endpoint or to another address', async () => {
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
  const moveResponse = await alice.patch(`${at}/${mine.id}`, { base_url: `${his.origin}/v1` })
  assert.deepEqual([moveResponse.status, moveResponse.body.error.param], [400, 'api_key'])
  const samePlace = await alice.patch(`${at}/${mine.id}`, { base_url: `${hers.origin}/v1/`, name: 'Renamed' })
  assert.deepEqual(
    [samePlace.status, samePlace.body.data.name, samePlace.body.data.has_api_key],
    [200, 'Renamed', true],
  )
  const away = await alice.patch(`${at}/${mine.id}`, { base_url: `${his.origin}/v1`, api_key: 'sk-another-0123456789' })
  assert.equal(away.status, 200)
  const wrongKey = (await alice.post(`${at}/${mine.id}/test`)).body.data
  assert.equal(wrongKey.ok, false)
  assert.match(wrongKey.error, /^The provider returned status 401/)
  assert.ok(!wrongKey.error.includes('sk-another-0123456789'))
})

test('a key bound to one workspace can’t use its owner’s other endpoints', async () => {
  await using vendor = await startOpenAI()
  await bring(alice, vendor, 'private')
  const team = (await alice.post('/workspaces', { name: 'Team' })).body.data
  const key = await alice.key({ workspace_id: team.id })
  assert.ok(!(await slugs(key)).includes('private/gpt-4o'))
  assert.equal((await key.post('/inference/text', hello('private/gpt-4o'))).status, 404)
  assert.deepEqual((await key.get(at)).body.data, [])
  const endpoint = await bring(key, vendor, 'shared')
  assert.equal(endpoint.workspace_id, team.id)
  assert.equal((await key.post('/inference/text', hello('shared/gpt-4o'))).status, 200)
  assert.equal(
    (await key.post(at, { slug: 'x', shape: 'openai-chat', base_url: 'https://example.com/v1', instance: true }))
      .status,
    403,
  )
})

test('background work started with such a key can’t use them either', async () => {
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
  const { data } = await waitForEnd(key, operation.id)
  assert.equal(data.status, 'succeeded', JSON.stringify(data.error))
  const countRequests = ({ requests }: Vendor) => requests.filter(({ path }) => path === '/v1/chat/completions').length
  assert.deepEqual([countRequests(hers), countRequests(everybodys)], [0, 1])
  const chat = (await key.post('/chats', { title: 'Behind', model: 'twice/gpt-4o' })).body.data
  assert.equal((await key.post(`/chats/${chat.id}/messages`, { content: 'hello' })).status, 200)
  assert.deepEqual([countRequests(hers), countRequests(everybodys)], [0, 2])
  // Unrestricted, she uses her own endpoint first, in that workspace too.
  assert.equal((await erin.post('/inference/text', hello('twice/gpt-4o', { workspace_id: team.id }))).status, 200)
  assert.deepEqual([countRequests(hers), countRequests(everybodys)], [1, 2])
  await alice.delete(`${at}/${instance.id}`)
  await erin.delete(`${at}/${own.id}`)
})

test('a provider’s message about a key is shown only to the key’s owner', async () => {
  await using vendor = await startOpenAI()
  const { id } = await bring(alice, vendor, 'house', { api_key: 'sk-wrong', instance: true })
  const hers = await alice.post(`${at}/${id}/test`)
  assert.match(hers.body.data.error, /401/)
  const his = await (await bob.key()).post('/compat-a/v1/chat/completions', hello('house/gpt-4o'))
  assert.equal(his.status, 502, his.text)
  assert.match(his.text, /`house` doesn’t list its models\. Its owner can test it/)
  assert.doesNotMatch(his.text, /401|Incorrect|sk-/)
  assert.equal((await alice.delete(`${at}/${id}`)).status, 200)
})

test('keys never appear in the database, the log or a response, even if the provider echoes them', async () => {
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
  assert.ok(logLines.length > 0 && !logLines.join('').includes(canary))
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

test('rotating the root key reseals stored keys, after which the old root key can be removed', async () => {
  await using vendor = await startOpenAI()
  await bring(bob, vendor, 'sealed')
  const { pool } = server.app.engine.postgres
  const readSealed = async () =>
    (await pool.query(`select sealed_key from provider_endpoints where slug = 'sealed'`)).rows[0].sealed_key as string
  const before = await readSealed()
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
  const after = await readSealed()
  assert.notEqual(after.split(':')[1], before.split(':')[1])
  await using rotatedServer = await testServer({ ...options, rootKeys: [newest] })
  assert.equal(await callAt(rotatedServer.origin), 200)
})
