import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { hash } from '@node-rs/argon2'
import { loadContracts } from '#modules/contracts.ts'
import { inputSchemas, list } from '#core/registry.ts'
import { type Mailbox, mailbox } from '#test/outside/mailbox.ts'
import { type Caller, type TestServer, caller, testServer } from '#test/server.ts'
import { resetPassword } from './reset.ts'

let server: TestServer
let mail: Mailbox
let guest: Caller
before(async () => {
  mail = await mailbox()
  server = await testServer({ environment: { SMTP_URL: mail.url } })
  await server.person('First')
  guest = caller(server.origin, { 'x-uk-csrf': '1' })
})
after(async () => {
  await server[Symbol.asyncDispose]()
  await mail[Symbol.asyncDispose]()
})

/** A password, and its code points on different systems. */
const SPELLINGS = [
  ['Café-Grün-20260401', 'NFC', 'NFD'],
  ['한국어-암호-20260401', 'NFD', 'NFC'],
  ['ﬁnal-Ｗｉｄｅ-①-2026', 'NFC', 'NFKC'],
  ['Ångström-ﬀ-20260401', 'NFKD', 'NFC'],
] as const

let people = 0
const join = async (password: string) => {
  const email = `person-${++people}@example.test`
  const answer = await guest.post('/auth/sign-up', { email, name: 'Test', password })
  assert.equal(answer.status, 201, answer.text)
  const cookie = answer.headers.get('set-cookie')!.split(';')[0]!
  return { email, session: caller(server.origin, { cookie, 'x-uk-csrf': '1' }) }
}
const signsIn = async (email: string, password: string) =>
  assert.equal((await guest.post('/auth/sign-in', { email, password })).status, 200, password)

/** Each password field, used in one encoding after it was set in another. */
const uses: Readonly<Record<string, (one: string, other: string) => Promise<void>>> = {
  'auth.sign_up.password': async (one, other) => signsIn((await join(one)).email, other),
  'auth.sign_in.password': async (one, other) => signsIn((await join(other)).email, one),
  'auth.change_password.current_password': async (one, other) => {
    const { session } = await join(one)
    const body = { current_password: other, new_password: 'another-password-1' }
    assert.equal((await session.post('/auth/password', body)).status, 200)
  },
  'auth.change_password.new_password': async (one, other) => {
    const { email, session } = await join('a-password-to-change')
    await session.post('/auth/password', { current_password: 'a-password-to-change', new_password: one })
    await signsIn(email, other)
  },
  'ways_in.prove.password': async (one, other) => {
    const { session } = await join(one)
    const answer = await session.post('/v1/app/proofs', { password: other })
    assert.ok(answer.status < 300, answer.text)
  },
  'ways_in.recover.new_password': async (one, other) => {
    const { email } = await join('a-password-to-forget')
    await guest.post('/v1/app/recovery', { email })
    let token: string | undefined
    while (token === undefined) token = /recovery#token=([\w-]{43})/.exec(await mail.next())?.[1]
    assert.equal((await guest.post('/v1/app/recovery/password', { token, new_password: one })).status, 200)
    await signsIn(email, other)
  },
}

test('every password field in the contract is covered below', async () => {
  const fields = list(await loadContracts()).flatMap(({ name, endpoint }) =>
    Object.keys(inputSchemas(endpoint).body?.shape ?? {})
      .filter((field) => /password|passphrase/.test(field))
      .map((field) => `${name}.${field}`),
  )
  assert.deepEqual(fields.toSorted(), Object.keys(uses).toSorted())
})

for (const [name, use] of Object.entries(uses))
  test(`${name} accepts every encoding of the same characters`, async () => {
    for (const [password, one, other] of SPELLINGS) {
      assert.notEqual(password.normalize(one), password.normalize(other))
      await use(password.normalize(one), password.normalize(other))
    }
  })

test('a password set on the host works in every encoding', async () => {
  const { email } = await join('a-password-to-reset')
  await resetPassword(server.app.engine.postgres.db, email, 'Café-20260401'.normalize('NFD'))
  await signsIn(email, 'Café-20260401'.normalize('NFC'))
})

test('hashes from before normalization still match in both forms, and nothing else does', async () => {
  const password = 'Grün-ﬁ-20260401'
  for (const form of ['NFC', 'NFD'] as const) {
    const { email } = await join('a-password-of-before')
    const old = await hash(password.normalize(form), { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 })
    await server.app.engine.postgres.db
      .updateTable('accounts')
      .set({ password_hash: old })
      .where('email', '=', email)
      .execute()
    await signsIn(email, password.normalize('NFC'))
    await signsIn(email, password.normalize('NFD'))
    const wrong = await guest.post('/auth/sign-in', { email, password: 'Grun-fi-20260401' })
    assert.equal(wrong.status, 401)
  }
})

test('the minimum length of 8 characters applies after normalization', async () => {
  const short = 'éàüñ'.normalize('NFD')
  assert.equal(short.length, 8)
  const answer = await guest.post('/auth/sign-up', { email: 'short@example.test', name: 'Test', password: short })
  assert.deepEqual([answer.status, answer.body.error.param], [400, 'password'])
})
