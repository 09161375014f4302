import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mailbox } from '#test/outside/mailbox.ts'
import { type Answer, type Caller, type Person, caller, testServer } from '#test/server.ts'
import { type Issuer, type Lie, settingsFor, startIssuer } from '#test/vendors/oidc/issuer.ts'
import { until } from '#test/until.ts'

const settings = (issuer: Issuer, join = 'anyone') => ({
  ...settingsFor(issuer, join),
  UK_OIDC_NAME: 'The house',
})
const refusedWith = ({ status, body }: Answer) => [status, body.error?.code]
const cookieOf = (answer: Answer): string => answer.headers.get('set-cookie')!.split(';')[0]!
const guest = (origin: string): Caller => caller(origin, { 'x-uk-csrf': '1' })

/** Follows the sign-in like a browser. */
async function signIn(by: Caller, issuer: Issuer, body: object = {}): Promise<Answer> {
  const attempt = await by.post('/v1/app/identities/start-sign-in', body)
  assert.equal(attempt.status, 200, attempt.text)
  const back = await issuer.visit(attempt.body.data.url)
  return by.post('/v1/app/identities/sign-in', { secret: attempt.body.data.secret, query: back.search })
}
async function link(person: Person, issuer: Issuer): Promise<Answer> {
  const attempt = await person.post('/v1/app/identities/start-link')
  assert.equal(attempt.status, 200, attempt.text)
  const back = await issuer.visit(attempt.body.data.url)
  return person.post('/v1/app/identities', { secret: attempt.body.data.secret, query: back.search })
}

test('users join through the identity provider, sign in again to any process, and sign out of both', async () => {
  await using issuer = await startIssuer()
  await using server = await testServer({ environment: settings(issuer) })
  await using twin = await server.twin()
  issuer.sits({ sub: 'bob-1', email: 'bob@example.com', email_verified: true, name: 'Bob Ito' })
  const early = await signIn(guest(server.origin), issuer)
  assert.deepEqual(refusedWith(early), [403, 'setup_required'])
  await server.person('Alice')
  const ways = await server.stranger.get('/app/ways-in')
  assert.deepEqual(ways.body.data, { identity_provider: { name: 'The house' }, recovery: false })

  const signInResponse = await signIn(guest(server.origin), issuer)
  assert.equal(signInResponse.status, 200, signInResponse.text)
  const { email, email_verified_at, name, administrator } = signInResponse.body.data
  assert.deepEqual(
    [email, email_verified_at === null, name, administrator],
    ['bob@example.com', false, 'Bob Ito', false],
  )
  // The subject stays, while the address may change.
  issuer.sits({ sub: 'bob-1', email: 'b.ito@example.com', email_verified: true })
  issuer.tellsByUserinfo = true
  const attempt = await guest(server.origin).post('/v1/app/identities/start-sign-in', {})
  const back = await issuer.visit(attempt.body.data.url)
  const again = await guest(twin.origin).post('/v1/app/identities/sign-in', {
    secret: attempt.body.data.secret,
    query: back.search,
  })
  assert.equal(again.body.data.id, signInResponse.body.data.id, again.text)
  const bob = caller(twin.origin, { cookie: cookieOf(again), 'x-uk-csrf': '1' })
  const rows = (await bob.get('/app/identities')).body.data
  assert.deepEqual(
    rows.map((row: { issuer: string; email: string }) => [row.issuer, row.email]),
    [[issuer.origin, 'b.ito@example.com']],
  )
  assert.deepEqual(refusedWith(await bob.delete(`/app/identities/${rows[0].id}`)), [409, 'invalid_state'])
  const out = await bob.post('/v1/app/sign-out')
  const url = new URL(out.body.data.url)
  assert.equal(url.origin + url.pathname, `${issuer.origin}/logout`)
  assert.equal(url.searchParams.get('post_logout_redirect_uri'), `${twin.origin}/app/sign-in`)
  assert.equal((await bob.get('/me')).body.error.code, 'session_expired')
})

test('invalid sign-ins are rejected: nonce, audience, issuer, signature, mix-up, another browser, reuse', async () => {
  await using issuer = await startIssuer()
  await using evil = await startIssuer()
  await using server = await testServer({ environment: settings(issuer) })
  await server.person('Alice')
  issuer.sits({ sub: 'bob-1', email: 'bob@example.com', email_verified: true })
  const lies: Record<string, Lie> = {
    nonce: { claims: { nonce: 'another sign-in’s' } },
    audience: { claims: { aud: 'another client' } },
    'the issuer of the token': { claims: { iss: evil.origin } },
    'an old token': { claims: { exp: Math.floor(Date.now() / 1000) - 3_600 } },
    'no signature': { signed: 'none' },
    'another key': { signed: 'other' },
    'mix-up': { iss: evil.origin },
  }
  for (const [what, lie] of Object.entries(lies)) {
    issuer.lies(lie)
    assert.deepEqual(refusedWith(await signIn(guest(server.origin), issuer)), [401, 'invalid_credentials'], what)
  }
  issuer.tellsByUserinfo = true
  issuer.lies({ subject: 'alice-1' })
  assert.equal((await signIn(guest(server.origin), issuer)).status, 401, 'the subject of userinfo')
  issuer.tellsByUserinfo = false

  const by = guest(server.origin)
  const begin = async () => (await by.post('/v1/app/identities/start-sign-in', {})).body.data
  const finish = (secret: string, query: string) => by.post('/v1/app/identities/sign-in', { secret, query })
  // The victim's browser is sent to the attacker's callback.
  const [theirs, mine] = [await begin(), await begin()]
  const back = await issuer.visit(theirs.url)
  assert.deepEqual(refusedWith(await finish(mine.secret, back.search)), [410, 'link_expired'])
  // Another sign-in's code with our own state lacks its verifier.
  const [other, own] = [await begin(), await begin()]
  const stolenUrl = await issuer.visit(other.url)
  stolenUrl.searchParams.set('state', new URL(own.url).searchParams.get('state')!)
  assert.deepEqual(refusedWith(await finish(own.secret, stolenUrl.search)), [401, 'invalid_credentials'])
  const once = await begin()
  const { search } = await issuer.visit(once.url)
  const answers = await Promise.all([finish(once.secret, search), finish(once.secret, search)])
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 410])
  assert.equal(issuer.replays, 0, 'the code was sent once')
  const deniedAttempt = await begin()
  const state = new URL(deniedAttempt.url).searchParams.get('state')!
  const refusal = await finish(
    deniedAttempt.secret,
    new URLSearchParams({ error: 'access_denied', state, iss: issuer.origin }).toString(),
  )
  assert.match(refusal.body.error.message, /access_denied/)
})

test('an address doesn’t identify an account: only its signed-in owner can link an identity', async () => {
  await using issuer = await startIssuer()
  await using server = await testServer({ environment: settings(issuer) })
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  for (const email_verified of [true, false]) {
    issuer.sits({ sub: 'alice-1', email: alice.email.toUpperCase(), email_verified })
    const attempt = await signIn(guest(server.origin), issuer)
    assert.deepEqual(refusedWith(attempt), email_verified ? [409, 'already_exists'] : [403, 'policy_denied'])
  }
  issuer.sits({ sub: 'alice-1', email: alice.email, email_verified: false })
  const linkResponse = await link(alice, issuer)
  assert.equal(linkResponse.status, 201, linkResponse.text)
  const signedIn = await signIn(guest(server.origin), issuer)
  assert.equal(signedIn.body.data.id, alice.id)
  assert.deepEqual(refusedWith(await link(bob, issuer)), [409, 'already_exists'])
  // A link started by alice can't be completed by bob.
  const linkAttempt = (await alice.post('/v1/app/identities/start-link')).body.data
  issuer.sits({ sub: 'bob-1' })
  const { search } = await issuer.visit(linkAttempt.url)
  assert.deepEqual(refusedWith(await bob.post('/v1/app/identities', { secret: linkAttempt.secret, query: search })), [
    410,
    'link_expired',
  ])
  await server.app.engine.postgres.pool.query('update sessions set proved_at = null')
  assert.deepEqual(refusedWith(await alice.post('/v1/app/identities/start-link')), [403, 'proof_required'])
  const { id } = linkResponse.body.data
  assert.equal((await bob.delete(`/app/identities/${id}`)).status, 404)
  assert.deepEqual(refusedWith(await alice.delete(`/app/identities/${id}`)), [403, 'proof_required'])
  assert.equal((await alice.post('/v1/app/proofs', { password: alice.password })).status, 200)
  assert.equal((await alice.delete(`/app/identities/${id}`)).status, 200)
  // Ends the sessions started with the identity, except the current one.
  const lets = await server.stranger.get('/me', { cookie: cookieOf(signedIn) })
  assert.deepEqual(refusedWith(lets), [401, 'session_expired'])
  assert.equal((await alice.get('/me')).status, 200)
})

test('the instance decides who may join: invited users, a domain, or no one', async () => {
  await using issuer = await startIssuer()
  await using server = await testServer({ environment: settings(issuer) })
  const alice = await server.person('Alice')
  const team = (await alice.post('/workspaces', { name: 'Team' })).body.data
  await alice.post(`/workspaces/${team.id}/invitations`, { email: 'bob@example.com' })
  const comers = async (join: string, attempts: readonly (readonly [email: string, verified: boolean])[]) => {
    await using twin = await server.twin({ UK_OIDC_JOIN: join })
    const statuses: number[] = []
    for (const [email, email_verified] of attempts) {
      issuer.sits({ sub: email.toLowerCase(), email, email_verified })
      statuses.push((await signIn(guest(twin.origin), issuer)).status)
    }
    return statuses
  }
  const invitedCases = [
    ['carol@example.com', true],
    ['Bob@example.com', false],
    ['Bob@example.com', true],
  ] as const
  assert.deepEqual(await comers('nobody', invitedCases), [403, 403, 403])
  assert.deepEqual(await comers('invited', invitedCases), [403, 403, 200])
  const domainCases = [
    ['dave@example.com', true],
    ['dave@example.com', false],
    ['dave@example.com.evil.org', true],
    ['dave@sub.example.com', true],
  ] as const
  assert.deepEqual(await comers('example.org, Example.com', domainCases), [200, 200, 403, 403])
})

test('where anyone may join, joining counts as a sign-up, and signing in again doesn’t', async () => {
  await using issuer = await startIssuer()
  await using server = await testServer({ environment: { ...settings(issuer), UK_LIMIT_SIGN_UPS: '2' } })
  await server.person('Alice')
  await server.app.engine.postgres.pool.query('delete from login_failures')
  const comes = async (who: string) => {
    issuer.sits({ sub: who, email: `${who}@example.com`, email_verified: true })
    return (await signIn(guest(server.origin), issuer)).status
  }
  const statuses: number[] = []
  for (const who of ['bob', 'carol', 'dave', 'bob']) statuses.push(await comes(who))
  assert.deepEqual(statuses, [200, 200, 429, 200])
})

test('password recovery isn’t possible for an account with only an unverified provider address', async () => {
  await using issuer = await startIssuer()
  await using mail = await mailbox()
  await using server = await testServer({ environment: { ...settings(issuer), SMTP_URL: mail.url } })
  const alice = await server.person('Alice')
  issuer.sits({ sub: 'bob-1', email: 'bob@example.com' })
  assert.equal((await signIn(guest(server.origin), issuer)).status, 200)
  for (const email of ['bob@example.com', alice.email]) await guest(server.origin).post('/v1/app/recovery', { email })
  const { pool } = server.app.engine.postgres
  await until(
    async () =>
      (await pool.query(`select from graphile_worker.jobs where task_identifier = 'accounts.recover'`)).rowCount,
    (count) => count === 0,
  )
  assert.match(await mail.next(), /alice@example\.com/i)
  const { rows } = await pool.query(`select account_id from sign_in_challenges where purpose = 'recovery'`)
  assert.deepEqual(rows, [{ account_id: alice.id }])
})

test('an unreachable provider is reported as such', async () => {
  const issuer = await startIssuer()
  await using server = await testServer({ environment: settings(issuer) })
  await issuer[Symbol.asyncDispose]()
  const attempt = await guest(server.origin).post('/v1/app/identities/start-sign-in', {})
  assert.deepEqual([attempt.status, attempt.body.error.type], [502, 'upstream_error'])
  await using without = await server.twin({ UK_OIDC_ISSUER: '', UK_OIDC_CLIENT_ID: '', UK_OIDC_CLIENT_SECRET: '' })
  assert.deepEqual(refusedWith(await guest(without.origin).post('/v1/app/identities/start-sign-in', {})), [
    409,
    'not_supported',
  ])
})
