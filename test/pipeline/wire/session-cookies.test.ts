import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testServer } from '#test/server.ts'

test('a page on another host or port can’t set a session: two cookies and lookalike names are refused', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const mallory = await server.person('Mallory')
  const [own, foreignCookie] = [alice.headers.cookie!, mallory.headers.cookie!]
  await using secure = await server.twin({ UK_PUBLIC_URL: 'https://uk.example.com' })
  for (const { origin, prefix } of [
    { origin: server.origin, prefix: '' },
    { origin: secure.origin, prefix: '__Host-' },
  ]) {
    const me = async (cookie: string) => {
      const response = await fetch(`${origin}/v1/me`, { headers: { cookie } })
      const body = (await response.json()) as { data?: { id: string }; error?: { code: string; message: string } }
      return { id: body.data?.id, code: body.error?.code, message: body.error?.message }
    }
    const [mine, theirs] = [`${prefix}${own}`, `${prefix}${foreignCookie}`]
    assert.equal((await me(mine)).id, alice.id)
    assert.equal((await me(`${mine}; theme=dark; ${mine}`)).id, alice.id)
    // Browsers send the cookie with the longer path or the older one first.
    for (const both of [`${theirs}; ${mine}`, `${mine}; x=1; ${theirs}`, `${mine}; ${prefix}uk_session=`]) {
      const refusal = await me(both)
      assert.deepEqual([refusal.id, refusal.code], [undefined, 'session_expired'], both)
      assert.match(refusal.message!, /two different `.*uk_session` cookies.*Delete the cookies for this host/)
    }
    for (const lookalike of [
      theirs.toUpperCase(),
      `\u00a0${theirs}`,
      `\u0085${theirs}`,
      theirs.replace('=', '\u00a0='),
      `=${theirs}`,
    ])
      assert.equal((await me(lookalike)).code, 'missing_credentials', JSON.stringify(lookalike))
    assert.equal((await me(`\u00a0${theirs}; ${mine}`)).id, alice.id)
    const signIn = await fetch(`${origin}/v1/auth/sign-in`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-uk-csrf': '1' },
      body: JSON.stringify({ email: alice.email, password: alice.password }),
    })
    // `__Host-` protects against other hosts only with these attributes.
    const attributes = signIn.headers.get('set-cookie')!.split('; ').slice(1)
    assert.deepEqual(
      [attributes.includes('Path=/'), attributes.includes('HttpOnly'), attributes.some((one) => /^domain/i.test(one))],
      [true, true, false],
    )
    assert.equal(attributes.includes('Secure'), prefix !== '')
  }
})
