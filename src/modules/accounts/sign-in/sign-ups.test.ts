import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mailbox } from '#test/outside/mailbox.ts'
import { type Answer, caller, testServer } from '#test/server.ts'
import { until } from '#test/until.ts'

let accountCount = 0
const signUp = (origin: string, from: string): Promise<Answer> => {
  const name = `Guest ${(accountCount += 1)}`
  const account = { email: `guest.${accountCount}@example.com`, password: `the password of ${name}`, name }
  return caller(origin, { 'x-forwarded-for': from, 'x-uk-csrf': '1' }).post('/auth/sign-up', account)
}
const signIn = (origin: string, from: string, email: string, password: string): Promise<Answer> =>
  caller(origin, { 'x-forwarded-for': from, 'x-uk-csrf': '1' }).post('/auth/sign-in', { email, password })

const environment = {
  UK_TRUSTED_PROXIES: '127.0.0.0/8',
  UK_SIGN_UP: 'open',
  UK_LIMIT_LOGINS: '10',
  UK_LIMIT_SIGN_UPS: '',
}
const tally = (answers: readonly Answer[]) =>
  Object.fromEntries([...Map.groupBy(answers, ({ status }) => status)].map(([status, of]) => [status, of.length]))

for (const [kind, addressOf] of [
  ['one IPv4 address', () => '203.0.113.9'],
  ['one IPv4 address, also as IPv6 has it', (i: number) => (i % 2 === 0 ? '203.0.113.9' : '::ffff:203.0.113.9')],
  ['25 addresses of one /64', (i: number) => `2001:db8:0:7:${i}::${i}`],
] as const)
  test(`of 25 simultaneous sign-ups from ${kind} to two processes, ten succeed`, async () => {
    await using server = await testServer({ environment })
    await using twin = await server.twin()
    await server.person('Alice')
    await server.app.engine.postgres.pool.query('delete from login_failures')
    const origins = [server.origin, twin.origin]
    const answers = await Promise.all(Array.from({ length: 25 }, (_, i) => signUp(origins[i % 2]!, addressOf(i))))
    assert.deepEqual(tally(answers), { 201: 10, 429: 15 })
    const refusal = answers.find(({ status }) => status === 429)!
    assert.deepEqual([refusal.body.error.type, refusal.headers.get('retry-after')], ['rate_limited', '6'])
    // Other networks aren't affected, and existing users can sign in.
    assert.equal((await signUp(server.origin, '2001:db8:0:8::1')).status, 201)
    assert.equal((await signIn(server.origin, addressOf(0), 'alice@example.com', 'the password of Alice')).status, 200)
  })

test('failed sign-ins count per /64 network', async () => {
  await using server = await testServer({ environment })
  await using twin = await server.twin()
  await server.person('Alice')
  const origins = [server.origin, twin.origin]
  const answers = await Promise.all(
    Array.from({ length: 15 }, (_, i) =>
      signIn(origins[i % 2]!, `2001:db8:0:7::${i}`, `nobody.${i}@example.com`, 'wrong'),
    ),
  )
  assert.deepEqual(tally(answers), { 401: 10, 429: 5 })
  assert.equal((await signIn(server.origin, '2001:db8:0:8::1', 'nobody@example.com', 'wrong')).status, 401)
})

test('with email configured, sign-up credits are granted once, with the verified address', async () => {
  await using mail = await mailbox()
  await using server = await testServer({
    environment: { UK_SIGN_UP_CREDITS_USD: '5', SMTP_URL: mail.url, UK_LIMIT_WRITES: '0' },
  })
  await using twin = await server.twin()
  await server.person('Alice')
  const bob = await server.person('Bob')
  const credits = async (): Promise<number> => (await bob.get('/me/usage')).body.data.balance_usd
  assert.equal(await credits(), 0)
  assert.equal((await bob.post('/notifications/request-email')).status, 200)
  const token = /\d{10}-[\w-]{43}/.exec(await mail.next())![0]
  const beyond = caller(twin.origin, bob.headers)
  const confirmations = await Promise.all(
    [bob, beyond, bob, beyond].map((each) => each.post('/notifications/confirm-email', { token })),
  )
  assert.deepEqual(tally(confirmations), { 200: 4 })
  assert.equal(await until(credits, (usd) => usd > 0), 5)
})

test('without email, sign-up credits are granted at once', async () => {
  await using server = await testServer({ environment: { UK_SIGN_UP_CREDITS_USD: '5' } })
  await server.person('Alice')
  const bob = await server.person('Bob')
  assert.equal((await bob.get('/me/usage')).body.data.balance_usd, 5)
})
