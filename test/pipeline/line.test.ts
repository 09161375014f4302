import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { testServer } from '#test/server.ts'
import { until } from '#test/until.ts'

test('a key beats a cookie, either header works, and two different keys are refused', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const key = await bob.key()
  const both = await alice.get('/me', { authorization: `Bearer ${key.key}` })
  assert.equal(both.body.data.email, bob.email)
  assert.equal((await server.stranger.get('/me', { 'x-api-key': key.key })).status, 200)
  const other = await bob.key()
  const two = await server.stranger.get('/me', { authorization: `Bearer ${key.key}`, 'x-api-key': other.key })
  assert.deepEqual([two.status, two.body.error.code], [401, 'invalid_api_key'])
})

test('refusals follow the contract’s order', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const bare = await alice.key({ scopes: [] })
  const odd = { 'x-service-version': '1999-01-01' }
  assert.equal((await server.stranger.get('/nowhere', odd)).status, 404)
  const method = await server.stranger.request('PUT', '/settings', undefined, odd)
  assert.deepEqual([method.status, method.headers.get('allow')], [405, 'GET, HEAD, PATCH'])
  assert.equal((await server.stranger.patch('/settings', {}, odd)).status, 401)
  assert.equal((await bare.patch('/settings', { nonsense: 1 }, odd)).body.error.code, 'unsupported_version')
  assert.equal((await bare.patch('/settings', { nonsense: 1 })).body.error.code, 'missing_scope')
})

test('reads over the quota get 429 with the time to wait, and earlier ones report what remains', async () => {
  await using server = await testServer({ environment: { UK_LIMIT_READS: '3' } })
  const alice = await server.person('Alice')
  const key = await alice.key()
  const leftovers: (string | null)[] = []
  for (let i = 0; i < 3; i++) leftovers.push((await key.get('/me')).headers.get('ratelimit'))
  assert.match(leftovers[0]!, /^"reads";r=2;t=\d+$/)
  const refusal = await key.get('/me')
  assert.deepEqual([refusal.status, refusal.body.error.type], [429, 'rate_limited'])
  assert.ok(Number(refusal.headers.get('retry-after')) >= 1)
  assert.equal(refusal.headers.get('ratelimit-policy'), '"reads";q=3;w=60')
})

test('bodies that are too large, too deep or not JSON get specific errors', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const large = await alice.patch('/settings', { locale: 'x'.repeat(1 << 20) })
  assert.deepEqual([large.status, large.body.error.type], [413, 'payload_too_large'])
  const deep = await alice.patch('/settings', '{"a":'.repeat(80) + '1' + '}'.repeat(80))
  assert.deepEqual([deep.status, deep.body.error.code], [400, 'malformed_json'])
  const list = await alice.patch('/settings', '[]')
  assert.equal(list.status, 400)
  const wrong = await alice.patch('/settings', { theme: 'purple' })
  assert.deepEqual([wrong.body.error.code, wrong.body.error.param], ['invalid_parameter', 'theme'])
})

test('a matching entity tag gets 304, and an outdated one gets 412', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const first = await alice.get('/settings')
  const etag = first.headers.get('etag')!
  const again = await alice.get('/settings', { 'if-none-match': etag })
  assert.deepEqual([again.status, again.text], [304, ''])
  await alice.patch('/settings', { theme: 'dark' })
  assert.equal((await alice.get('/settings', { 'if-none-match': etag })).status, 200)
})

test('pages continue after inserts and deletes, and a cursor is bound to its list', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  for (let i = 0; i < 5; i++) await alice.key({ name: `key ${i}` })
  const first = await alice.get('/api-keys?limit=2')
  assert.equal(first.body.pagination.has_more, true)
  await alice.key({ name: 'new' })
  await alice.delete(`/api-keys/${first.body.data[1].id}`)
  const rows = [...first.body.data]
  for (let cursor = first.body.pagination.next_cursor; cursor;) {
    const page = await alice.get(`/api-keys?limit=2&cursor=${cursor}`)
    rows.push(...page.body.data)
    cursor = page.body.pagination.next_cursor
  }
  assert.deepEqual(
    rows.map((row) => row.name),
    ['key 4', 'key 3', 'key 2', 'key 1', 'key 0'],
  )
  const reply = await alice.get(`/api-keys?status=active&cursor=${first.body.pagination.next_cursor}`)
  assert.equal(reply.body.error.code, 'invalid_cursor')
  for (const limit of ['0', '101', 'x'])
    assert.equal((await alice.get(`/api-keys?limit=${limit}`)).body.error.param, 'limit')
  assert.equal((await alice.get('/auth/sessions?cursor=garbage')).body.error.code, 'invalid_cursor')
})

test('requests and responses of an older contract version are converted', async () => {
  await using server = await testServer({
    versions: [
      { date: '2026-11-21' },
      {
        date: '2026-01-01',
        lift: {
          'settings.update': ({ colour, ...rest }) => ({ ...rest, ...(colour !== undefined && { theme: colour }) }),
        },
        lower: {
          'settings.update': (body) => {
            const { data } = body as { data: { theme: string } }
            return { data: { ...data, colour: data.theme } }
          },
        },
      },
    ],
  })
  const alice = await server.person('Alice')
  const pinnedKey = await alice.key({ version: '2026-01-01' })
  const old = await pinnedKey.patch('/settings', { colour: 'dark' })
  assert.deepEqual(
    [old.status, old.body.data.colour, old.headers.get('x-service-version')],
    [200, 'dark', '2026-01-01'],
  )
  const newer = await pinnedKey.patch('/settings', { theme: 'light' }, { 'x-service-version': '2026-11-21' })
  assert.deepEqual([newer.body.data.theme, newer.body.data.colour], ['light', undefined])
  assert.equal(
    (await pinnedKey.patch('/settings', { colour: 'dark' }, { 'x-service-version': '2026-11-21' })).status,
    400,
  )
  for (const [param, answer] of [
    ['X-Service-Version', await pinnedKey.get('/me', { 'x-service-version': '2025-01-01' })],
    ['version', await alice.post('/api-keys', { name: 'old', scopes: ['*'], version: '2025-01-01' })],
  ] as const) {
    const { code, param: field, message } = answer.body.error
    assert.deepEqual([answer.status, code, field], [400, 'unsupported_version', param])
    assert.match(message, /2026-11-21, 2026-01-01/)
  }
})

test('a revoked key is refused at once here, and then by another process', async () => {
  await using server = await testServer()
  await using twin = await server.twin()
  const alice = await server.person('Alice')
  const key = await alice.key()
  const there = () => twin.stranger.get('/me', key.headers)
  assert.equal((await there()).status, 200)
  await alice.delete(`/api-keys/${key.keyId}`)
  assert.equal((await key.get('/me')).body.error.code, 'revoked_api_key')
  await until(there, ({ status }) => status !== 200)
  assert.equal((await there()).body.error.code, 'revoked_api_key')
})

test('a rotated key keeps its name and scopes, and the old secret works during the overlap', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const key = await alice.key({ name: 'ci', scopes: ['settings:read'] })
  const rotation = await alice.post(`/api-keys/${key.keyId}/rotate`, { overlap_seconds: 60 })
  assert.deepEqual([rotation.body.data.name, rotation.body.data.id], ['ci', key.keyId])
  assert.notEqual(rotation.body.data.key, key.key)
  assert.equal((await key.get('/settings')).status, 200)
  assert.equal((await server.stranger.get('/settings', { 'x-api-key': rotation.body.data.key })).status, 200)
  await alice.post(`/api-keys/${key.keyId}/rotate`, {})
  assert.equal((await server.stranger.get('/settings', { 'x-api-key': rotation.body.data.key })).status, 401)
  assert.equal((await key.get('/settings')).status, 401)
})

test('an expired key gets its own error code', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const expiring = (ms: number) => alice.key({ expires_at: new Date(Date.now() + ms).toISOString() })
  const [later, soon] = [await expiring(3_600_000), await expiring(1_500)]
  const answer = await until(
    () => soon.get('/me'),
    ({ status }) => status !== 200,
  )
  assert.equal(answer.body.error.code, 'expired_api_key')
  assert.equal((await later.get('/me')).status, 200)
  const statuses = (await alice.get('/api-keys')).body.data.map((row: { status: string }) => row.status)
  assert.deepEqual(statuses, ['expired', 'active'])
})

test('an unknown host gets 421 with a cookie and works with a key', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const key = await alice.key()
  assert.equal(
    (await raw(server.origin, `GET /v1/me HTTP/1.1\r\nhost: rebound.example\r\ncookie: ${alice.headers.cookie}`))
      .status,
    421,
  )
  assert.equal(
    (await raw(server.origin, `GET /v1/me HTTP/1.1\r\nhost: rebound.example\r\nx-api-key: ${key.key}`)).status,
    200,
  )
})

test('paths match exactly, preflights are answered, and HEAD is GET without a body', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const key = await alice.key()
  for (const path of ['/v1/me/', '/v1//me', '/v1/ME']) assert.equal((await key.get(path)).status, 404, path)
  const preflight = await server.stranger.request('OPTIONS', '/settings', undefined, {
    origin: 'https://a.example',
    'access-control-request-method': 'PATCH',
  })
  assert.deepEqual([preflight.status, preflight.headers.get('access-control-allow-origin')], [204, '*'])
  assert.match(preflight.headers.get('access-control-allow-headers')!, /Authorization, x-api-key/)
  assert.equal(preflight.headers.get('access-control-allow-credentials'), null)
  const head = await key.request('HEAD', '/me')
  assert.deepEqual([head.status, head.text], [200, ''])
})

test('a plain client request ID is echoed', async () => {
  await using server = await testServer()
  const answer = await server.stranger.get('/me', { 'x-client-request-id': 'mine-1' })
  assert.equal(answer.headers.get('x-client-request-id'), 'mine-1')
  const odd = await server.stranger.get('/me', { 'x-client-request-id': 'a b' })
  assert.equal(odd.headers.get('x-client-request-id'), null)
})

test('the 1,001st key is refused', async () => {
  await using server = await testServer({ environment: { UK_LIMIT_WRITES: '0' } })
  const alice = await server.person('Alice')
  await server.app.engine.postgres.pool.query(
    `insert into api_keys (id, account_id, name, scopes, version, key_hash, prefix, last4)
     select '01' || lpad(i::text, 24, '0'), $1, 'k', '{}', '2026-11-21', decode(md5(i::text), 'hex'), 'uk_', '0000' from generate_series(1, 998) i`,
    [alice.id],
  )
  const both = await Promise.all(Array.from({ length: 5 }, () => alice.post('/api-keys', { name: 'k', scopes: [] })))
  assert.deepEqual(both.map((answer) => answer.status).sort(), [201, 201, 409, 409, 409])
  assert.equal(both.find((answer) => answer.status === 409)!.body.error.code, 'limit_reached')
})

/** A request with a custom `Host`, which fetch doesn't allow. */
function raw(origin: string, head: string): Promise<{ status: number }> {
  const { hostname, port } = new URL(origin)
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(Number(port), hostname, () => socket.write(`${head}\r\nconnection: close\r\n\r\n`))
    socket.on('data', (part) => (text += part)).on('error', reject)
    socket.on('close', () => resolve({ status: Number(/^HTTP\/1.1 (\d+)/.exec(text)?.[1]) }))
  })
}
