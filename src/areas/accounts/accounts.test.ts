import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testServer } from '#test/server.ts'

test('alice signs up as the first account and administers the instance; bob is a standard account', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const me = await alice.get('/me')
  assert.equal(me.body.data.tier, 'unlimited')
  assert.equal(me.body.data.administrator, true)
  assert.equal((await bob.get('/me')).body.data.tier, 'standard')
  assert.deepEqual(
    (await alice.get('/admin/accounts')).body.data.map((row: { email: string }) => row.email),
    ['bob@example.com', 'alice@example.com'],
  )
  const refused = await bob.get('/admin/accounts')
  assert.equal(refused.status, 403)
  assert.equal(refused.body.error.code, 'insufficient_role')
})

test('an e-mail address is taken once, whatever its case', async () => {
  await using server = await testServer()
  await server.person('Alice')
  const again = await server.stranger.post(
    '/auth/sign-up',
    { email: 'ALICE@example.com', password: 'another password', name: 'A' },
    { 'x-uk-csrf': '1' },
  )
  assert.equal(again.status, 409)
  assert.equal(again.body.error.code, 'already_exists')
})

test('two first sign-ups at once make one administrator', async () => {
  await using server = await testServer()
  const people = await Promise.all(['Alice', 'Bob', 'Carol'].map((name) => server.person(name)))
  const profiles = await Promise.all(people.map((person) => person.get('/me')))
  assert.equal(profiles.filter((profile) => profile.body.data.administrator).length, 1)
})

test('alice changes her password: her other sessions end, the old password no longer works', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const signIn = (password: string) =>
    server.stranger.post('/auth/sign-in', { email: alice.email, password }, { 'x-uk-csrf': '1' })
  const elsewhere = await signIn(alice.password)
  const cookie = elsewhere.headers.get('set-cookie')!.split(';')[0]!
  assert.equal((await server.stranger.get('/me', { cookie })).status, 200)
  const wrong = await alice.post('/auth/password', { current_password: 'wrong', new_password: 'a new password' })
  assert.equal(wrong.body.error.param, 'current_password')
  assert.equal(
    (await alice.post('/auth/password', { current_password: alice.password, new_password: 'a new password' })).status,
    200,
  )
  assert.equal((await server.stranger.get('/me', { cookie })).body.error.code, 'session_expired')
  assert.equal((await alice.get('/me')).status, 200)
  assert.equal((await signIn(alice.password)).body.error.code, 'invalid_credentials')
  assert.equal((await signIn('a new password')).status, 200)
})

test('alice ends one of her sessions; bob cannot', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const { id } = (await alice.get('/auth/session')).body.data
  assert.equal((await bob.delete(`/auth/sessions/${id}`)).status, 404)
  assert.deepEqual((await alice.delete(`/auth/sessions/${id}`)).body, { deleted: true, id })
  assert.equal((await alice.get('/me')).status, 401)
})

test('a call by cookie from another site is refused', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { cookie } = alice.headers
  const change = (headers: Record<string, string>) =>
    server.stranger.patch('/settings', { theme: 'dark' }, { cookie: cookie!, ...headers })
  assert.equal((await change({})).body.error.code, 'cross_site')
  assert.equal((await change({ origin: 'https://evil.example' })).body.error.code, 'cross_site')
  assert.equal((await change({ 'x-uk-csrf': '1', 'sec-fetch-site': 'cross-site' })).body.error.code, 'cross_site')
  assert.equal((await change({ origin: server.origin })).status, 200)
  assert.equal((await alice.get('/settings')).body.data.theme, 'dark')
})

test('failed logins are limited per account, over two processes', async () => {
  await using server = await testServer({ environment: { UK_LIMIT_LOGINS: '4' } })
  const alice = await server.person('Alice')
  await using twin = await server.twin()
  const attempt = (at: typeof server, password: string) =>
    at.stranger.post('/auth/sign-in', { email: alice.email, password }, { 'x-uk-csrf': '1' })
  const statuses: number[] = []
  for (let i = 0; i < 6; i++) statuses.push((await attempt(i % 2 ? twin : server, 'wrong')).status)
  assert.deepEqual(statuses, [401, 401, 401, 401, 429, 429])
  const refused = await attempt(server, alice.password)
  assert.equal(refused.status, 429)
  assert.ok(Number(refused.headers.get('retry-after')) >= 1)
})

test('settings keep what is not named, and know time zones', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  await alice.patch('/settings', { theme: 'light', locale: 'en-GB' })
  const after = await alice.patch('/settings', { time_zone: 'Europe/Berlin' })
  assert.deepEqual(
    [after.body.data.theme, after.body.data.locale, after.body.data.time_zone],
    ['light', 'en-GB', 'Europe/Berlin'],
  )
  const wrong = await alice.patch('/settings', { time_zone: 'Mars/Olympus' })
  assert.equal(wrong.body.error.code, 'invalid_time_zone')
})

test('the first sign-up from elsewhere needs the setup token', async () => {
  await using server = await testServer({ environment: { UK_PUBLIC_URL: 'http://uk.example.com' } })
  const { prepareSetupToken } = await import('./setup.ts')
  const token = await prepareSetupToken(server.app.engine.postgres.db, server.database.dataDir)
  const body = { email: 'a@example.com', password: 'a long password', name: 'A' }
  // A proxy on this machine passes on what came from elsewhere.
  const headers = { 'x-uk-csrf': '1', 'x-forwarded-for': '203.0.113.9' }
  const without = await server.stranger.post('/auth/sign-up', body, headers)
  assert.equal(without.body.error.code, 'setup_required')
  assert.equal((await server.stranger.post('/auth/sign-up', { ...body, setup_token: 'guess' }, headers)).status, 403)
  assert.equal((await server.stranger.post('/auth/sign-up', { ...body, setup_token: token }, headers)).status, 201)
})
