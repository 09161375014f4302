// Slow: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answer, type Caller, caller, testServer } from '#test/server.ts'
import { type Issuer, type Someone, settingsFor, startIssuer } from '#test/vendors/oidc/issuer.ts'

const settings = (issuer: Issuer) => settingsFor(issuer)
const guest = (origin: string): Caller => caller(origin, { 'x-uk-csrf': '1' })

async function signIn(origin: string, issuer: Issuer, someone: Someone, body: object = {}): Promise<Answer> {
  issuer.sits(someone)
  const attempt = await guest(origin).post('/v1/app/identities/start-sign-in', body)
  assert.equal(attempt.status, 200, attempt.text)
  const back = await issuer.visit(attempt.body.data.url)
  return guest(origin).post('/v1/app/identities/sign-in', { secret: attempt.body.data.secret, query: back.search })
}

const absent = Symbol('absent')
/** Values of `email_verified` and their meanings. */
const values: readonly (readonly [value: unknown, meaning: boolean | null])[] = [
  [true, true],
  ['true', true],
  ['True', true],
  [1, true],
  ['1', true],
  [false, false],
  ['false', false],
  ['False', false],
  [0, false],
  ['', false],
  ['yes, surely', false],
  [{ value: true }, false],
  [[true], false],
  [absent, null],
  [null, null],
]
const claimOf = (value: unknown) => (value === absent ? {} : { email_verified: value })

type Policy = 'anyone' | 'invited' | 'house.example' | 'nobody'
type Way = 'new' | 'domain' | 'invited' | 'link' | 'account'
const ways: readonly Way[] = ['new', 'domain', 'invited', 'link', 'account']

/** The expected response: verified account, unverified account, or refusal. */
function expectedOutcome(policy: Policy, way: Way, meaning: boolean | null): string {
  if (meaning === false) return 'policy_denied'
  if (way === 'account' && (meaning === true || policy === 'anyone')) return 'already_exists'
  if (policy === 'anyone') return meaning === true ? 'verified' : 'unverified'
  if (policy === 'nobody' || way === 'new' || way === 'account') return 'policy_denied'
  if (meaning === null) return way === 'link' ? 'unverified' : 'policy_denied'
  return way === 'domain' && policy === 'invited' ? 'policy_denied' : 'verified'
}

test('a missing `email_verified` is neither true nor false: each value, policy and way to join', async () => {
  await using issuer = await startIssuer()
  await using server = await testServer({ environment: settings(issuer) })
  const alice = await server.person('Alice')
  const team = (await alice.post('/workspaces', { name: 'Team' })).body.data
  const wrong: string[] = []
  for (const policy of ['anyone', 'invited', 'house.example', 'nobody'] as const) {
    await using twin = await server.twin({ UK_OIDC_JOIN: policy })
    for (const [index, [value, meaning]] of values.entries())
      for (const way of ways) {
        const name = `${policy.split('.')[0]}-${way}-${index}`
        const email =
          way === 'account' ? alice.email : `${name}@${way === 'domain' ? 'house.example' : 'other.example'}`
        const invitation =
          way === 'invited' || way === 'link'
            ? (await alice.post(`/workspaces/${team.id}/invitations`, { email })).body.data
            : null
        const answer = await signIn(
          twin.origin,
          issuer,
          { sub: name, email, ...claimOf(value) },
          way === 'link' ? { invitation_token: invitation.token } : {},
        )
        const verdict =
          answer.status !== 200
            ? answer.body.error.code
            : answer.body.data.email_verified_at === null
              ? 'unverified'
              : 'verified'
        if (verdict !== expectedOutcome(policy, way, meaning))
          wrong.push(`${name} ${JSON.stringify(value)}: ${verdict}, not ${expectedOutcome(policy, way, meaning)}`)
      }
  }
  assert.deepEqual(wrong, [])
  const { rows } = await server.app.engine.postgres.pool.query(
    'select count(*)::int as linked from identities where account_id = $1',
    [alice.id],
  )
  assert.equal(rows[0].linked, 0)
})
