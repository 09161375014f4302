import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { caller, testServer } from '#test/server.ts'
import { settingsFor, startIssuer } from '#test/vendors/oidc/issuer.ts'

test('redirects of an identity provider are never followed', async () => {
  /** A server reachable only from this machine. */
  const requests: string[] = []
  const inside = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve))
  using _inside = { [Symbol.dispose]: () => inside.close() }
  const { port } = inside.address() as AddressInfo
  await using issuer = await startIssuer()
  await using server = await testServer({
    environment: settingsFor(issuer),
  })
  await server.person('Alice')
  const by = caller(server.origin, { 'x-uk-csrf': '1' })
  const signIn = async () => {
    const attempt = await by.post('/v1/app/identities/start-sign-in', {})
    if (attempt.status !== 200) return attempt
    const { search } = await issuer.visit(attempt.body.data.url)
    return by.post('/v1/app/identities/sign-in', { secret: attempt.body.data.secret, query: search })
  }
  issuer.sits({ sub: 'bob-1', email: 'bob@example.com', email_verified: true })
  const paths = ['/.well-known/openid-configuration', '/keys', '/token', '/userinfo']
  for (const path of paths)
    for (const status of [301, 302, 303, 307, 308])
      for (const host of ['127.0.0.1', 'localhost', '[::1]']) {
        issuer.tellsByUserinfo = path === '/userinfo'
        issuer.redirects = { path, status, to: `http://${host}:${port}${path}` }
        const answer = await signIn()
        const what = `${path} ${status} ${host}: ${answer.text}`
        assert.ok([401, 502].includes(answer.status), what)
        assert.ok(
          ['invalid_credentials', 'upstream_error'].includes(answer.body.error.code ?? answer.body.error.type),
          what,
        )
      }
  // If userinfo redirects, the ID token's address is used as unverified.
  issuer.tellsByUserinfo = false
  issuer.sits({ sub: 'carol-1', email: 'carol@example.com' })
  const carol = await signIn()
  assert.deepEqual([carol.status, carol.body.data.email_verified_at], [200, null])
  issuer.redirects = null
  issuer.sits({ sub: 'bob-1', email: 'bob@example.com', email_verified: true })
  assert.equal((await signIn()).status, 200)
  assert.deepEqual(requests, [])
})
