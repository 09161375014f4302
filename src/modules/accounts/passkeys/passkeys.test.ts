import assert from 'node:assert/strict'
import { test } from 'node:test'
import { authenticator } from '#test/outside/authenticator.ts'
import { type Answer, type Caller, type Person, type TestServer, caller, testServer } from '#test/server.ts'

/** A browser on a page of this origin: it sends `Origin` and a matching `Host`. */
const onPage = (server: TestServer, page: string, cookie?: string): Caller => {
  const { port } = new URL(server.origin)
  return caller(`http://127.0.0.1:${port}`, { origin: page, ...(cookie && { cookie }) })
}
const refusedWith = ({ status, body }: Answer) => [status, body.error?.code]
const cookieOf = (answer: Answer): string => answer.headers.get('set-cookie')!.split(';')[0]!

/** With a host name, because browsers don't support passkeys for IP addresses. */
const namedInstance = { UK_PUBLIC_URL: 'http://uk.localhost:4242' }
const page = namedInstance.UK_PUBLIC_URL

async function addPasskey(who: Caller, of = authenticator(), name = 'Laptop') {
  const optionsResponse = await who.post('/v1/app/passkeys/creation-options')
  assert.equal(optionsResponse.status, 200, optionsResponse.text)
  const credential = of.create(optionsResponse.body.data.options, { origin: page })
  const passkeyResponse = await who.post('/v1/app/passkeys', { name, credential })
  return { passkeyResponse, credential, of }
}
const inBrowser = (server: TestServer, person: Person): Caller => onPage(server, page, person.headers.cookie)

test('a passkey can be added, used with any process, renamed and removed', async () => {
  await using server = await testServer({ environment: namedInstance })
  await using twin = await server.twin()
  const alice = await server.person('Alice')
  const browser = inBrowser(server, alice)
  const { passkeyResponse, of } = await addPasskey(browser)
  assert.equal(passkeyResponse.status, 201, passkeyResponse.text)
  assert.deepEqual([passkeyResponse.body.data.name, passkeyResponse.body.data.rp_id], ['Laptop', 'uk.localhost'])

  const optionsResponse = await onPage(server, page).post('/v1/app/passkeys/sign-in-options')
  const { options } = optionsResponse.body.data
  assert.deepEqual(
    [options.rpId, options.userVerification, options.allowCredentials ?? []],
    ['uk.localhost', 'required', []],
  )
  const credential = of.get(options, { origin: page })
  const signedIn = await onPage(twin, page).post('/v1/app/passkeys/sign-in', { credential })
  assert.equal(signedIn.status, 200, signedIn.text)
  assert.equal(signedIn.body.data.id, alice.id)
  assert.equal((await server.stranger.get('/me', { cookie: cookieOf(signedIn) })).body.data.id, alice.id)

  const { id } = passkeyResponse.body.data
  const bob = await server.person('Bob')
  for (const attempt of [
    await inBrowser(server, bob).patch(`/v1/app/passkeys/${id}`, { name: 'Mine' }),
    await inBrowser(server, bob).delete(`/v1/app/passkeys/${id}`),
  ])
    assert.equal(attempt.status, 404)
  assert.equal((await browser.patch(`/v1/app/passkeys/${id}`, { name: 'Old laptop' })).body.data.name, 'Old laptop')
  const [row] = (await browser.get('/v1/app/passkeys')).body.data
  assert.deepEqual([row.name, row.last_used_at === null], ['Old laptop', false])
  assert.equal((await browser.delete(`/v1/app/passkeys/${id}`)).status, 200)
  const again = await onPage(server, page).post('/v1/app/passkeys/sign-in-options')
  const refusal = await onPage(server, page).post('/v1/app/passkeys/sign-in', {
    credential: of.get(again.body.data.options, { origin: page }),
  })
  assert.deepEqual(refusedWith(refusal), [401, 'invalid_credentials'])
})

test('a challenge is valid once, for its purpose and origin, and requires user verification', async () => {
  await using server = await testServer({ environment: namedInstance })
  await using twin = await server.twin()
  const alice = await server.person('Alice')
  const { of } = await addPasskey(inBrowser(server, alice))
  const stranger = onPage(server, page)
  const begin = async () => (await stranger.post('/v1/app/passkeys/sign-in-options')).body.data.options
  const signIn = (credential: unknown, by = stranger) => by.post('/v1/app/passkeys/sign-in', { credential })

  const once = of.get(await begin(), { origin: page })
  const answers = await Promise.all(
    [stranger, onPage(twin, page), stranger, onPage(twin, page)].map((by) => signIn(once, by)),
  )
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 410, 410, 410])

  // A phishing page that relays our options.
  const phishedCredential = of.get(await begin(), { origin: 'https://uk.evil.example', rpId: 'uk.localhost' })
  assert.deepEqual(refusedWith(await signIn(phishedCredential)), [401, 'invalid_credentials'])
  assert.deepEqual(refusedWith(await signIn(of.get(await begin(), { origin: page, rpId: 'evil.example' }))), [
    401,
    'invalid_credentials',
  ])
  assert.deepEqual(
    refusedWith(await signIn(of.get(await begin(), { origin: page }), onPage(server, 'https://uk.evil.example'))),
    [403, 'cross_site'],
  )
  assert.deepEqual(refusedWith(await signIn(of.get(await begin(), { origin: page, verified: false }))), [
    401,
    'invalid_credentials',
  ])
  // A challenge for adding a passkey can't be used to sign in.
  const other = (await inBrowser(server, alice).post('/v1/app/passkeys/creation-options')).body.data.options
  assert.deepEqual(refusedWith(await signIn(of.get(other, { origin: page }))), [410, 'link_expired'])
  assert.deepEqual(refusedWith(await signIn(of.get({ challenge: 'bm9ib2R5IG1hZGUgdGhpcw' }, { origin: page }))), [
    410,
    'link_expired',
  ])
  const expiredCredential = of.get(await begin(), { origin: page })
  await server.app.engine.postgres.pool.query(`update sign_in_challenges set expires_at = now() - interval '1 second'`)
  assert.deepEqual(refusedWith(await signIn(expiredCredential)), [410, 'link_expired'])
})

test('a copied authenticator is detected by its counter, and another user’s passkey isn’t accepted', async () => {
  await using server = await testServer({ environment: namedInstance })
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const { of } = await addPasskey(inBrowser(server, alice))
  const stranger = onPage(server, page)
  const signIn = async (more: object) => {
    const { options } = (await stranger.post('/v1/app/passkeys/sign-in-options')).body.data
    return stranger.post('/v1/app/passkeys/sign-in', { credential: of.get(options, { origin: page, ...more }) })
  }
  assert.equal((await signIn({ counter: 7 })).status, 200)
  for (const counter of [7, 3, 0])
    assert.deepEqual(refusedWith(await signIn({ counter })), [401, 'invalid_credentials'])
  assert.equal((await signIn({ counter: 8 })).status, 200)

  // Bob's session, Alice's passkey.
  const { options } = (await inBrowser(server, bob).post('/v1/app/passkeys/proof-options')).body.data
  const theirs = of.get(options, { origin: page, counter: 9 })
  assert.deepEqual(refusedWith(await inBrowser(server, bob).post('/v1/app/proofs', { credential: theirs })), [
    401,
    'invalid_credentials',
  ])
  // A challenge is bound to its account.
  const hers = (await inBrowser(server, alice).post('/v1/app/passkeys/proof-options')).body.data.options
  const assertion = of.get(hers, { origin: page, counter: 10 })
  assert.deepEqual(refusedWith(await inBrowser(server, bob).post('/v1/app/proofs', { credential: assertion })), [
    410,
    'link_expired',
  ])
  // A passkey created in alice's browser can't be added to bob's account.
  const creationOptions = (await inBrowser(server, alice).post('/v1/app/passkeys/creation-options')).body.data.options
  const credential = of.create(creationOptions, { origin: page })
  const response = await inBrowser(server, bob).post('/v1/app/passkeys', { name: 'Mine', credential })
  assert.deepEqual(refusedWith(response), [410, 'link_expired'])
})

test('changing sign-in methods requires a recent proof, and the last method can’t be removed', async () => {
  await using server = await testServer({ environment: namedInstance })
  const alice = await server.person('Alice')
  const browser = inBrowser(server, alice)
  const { passkeyResponse, of } = await addPasskey(browser)
  const { pool } = server.app.engine.postgres
  const later = () => pool.query(`update sessions set proved_at = now() - interval '11 minutes'`)
  const { id } = passkeyResponse.body.data

  await later()
  for (const answer of [
    await browser.post('/v1/app/passkeys/creation-options'),
    await browser.delete(`/v1/app/passkeys/${id}`),
  ])
    assert.deepEqual(refusedWith(answer), [403, 'proof_required'])
  assert.deepEqual(refusedWith(await browser.post('/v1/app/proofs', { password: 'wrong' })), [
    401,
    'invalid_credentials',
  ])
  assert.equal((await browser.post('/v1/app/proofs', { password: alice.password })).status, 200)
  assert.equal((await browser.post('/v1/app/passkeys/creation-options')).status, 200)
  await later()
  const { options } = (await browser.post('/v1/app/passkeys/proof-options')).body.data
  assert.deepEqual(
    options.allowCredentials.map((each: { id: string }) => each.id),
    of.ids(),
  )
  assert.equal((await browser.post('/v1/app/proofs', { credential: of.get(options, { origin: page }) })).status, 200)

  await pool.query('update accounts set password_hash = null')
  const second = await addPasskey(browser, authenticator(), 'Phone')
  const both = await Promise.all(
    [id, second.passkeyResponse.body.data.id].map((each: string) => browser.delete(`/v1/app/passkeys/${each}`)),
  )
  assert.deepEqual(both.map(({ status }) => status).toSorted(), [200, 409])
  assert.match(both.find(({ status }) => status === 409)!.body.error.message, /last way to sign in/)
  // Without a password, none is required to set one.
  assert.equal((await browser.post('/auth/password', { new_password: 'a password after all' })).status, 200)
})

test('of two passkeys added simultaneously by two processes, the one above the limit is refused', async () => {
  await using server = await testServer({ environment: namedInstance })
  await using twin = await server.twin()
  const alice = await server.person('Alice')
  await server.app.engine.postgres.pool.query(
    `insert into passkeys (id, account_id, name, credential_id, public_key, counter, transports, rp_id, synced)
     select '0000000000000000000000' || lpad(n::text, 4, '0'), $1, 'Old', 'old-' || n, '', 0, '{}', 'uk.localhost', false
     from generate_series(1, 49) n`,
    [alice.id],
  )
  const of = authenticator()
  const bodies: object[] = []
  for (const name of ['One', 'Two']) {
    const { options } = (await inBrowser(server, alice).post('/v1/app/passkeys/creation-options')).body.data
    bodies.push({ name, credential: of.create(options, { origin: page }) })
  }
  const answers = await Promise.all(
    [server, twin].map(({ origin }, i) =>
      caller(origin, { origin: page, cookie: alice.headers.cookie! }).post('/v1/app/passkeys', bodies[i]),
    ),
  )
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [201, 409])
  assert.equal(answers.find(({ status }) => status === 409)!.body.error.code, 'limit_reached')
})

test('passkeys require a page of this instance with a host name', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  assert.deepEqual(refusedWith(await alice.post('/v1/app/passkeys/sign-in-options')), [409, 'not_supported'])
  const byAddress = await onPage(server, server.origin).post('/v1/app/passkeys/sign-in-options')
  assert.match(byAddress.body.error.message, /127\.0\.0\.1 is an IP address/)
})
