import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { testServer } from '#test/server.ts'

test('app pages are never cached, hashed files are cached forever, and the policy allows nothing inline', async () => {
  await using server = await testServer()
  const page = await eventually(server.origin, '/app')
  assert.match(page.headers.get('content-type')!, /^text\/html/)
  assert.equal(page.headers.get('cache-control'), 'no-cache')
  assert.equal(page.headers.get('x-content-type-options'), 'nosniff')
  const policy = page.headers.get('content-security-policy')!
  assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self'/)
  assert.doesNotMatch(policy, /unsafe|https?:|data:|\*/)
  assert.doesNotMatch(page.text, /<style|<script>|style=/)

  const again = await server.stranger.get('/app', { 'if-none-match': page.headers.get('etag')! })
  assert.equal(again.status, 304)
  const script = /src="(\/app\/assets\/[^"]+\.js)"/.exec(page.text)![1]!
  const code = await server.stranger.get(script, { 'accept-encoding': 'gzip' })
  assert.equal(code.headers.get('cache-control'), 'public, max-age=31536000, immutable')
  assert.equal(code.headers.get('content-encoding'), 'gzip')
  assert.match(code.headers.get('content-type')!, /^text\/javascript/)
  assert.ok(code.text.length > 100_000)
  assert.equal((await server.stranger.get(script, { 'accept-encoding': 'identity' })).text, code.text)
})

test('any path below /app returns the page; missing files, siblings, other hosts and other methods are rejected', async () => {
  await using server = await testServer()
  const page = await eventually(server.origin, '/app')
  for (const path of ['/app/', '/app/ai-routing?x=1', '/app/settings/developer', '/app/../app/no/such/page'])
    assert.equal((await server.stranger.get(path)).text, page.text, path)
  const refused = async (path: string, method = 'GET') => {
    const { status, body } = await server.stranger.request(method, path)
    return [status, body.error.type]
  }
  assert.deepEqual(await refused('/app/assets/index-gone.js'), [404, 'not_found'])
  assert.deepEqual(await refused('/apple'), [404, 'not_found'])
  assert.deepEqual(await refused('/app', 'POST'), [405, 'method_not_allowed'])
  assert.equal(await statusFor(server.origin, '/app', 'rebound.example'), 421)
  assert.equal((await server.stranger.request('HEAD', '/app')).text, '')
})

/** Until the build is done, a page says so and reloads itself. */
async function eventually(origin: string, path: string): Promise<{ headers: Headers; text: string }> {
  for (;;) {
    const answer = await fetch(`${origin}${path}`)
    const text = await answer.text()
    if (answer.status !== 503) return { headers: answer.headers, text }
    assert.equal(answer.headers.get('refresh'), '1')
    assert.match(text, /Building the app/)
  }
}

/** `fetch` can't set `Host`. */
function statusFor(origin: string, path: string, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(`${origin}${path}`, { headers: { host } }, (response) => {
      response.resume()
      resolve(response.statusCode!)
    })
    asked.on('error', reject).end()
  })
}
