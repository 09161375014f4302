import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { testServer } from '#test/server.ts'
import { becomes, PATIENCE_MS, until } from '#test/until.ts'
import { accountSchedules } from './service.ts'

test('the first account becomes administrator, and later ones are standard accounts', async () => {
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
  const refusal = await bob.get('/admin/accounts')
  assert.equal(refusal.status, 403)
  assert.equal(refusal.body.error.code, 'insufficient_role')
})

test('an email address can be used once, regardless of case', async () => {
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

test('two simultaneous first sign-ups create one administrator', async () => {
  await using server = await testServer()
  const people = await Promise.all(['Alice', 'Bob', 'Carol'].map((name) => server.person(name)))
  const profiles = await Promise.all(people.map((person) => person.get('/me')))
  assert.equal(profiles.filter((profile) => profile.body.data.administrator).length, 1)
})

test('changing the password ends the other sessions, and the old password stops working', async () => {
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

test('users can end their own sessions, but not another user’s', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const { id } = (await alice.get('/auth/session')).body.data
  assert.equal((await bob.delete(`/auth/sessions/${id}`)).status, 404)
  assert.deepEqual((await alice.delete(`/auth/sessions/${id}`)).body, { deleted: true, id })
  assert.equal((await alice.get('/me')).status, 401)
})

test('a cross-site request with a cookie is rejected', async () => {
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

test('failed sign-ins are limited per account across processes', async () => {
  await using server = await testServer({ environment: { UK_LIMIT_LOGINS: '4' } })
  const alice = await server.person('Alice')
  await using twin = await server.twin()
  const attempt = (at: typeof server, password: string) =>
    at.stranger.post('/auth/sign-in', { email: alice.email, password }, { 'x-uk-csrf': '1' })
  const statuses: number[] = []
  for (let i = 0; i < 6; i++) statuses.push((await attempt(i % 2 ? twin : server, 'wrong')).status)
  assert.deepEqual(statuses, [401, 401, 401, 401, 429, 429])
  const refusal = await attempt(server, alice.password)
  assert.equal(refusal.status, 429)
  assert.ok(Number(refusal.headers.get('retry-after')) >= 1)
})

test('a settings update keeps omitted fields and validates time zones', async () => {
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

test('the first sign-up from another host requires the setup token', async () => {
  await using server = await testServer({ environment: { UK_PUBLIC_URL: 'http://uk.example.com' } })
  const { prepareSetupToken } = await import('./sign-in/setup.ts')
  const token = await prepareSetupToken(server.app.engine.postgres.db, server.database.dataDir)
  const body = { email: 'a@example.com', password: 'a long password', name: 'A' }
  // A local proxy forwards remote requests.
  const headers = { 'x-uk-csrf': '1', 'x-forwarded-for': '203.0.113.9' }
  const without = await server.stranger.post('/auth/sign-up', body, headers)
  assert.equal(without.body.error.code, 'setup_required')
  assert.equal((await server.stranger.post('/auth/sign-up', { ...body, setup_token: 'guess' }, headers)).status, 403)
  assert.equal((await server.stranger.post('/auth/sign-up', { ...body, setup_token: token }, headers)).status, 201)
})

test('a session above the limit ends, also in another process', async () => {
  await using server = await testServer({ environment: { UK_LIMIT_READS: '0' } })
  await using twin = await server.twin()
  const alice = await server.person('Alice')
  const there = () => twin.stranger.get('/me', { cookie: alice.headers.cookie! })
  assert.equal((await alice.get('/me')).status, 200)
  assert.equal((await there()).status, 200)
  const { max_sessions } = (await alice.get('/me/limits')).body.data.session
  await server.app.engine.postgres.pool.query(
    `insert into sessions (id, account_id, token_hash, expires_at)
     select '7Z' || lpad(i::text, 24, '0'), $1, sha256(i::text::bytea), now() + interval '1 day' from generate_series(2, $2::int) i`,
    [alice.id, max_sessions],
  )
  const { email, password } = alice
  const newest = await server.stranger.post('/auth/sign-in', { email, password }, { 'x-uk-csrf': '1' })
  assert.equal(newest.status, 200)
  for (const request of [() => alice.get('/me'), there])
    await becomes(async () => (await request()).body.error?.code, 'session_expired')
})

test('an active session doesn’t expire as idle', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { pool } = server.app.engine.postgres
  const { idle_seconds } = (await alice.get('/me/limits')).body.data.session
  await using twin = await server.twin()
  // Almost idle, so the other process loads it.
  const nearly = `now() - make_interval(secs => ${idle_seconds} - 10)`
  await pool.query(`update sessions set created_at = ${nearly}, last_used_at = null where account_id = $1`, [alice.id])
  const there = () => twin.stranger.get('/me', { cookie: alice.headers.cookie! })
  assert.equal((await there()).status, 200)
  await pool.query('update sessions set last_used_at = now() where account_id = $1', [alice.id])
  await sleep(10_100)
  assert.equal((await there()).status, 200)
  await using third = await server.twin()
  // Processes write uses every 10 s. From here on, they don't.
  await pool.query(`
    create function unwritten() returns trigger language plpgsql as $$ begin
      if new.last_used_at > now() - interval '1 minute' then return null; end if;
      return new;
    end $$;
    create trigger unwritten before update on sessions for each row execute function unwritten()`)
  await pool.query(`update sessions set last_used_at = ${nearly} where account_id = $1`, [alice.id])
  const further = () => third.stranger.get('/me', { cookie: alice.headers.cookie! })
  assert.equal((await further()).status, 200)
  const refusal = await until(further, ({ status }) => status !== 200)
  assert.equal(refusal.body.error.code, 'session_expired')
})

test('ended sessions are eventually deleted', async () => {
  await using server = await testServer({ environment: { UK_LIMIT_LOGINS: '10' } })
  const alice = await server.person('Alice')
  const { engine } = server.app
  const { pool } = engine.postgres
  await server.stranger.post('/auth/sign-in', { email: alice.email, password: 'wrong' }, { 'x-uk-csrf': '1' })
  await alice.key()
  await pool.query(
    `insert into sessions (id, account_id, token_hash, expires_at, created_at) values
    ('7Z000000000000000000000001', $1, 'a', now() - interval '1 second', now()),
    ('7Z000000000000000000000002', $1, 'b', now() + interval '60 days', now() - interval '15 days')`,
    [alice.id],
  )
  const counts = async () =>
    (
      await pool.query(`select (select count(*)::int from sessions) as sessions,
      (select count(*)::int from login_failures) as logins, (select count(*)::int from rights_changes) as changes`)
    ).rows[0]
  const retain = () => accountSchedules(engine)[0]!.run({ signal: AbortSignal.timeout(PATIENCE_MS) })
  await retain()
  const countsAfter = await counts()
  assert.equal(countsAfter.sessions, 1)
  assert.ok(countsAfter.logins > 0 && countsAfter.changes > 0, 'what still counts stays')
  await pool.query(`update login_failures set at = now() - interval '2 hours'`)
  await pool.query(`update rights_changes set at = now() - interval '8 days'`)
  await retain()
  assert.deepEqual(await counts(), { sessions: 1, logins: 0, changes: 0 })
  assert.equal((await alice.get('/me')).status, 200)
})
