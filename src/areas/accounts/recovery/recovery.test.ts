import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mailbox } from '#test/outside/mailbox.ts'
import { type Answer, caller, testServer } from '#test/server.ts'
import { until } from '#test/until.ts'

const refusedWith = ({ status, body }: Answer) => [status, body.error?.code]

test('alice has forgotten her password: a mail, one use by one of two processes, every session of hers ends', async () => {
  await using mail = await mailbox()
  await using server = await testServer({ environment: { SMTP_URL: mail.url } })
  await using twin = await server.twin()
  const alice = await server.person('Alice')
  const key = await alice.key()
  const guest = (origin: string) => caller(origin, { 'x-uk-csrf': '1' })
  const ask = (email: string) => guest(server.origin).post('/v1/app/recovery', { email })

  const known = await ask('ALICE@example.com')
  const text = await mail.next()
  const token = /#token=([\w-]{43})/.exec(text)![1]!
  assert.match(text, /\/app\/recovery#token=/)
  const unknown = await ask('nobody@example.com')
  assert.deepEqual([known.status, known.text], [unknown.status, unknown.text])
  // Who asks again at once fills nobody's mailbox, and hears the same.
  assert.equal((await ask(alice.email)).status, known.status)

  const recover = (origin: string) =>
    guest(origin).post('/v1/app/recovery/password', { token, new_password: 'a password of today' })
  const answers = await Promise.all([server, twin, server, twin].map(({ origin }) => recover(origin)))
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 410, 410, 410])
  const recovered = answers.find(({ status }) => status === 200)!
  assert.deepEqual([recovered.body.data.id, recovered.body.data.email_verified_at === null], [alice.id, false])
  const cookie = recovered.headers.get('set-cookie')!.split(';')[0]!
  assert.equal((await server.stranger.get('/me', { cookie })).body.data.id, alice.id)
  await until(
    async () => (await alice.get('/me')).body.error?.code,
    (code) => code === 'session_expired',
  )
  assert.equal((await key.get('/me')).status, 200)
  const signIn = (password: string) => guest(server.origin).post('/auth/sign-in', { email: alice.email, password })
  assert.deepEqual(refusedWith(await signIn(alice.password)), [401, 'invalid_credentials'])
  assert.equal((await signIn('a password of today')).status, 200)
  assert.equal(mail.unread.length, 0, 'one mail in all')
})

test('a link of an hour ago is none any more, and without mail it is said that there is none', async () => {
  await using mail = await mailbox()
  await using server = await testServer({ environment: { SMTP_URL: mail.url } })
  await server.person('Alice')
  const guest = caller(server.origin, { 'x-uk-csrf': '1' })
  await guest.post('/v1/app/recovery', { email: 'alice@example.com' })
  const token = /#token=([\w-]{43})/.exec(await mail.next())![1]!
  await server.app.engine.postgres.pool.query(`update sign_in_challenges set expires_at = now() - interval '1 second'`)
  const late = await guest.post('/v1/app/recovery/password', { token, new_password: 'a password of today' })
  assert.deepEqual(refusedWith(late), [410, 'link_expired'])
  await using silent = await testServer()
  const other = caller(silent.origin, { 'x-uk-csrf': '1' })
  assert.deepEqual(refusedWith(await other.post('/v1/app/recovery', { email: 'a@example.com' })), [409, 'not_ready'])
  assert.equal((await silent.stranger.get('/app/ways-in')).body.data.recovery, false)
})
