import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { loadContracts } from '#modules/contracts.ts'
import { type ListedEndpoint, list } from '#core/registry.ts'
import { things } from '#test/every-kind.ts'
import { testServer } from '#test/server.ts'
import { docsMounts } from './docs.ts'
import { operationPath } from './page.ts'

async function serve() {
  const areas = [...(await loadContracts()), things]
  const server = createServer(
    (request, response) => void mounts.find(({ prefix }) => request.url!.startsWith(prefix))!.handle(request, response),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const ours = [new URL(origin).host, 'uk.localhost:7070']
  const mounts = docsMounts(areas, {
    origin: () => origin,
    publicUrl: null,
    version: '2026-11-21',
    checkHost({ headers }) {
      if (!ours.includes(headers.host!)) throw new Error('not ours')
    },
  })
  return { areas, origin, [Symbol.dispose]: () => server.close() }
}

test('every public endpoint and every file of docs/ has a page, and every link and anchor works', async () => {
  using served = await serve()
  const { areas, origin } = served
  const pages = new Map<string, string>()
  const open = async (path: string): Promise<string> => {
    const known = pages.get(path)
    if (known !== undefined) return known
    const response = await fetch(origin + path)
    assert.equal(response.status, 200, path)
    const text = /\.(png|css|js|json)$/.test(path) ? '' : await response.text()
    pages.set(path, text)
    return text
  }
  await open('/docs')
  const isInternal = ({ endpoint }: ListedEndpoint): boolean => endpoint.path.startsWith('/app/')
  const [internal, listedPublicly] = [list(areas).filter(isInternal), list(areas).filter((one) => !isInternal(one))]
  assert.ok(internal.length > 20)
  for (const listed of internal) assert.equal((await fetch(origin + operationPath(listed))).status, 404, listed.name)
  for (const listed of listedPublicly) {
    const text = await open(operationPath(listed))
    assert.ok(text.includes(`/v1${listed.endpoint.path.replace(/:(\w+)/g, '{$1}')}`), listed.name)
    for (const language of ['curl', 'TypeScript', 'Python', 'uk'])
      assert.ok(text.includes(`data-language="${language}"`), listed.name)
    assert.ok(!/undefined|\[object/.test(text), `${listed.name}: a hole in the page`)
  }
  const files = globSync('docs/**/*.md', { cwd: new URL('../../../', import.meta.url) })
  assert.ok(files.length > 25)
  for (const file of files) assert.match(await open(`/${file.replace(/\/README\.md$|\.md$/, '')}`), /<h1/)
  for (const [path, text] of pages) {
    for (const [, link] of text.matchAll(/(?:href|src)="([^"]+)"/g)) {
      if (/^https?:|^\/app/.test(link!)) continue
      const [to, anchor] = link!.split('#') as [string, string | undefined]
      const there = to === '' ? text : await open(to)
      if (anchor !== undefined) assert.ok(there.includes(`id="${anchor}"`), `${path}: ${link}`)
    }
    // Tags are balanced: text from the contracts never becomes markup.
    for (const tag of ['section', 'table', 'pre', 'ul', 'main', 'form', 'nav'])
      assert.equal(text.split(`<${tag}`).length, text.split(`</${tag}>`).length, `${path}: ${tag}`)
    assert.ok(!text.includes('<endpoint>'))
  }
})

test('pages load nothing external and run no inline script', async () => {
  using served = await serve()
  const { origin } = served
  const response = await fetch(`${origin}/docs/api/things/create`)
  const policy = response.headers.get('content-security-policy')!
  for (const part of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "trusted-types 'none'"])
    assert.ok(policy.includes(part), part)
  assert.equal(response.headers.get('x-content-type-options'), 'nosniff')
  const text = await response.text()
  assert.deepEqual(text.match(/<script[^>]*>/g), ['<script src="/docs/docs.js" defer>'])
  const style = await (await fetch(`${origin}/docs/style.css`)).text()
  assert.ok(!/<style|style="|\son\w+="|@import|url\(|javascript:/.test(text + style))
  const again = { headers: { 'if-none-match': response.headers.get('etag')! } }
  assert.equal((await fetch(`${origin}/docs/api/things/create`, again)).status, 304)
})

test('pages show the address the reader used, if it is a known host', async () => {
  using served = await serve()
  const { origin } = served
  const seenBy = (host: string, proto = 'http'): Promise<string> =>
    new Promise((resolve, reject) => {
      get(`${origin}/docs/api/me/get`, { headers: { host, 'x-forwarded-proto': proto } }, (response) => {
        response.setEncoding('utf8')
        let text = ''
        response.on('data', (part: string) => (text += part)).on('end', () => resolve(text))
      }).on('error', reject)
    })
  assert.match(await seenBy('uk.localhost:7070'), /curl http:\/\/uk\.localhost:7070\/v1\/me/)
  assert.match(await seenBy('uk.localhost:7070', 'https'), /curl https:\/\/uk\.localhost:7070\/v1\/me/)
  for (const host of ['evil.example', 'x"><script>', 'uk.localhost:7070/../']) {
    const text = await seenBy(host)
    assert.ok(text.includes(`curl ${origin}/v1/me`), host)
    assert.ok(!text.includes(host), host)
  }
})

test('search finds help by words, prefixes, paths and commands, quickly', async () => {
  using served = await serve()
  const { origin } = served
  const search = async (words: string) => {
    const response = await fetch(`${origin}/docs/search.json?q=${encodeURIComponent(words)}`)
    return (await response.json()) as { path: string; title: string; excerpt: string }[]
  }
  const first = async (words: string) => (await search(words))[0]?.path
  assert.equal(await first('upload a file'), '/docs/api/drive/upload')
  assert.equal(await first('POST /drive/files'), '/docs/api/drive/upload')
  assert.equal(await first('uk chats creat'), '/docs/api/chats/create')
  assert.equal(await first('chats_create'), '/docs/api/chats/create')
  assert.equal(await first('simulated models'), '/docs/guides/simulated-models')
  assert.match((await search('standard webhooks verify'))[0]!.excerpt, /verif/i)
  assert.deepEqual(await search('zzzqqq'), [])
  // Decisions, internals and the app's own routes aren't help.
  for (const words of ['decision consequences context', 'keeper', 'passkey', 'pinned chats']) {
    const paths = (await search(words)).map(({ path }) => path)
    assert.ok(paths.length > 0, words)
    assert.ok(
      !paths.some((path) => /^\/docs\/(decisions|architecture|reliability|long-runs|api\/passkeys)/.test(path)),
      words,
    )
  }
  assert.deepEqual(await search(''), [])
  assert.match(await (await fetch(`${origin}/docs/search?q=%3Cscript%3E`)).text(), /&lt;script&gt;/)

  const { createSearch } = await import('./search.ts')
  const words = Array.from({ length: 400 }, (_, i) => `word${i}`)
  const entries = Array.from({ length: 700 }, (_, i) => ({
    path: `/${i}`,
    title: `Title ${i}`,
    place: 'Here',
    names: '',
    text: words.slice(i % 200, (i % 200) + 200).join(' '),
  }))
  const find = createSearch(entries)
  const times = Array.from({ length: 9 }, () => {
    // CPU time, since the machine may be busy.
    const before = process.cpuUsage()
    assert.equal(find('word1 w ti').length, 12)
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1_000
  })
  assert.ok(Math.min(...times) < 50, `${Math.min(...times)} ms`)
})

test('pages are public and cover the areas of the server', async () => {
  await using server = await testServer()
  const docs = await server.stranger.get('/docs/api/api-keys/list')
  assert.equal(docs.status, 200)
  assert.match(docs.headers.get('x-request-id')!, /^[0-9A-Z]{26}$/)
  assert.ok(docs.text.includes(`curl ${server.origin}/v1/api-keys`))
  const moved = await server.stranger.get('/docs/api-keys')
  assert.deepEqual([moved.status, moved.headers.get('location')], [301, '/docs/api/api-keys'])
  const description = await server.stranger.get('/v1/openapi.json')
  assert.equal(description.body.servers[0].url, `${server.origin}/v1`)
  for (const path of Object.keys(description.body.paths)) {
    const answer = await server.stranger.request(
      'OPTIONS',
      `/v1${path.replace(/\{\w+\}/g, '01KAJ8R3T2M6QK5W9V0XBZC4DE')}`,
    )
    assert.ok(answer.status < 300, `${path} is described and served`)
  }
})

test('unknown pages are 404, and pages only accept reads', async () => {
  using served = await serve()
  const { origin } = served
  for (const path of [
    '/docs/nothing',
    '/docs/..%2f',
    '/docs/style.css/x',
    '/docs/contributing/x',
    '/docs/images/x.png',
  ]) {
    const response = await fetch(origin + path)
    assert.equal(response.status, 404, path)
    assert.match(response.headers.get('content-type') ?? '', /^text\/html/)
    assert.match(response.headers.get('content-security-policy') ?? '', /default-src 'none'/)
    const text = await response.text()
    assert.match(text, /<h1>Page not found<\/h1>/)
    assert.match(text, /<a href="\/docs">/)
  }
  for (const path of ['/docsthings', '/v1/openapi.jsonx']) {
    const response = await fetch(origin + path)
    assert.equal(response.status, 404, path)
    assert.equal(((await response.json()) as { error: { type: string } }).error.type, 'not_found')
  }
  assert.equal((await fetch(`${origin}/docs`, { method: 'POST' })).headers.get('allow'), 'GET, HEAD')
  const description = await fetch(`${origin}/v1/openapi.json`)
  assert.equal(description.headers.get('access-control-allow-origin'), '*')
  assert.equal(((await description.json()) as { servers: { url: string }[] }).servers[0]!.url, `${origin}/v1`)
})
