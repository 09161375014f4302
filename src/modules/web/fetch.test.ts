import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { docxOf, pdfOf } from '#test/drive/documents.ts'
import { testServer } from '#test/server.ts'
import { startSite } from '#test/outside/site.ts'
import { PATIENCE_MS } from '#test/until.ts'

const article = `<!doctype html><html lang="en"><head><title>Tea | The Site</title><meta name="author" content="Ada"></head><body>
<nav><a href="/">Home</a><a href="/about">About us all</a></nav>
<article><h1>Tea</h1><p>Tea is a drink that is made by pouring hot water over leaves, as <a href="../history#old">its history</a> tells at length.</p>
<ul><li>green<ul><li>sencha</li></ul></li><li>black</li></ul>
<table><thead><tr><th>Kind</th><th>Minutes</th></tr></thead><tbody><tr><td>green</td><td>2</td></tr></tbody></table>
<pre><code class="language-sh">boil --water</code></pre>
<script>alert('no')</script></article><footer>Imprint and other things</footer></body></html>`

test('a page is returned as Markdown with absolute links, tables, lists and code, without menus and scripts', async () => {
  await using site = await startSite({ '/drinks/tea': article })
  await using server = await testServer({ environment: { UK_FETCH_ALLOW: site.host } })
  const alice = await server.person('Alice')
  const answer = await alice.post('/web/fetch', { url: `${site.origin}/drinks/tea` })
  assert.equal(answer.status, 200, answer.text)
  const page = answer.body.data
  assert.match(page.title, /^Tea/)
  assert.equal(page.language, 'en')
  assert.match(page.markdown, new RegExp(`\\[its history\\]\\(${site.origin}/history#old\\)`))
  assert.match(page.markdown, /\| Kind \| Minutes \|/)
  assert.match(page.markdown, /```sh\nboil --water\n```/)
  assert.match(page.markdown, /- green\n\s+- sencha/)
  assert.doesNotMatch(page.markdown, /alert|Imprint|About us/)
  assert.deepEqual(site.asked, ['/robots.txt', '/drinks/tea'])

  const part = await alice.post('/web/fetch', { url: `${site.origin}/drinks/tea`, offset: 10, max_characters: 20 })
  assert.equal(part.body.data.markdown, page.markdown.slice(10, 30))
  assert.equal(part.body.data.truncated, true)
  assert.equal(part.body.data.total_characters, page.markdown.length)
  assert.equal(site.asked.filter((path) => path === '/robots.txt').length, 1, 'robots.txt is kept')
})

test('PDFs, compressed JSON and other encodings are read, and pictures are rejected with the reason', async () => {
  const served =
    (type: string, bytes: Buffer | string, more: Record<string, string> = {}) =>
    (_: unknown, response: import('node:http').ServerResponse) =>
      void response.writeHead(200, { 'content-type': type, ...more }).end(bytes)
  const docx = await docxOf('<w:p><w:r><w:t>A letter of three words</w:t></w:r></w:p>')
  await using site = await startSite({
    '/a.pdf': served('application/pdf', pdfOf(['First page', 'Second page'])),
    '/b.json': served('application/json', gzipSync('{"a": [1, 2]}'), { 'content-encoding': 'gzip' }),
    '/c.txt': served('text/plain; charset=iso-8859-1', Buffer.from('caf\xe9', 'latin1')),
    '/d.png': served('image/png', Buffer.from([0x89, 0x50])),
    '/e.pdf': served('application/octet-stream', pdfOf(['Named only by its address'])),
    '/e': served('application/octet-stream', pdfOf(['Not named at all'])),
    '/g': served('application/vnd.openxmlformats-officedocument.wordprocessingml.document', docx),
    '/f': served('text/html', `<p>Just a line</p>`),
  })
  await using server = await testServer({ environment: { UK_FETCH_ALLOW: site.host } })
  const alice = await server.person('Alice')
  const fetched = async (path: string) => (await alice.post('/web/fetch', { url: site.origin + path })).body
  assert.match((await fetched('/a.pdf')).data.markdown, /First page\s+Second page/)
  assert.equal((await fetched('/a.pdf')).data.pages, 2)
  assert.equal((await fetched('/b.json')).data.markdown, '{"a": [1, 2]}')
  assert.equal((await fetched('/c.txt')).data.markdown, 'café')
  assert.equal((await fetched('/d.png')).error.type, 'unsupported_media_type')
  assert.match((await fetched('/e')).data.markdown, /Not named at all/)
  assert.match((await fetched('/e.pdf')).data.markdown, /Named only/)
  assert.match((await fetched('/g')).data.markdown, /A letter of three words/)
  assert.match((await fetched('/f')).data.markdown, /Just a line/)
})

test('private addresses are rejected at every redirect, and nothing is sent to them', async () => {
  await using secret = await startSite({ '/': 'the secret' })
  await using site = await startSite({
    '/in': (_, response) => response.writeHead(302, { location: `${secret.origin}/` }).end(),
    '/loop': (_, response) => response.writeHead(302, { location: '/loop' }).end(),
    '/file': (_, response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
    '/ok': (_, response) => response.writeHead(301, { location: '/there' }).end(),
    '/there': '<h1>There</h1><p>Five words at least here.</p>',
  })
  await using server = await testServer({ environment: { UK_FETCH_ALLOW: site.host } })
  const alice = await server.person('Alice')
  const port = secret.host.split(':')[1]!
  const direct = [
    '127.0.0.1',
    'localhost',
    '0x7f.1',
    '2130706433',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '169.254.169.254',
    '10.0.0.1',
    '0.0.0.0',
  ]
  for (const host of direct) {
    const answer = await alice.post('/web/fetch', { url: `http://${host}:${port}/` })
    assert.equal(answer.status, 403, `${host}: ${answer.text}`)
    assert.equal(answer.body.error.code, 'policy_denied')
    assert.equal(answer.body.error.param, 'url')
  }
  assert.equal((await alice.post('/web/fetch', { url: `${site.origin}/in` })).body.error.code, 'policy_denied')
  assert.equal((await alice.post('/web/fetch', { url: `${site.origin}/file` })).body.error.code, 'policy_denied')
  assert.match(
    (await alice.post('/web/fetch', { url: `${site.origin}/loop` })).body.error.message,
    /redirects more than 10 times/,
  )
  const ok = await alice.post('/web/fetch', { url: `${site.origin}/ok#part` })
  assert.equal(ok.body.data.final_url, `${site.origin}/there`)
  for (const url of ['ftp://example.com/', 'javascript:alert(1)', 'nonsense', `http://a:b@${site.host}/there`])
    assert.equal((await alice.post('/web/fetch', { url })).status, 400, url)
  assert.deepEqual(secret.asked, [])
})

test('robots.txt is respected, also after a redirect, and a server error in fetching it blocks the site temporarily', async () => {
  await using site = await startSite({
    '/robots.txt': (_, response) =>
      response
        .writeHead(200)
        .end(
          'User-agent: *\nDisallow: /private\n\nUser-agent: UkiyoFetch\nDisallow: /agents-not\nDisallow: /private\n',
        ),
    '/private/a': 'no',
    '/agents-not': 'no',
    '/moved': (_, response) => response.writeHead(302, { location: '/private/a' }).end(),
    '/open': '<p>come in, all of you</p>',
  })
  await using broken = await startSite({ '/robots.txt': (_, response) => response.writeHead(503).end(), '/': 'x' })
  await using server = await testServer({ environment: { UK_FETCH_ALLOW: `${site.host},${broken.host}` } })
  const alice = await server.person('Alice')
  for (const path of ['/private/a', '/agents-not', '/moved']) {
    const { body } = await alice.post('/web/fetch', { url: site.origin + path })
    assert.equal(body.error.code, 'policy_denied', path)
    assert.equal(body.error.details.reason, 'robots')
  }
  assert.equal((await alice.post('/web/fetch', { url: `${site.origin}/open` })).status, 200)
  assert.ok(!site.asked.includes('/private/a'))
  assert.equal((await alice.post('/web/fetch', { url: `${broken.origin}/` })).body.error.code, 'policy_denied')
})

test('a caller that disconnects while robots.txt loads is released immediately, and another waiting caller gets the page', async () => {
  const asked = Promise.withResolvers<ServerResponse>()
  await using site = await startSite({
    '/robots.txt': (_, response) => asked.resolve(response),
    '/page': '<p>come in, all of you</p>',
  })
  await using server = await testServer({ environment: { UK_FETCH_ALLOW: site.host, UK_LIMIT_IN_FLIGHT: '1' } })
  const [alice, bob] = [await server.person('Alice'), await server.person('Bob')]
  const leaving = new AbortController()
  const left = fetch(`${server.origin}/v1/web/fetch`, {
    method: 'POST',
    headers: { ...alice.headers, 'content-type': 'application/json' },
    body: JSON.stringify({ url: `${site.origin}/page` }),
    signal: leaving.signal,
  })
  const robots = await asked.promise
  const waiting = bob.post('/web/fetch', { url: `${site.origin}/page` })
  assert.equal((await alice.get('/me')).status, 429)
  leaving.abort()
  await assert.rejects(left)
  let { status } = await alice.get('/me')
  for (const until = Date.now() + PATIENCE_MS; status === 429 && Date.now() < until;)
    ({ status } = await alice.get('/me'))
  assert.equal(status, 200)
  robots.writeHead(404).end()
  assert.equal((await waiting).status, 200)
  assert.equal(site.asked.filter((path) => path === '/robots.txt').length, 1)
})

test('missing, too large, compression-bomb and broken responses have different errors', async () => {
  await using site = await startSite({
    '/large': (_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' })
      const piece = 'x'.repeat(1 << 20)
      for (let i = 0; i < 12; i++) response.write(piece)
      response.end()
    },
    '/bomb': (_, response) =>
      response
        .writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' })
        .end(gzipSync(Buffer.alloc(50 << 20))),
    '/cut': (_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-length': '100' }).write('half')
      setImmediate(() => response.destroy())
    },
    '/bad.pdf': (_, response) => response.writeHead(200, { 'content-type': 'application/pdf' }).end('%PDF-1.7 nothing'),
  })
  await using server = await testServer({ environment: { UK_FETCH_ALLOW: site.host } })
  const alice = await server.person('Alice')
  const failure = async (path: string) => {
    const answer = await alice.post('/web/fetch', { url: site.origin + path })
    assert.equal(answer.status, 502, answer.text)
    return answer.body.error
  }
  assert.equal((await failure('/missing')).details.status, 404)
  assert.match((await failure('/large')).message, /larger than 10485760 bytes/)
  assert.match((await failure('/bomb')).message, /larger than/)
  assert.match((await failure('/cut')).message, /closed the connection/)
  assert.match((await failure('/bad.pdf')).message, /The PDF can’t be read/)
  const nowhere = await alice.post('/web/fetch', { url: 'http://no-such-host.invalid/' })
  assert.equal(nowhere.status, 502)
})
