import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Caller, caller, testServer } from '#test/server.ts'
import { settingsFor, startIssuer } from '#test/vendors/oidc/issuer.ts'
import { isUndecided, readClaims } from './claims.ts'

const token = { iss: 'https://login.example', sub: 'u-1' }
const email = 'ada@example.com'

test('every provider format of `email_verified` is read, and any other value is a denial', () => {
  const forms: [value: unknown, verified: boolean | null][] = [
    [true, true],
    ['true', true],
    ['True', true],
    ['TRUE ', true],
    [1, true],
    ['1', true],
    [undefined, null],
    [null, null],
  ]
  for (const value of [false, 'false', 'False', 0, '0', '', 'yes', 'truely', 2, -1, [], [true], {}, { value: true }])
    forms.push([value, false])
  for (const [value, isVerified] of forms) {
    const result = readClaims({ ...token, email, email_verified: value }, null)
    assert.deepEqual([result.email, result.verified], [email, isVerified], JSON.stringify(value))
    assert.equal(isUndecided({ ...token, email, email_verified: value }), isVerified === null)
  }
})

test('only the response with the address can verify it, and a denial in either response counts', () => {
  const other = 'boss@example.com'
  const table: [inToken: object, inUserinfo: object | null, read: [email: string | null, verified: boolean | null]][] =
    [
      [{ email }, null, [email, null]],
      [{}, { email, email_verified: true }, [email, true]],
      [{ email }, { email, email_verified: 'true' }, [email, true]],
      [{ email }, { email: other, email_verified: true }, [other, true]],
      [{ email }, { email_verified: true }, [email, null]],
      [{ email_verified: true }, { email }, [email, null]],
      [{ email_verified: false }, { email, email_verified: true }, [email, false]],
      [{ email_verified: false }, { email }, [email, false]],
      [{ email }, { email_verified: false }, [email, false]],
      [{ email_verified: true }, null, [null, null]],
      [{ email: 'no address', email_verified: true }, null, [null, null]],
      [{ email_verified: true, upn: email }, null, [email, null]],
      [{ email_verified: true, preferred_username: email }, null, [email, null]],
      [{ email_verified: false, preferred_username: email }, null, [email, false]],
      [{ preferred_username: 'ada' }, null, [null, null]],
      [{ email, xms_edov: true }, null, [email, true]],
      [{ email, xms_edov: '1' }, null, [email, true]],
      [{ email, xms_edov: false }, null, [email, null]],
      [{ email, email_verified: false, xms_edov: true }, null, [email, false]],
    ]
  for (const [inToken, inUserinfo, expected] of table) {
    const { email, verified } = readClaims({ ...token, ...inToken }, inUserinfo as Record<string, unknown> | null)
    assert.deepEqual([email, verified], expected, JSON.stringify([inToken, inUserinfo]))
  }
})

/** From each provider's documentation. */
const providers: Record<string, [claims: Record<string, unknown>, verified: boolean | 'refused']> = {
  'Microsoft Entra ID': [
    { email: 'a@entra.example', name: 'A', preferred_username: 'a@entra.example', oid: 'o', tid: 't', ver: '2.0' },
    false,
  ],
  'Microsoft Entra ID with xms_edov': [{ email: 'b@entra.example', name: 'B', xms_edov: true }, true],
  'Microsoft Entra ID without a mailbox': [{ name: 'C', preferred_username: 'c@entra.example' }, false],
  Google: [{ email: 'd@google.example', email_verified: true, hd: 'google.example', name: 'D' }, true],
  Keycloak: [{ email: 'e@keycloak.example', email_verified: true, preferred_username: 'e', name: 'E' }, true],
  'Keycloak before the address is verified': [
    { email: 'f@keycloak.example', email_verified: false, preferred_username: 'f' },
    'refused',
  ],
  'authentik by default': [{ email: 'g@authentik.example', email_verified: false, preferred_username: 'g' }, 'refused'],
  'AD FS': [{ upn: 'h@adfs.example', unique_name: 'ADFS\\h' }, false],
  Apple: [{ email: 'i@apple.example', email_verified: 'true', is_private_email: 'false' }, true],
  'Amazon Cognito': [{ email: 'j@cognito.example', email_verified: 'true', username: 'j' }, true],
  'a provider without addresses': [{ preferred_username: 'k' }, 'refused'],
}

test('users of real providers can join where anyone may, and an unverified address grants nothing else', async () => {
  await using issuer = await startIssuer()
  await using server = await testServer({
    environment: settingsFor(issuer),
  })
  const alice = await server.person('Alice')
  const team = (await alice.post('/workspaces', { name: 'Team' })).body.data
  const signIn = async (by: Caller, claims: Record<string, unknown>, sub: string) => {
    issuer.sits({ sub, ...claims })
    const attempt = (await by.post('/v1/app/identities/start-sign-in', {})).body.data
    const { search } = await issuer.visit(attempt.url)
    return by.post('/v1/app/identities/sign-in', { secret: attempt.secret, query: search })
  }
  for (const byUserinfo of [false, true])
    for (const [name, [claims, isVerified]] of Object.entries(providers)) {
      issuer.tellsByUserinfo = byUserinfo
      const by = caller(server.origin, { 'x-uk-csrf': '1' })
      const unlike = Object.fromEntries(
        Object.entries(claims).map(([claim, value]) => [
          claim,
          String(value).includes('@') && byUserinfo ? `2${String(value)}` : value,
        ]),
      )
      // Skips claims that occur only in ID tokens.
      if (byUserinfo && (claims.upn ?? claims.preferred_username) !== undefined && claims.email === undefined) continue
      const answer = await signIn(by, unlike, `${name}-${byUserinfo}`)
      if (isVerified === 'refused') {
        assert.deepEqual([answer.status, answer.body.error?.code], [403, 'policy_denied'], `${name}: ${answer.text}`)
        continue
      }
      assert.equal(answer.status, 200, `${name}: ${answer.text}`)
      assert.equal(answer.body.data.email_verified_at !== null, isVerified, name)
      const person = caller(server.origin, {
        cookie: answer.headers.get('set-cookie')!.split(';')[0]!,
        'x-uk-csrf': '1',
      })
      await alice.post(`/workspaces/${team.id}/invitations`, { email: answer.body.data.email })
      const invitations = (await person.get('/invitations')).body.data
      assert.equal(invitations.length, isVerified ? 1 : 0, name)
    }
  issuer.tellsByUserinfo = false
  // Later sign-ins find the account by its subject, regardless of the address.
  const [first] = Object.entries(providers)
  const again = await signIn(
    caller(server.origin, { 'x-uk-csrf': '1' }),
    { email: alice.email, email_verified: true },
    `${first![0]}-false`,
  )
  assert.deepEqual([again.status, again.body.data.email], [200, 'a@entra.example'])
})
