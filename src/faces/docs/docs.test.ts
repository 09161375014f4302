import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { loadContracts } from '#areas/contracts.ts'
import { list } from '#kernel/registry.ts'
import { things } from '#test/every-kind.ts'
import { testServer } from '#test/server.ts'
import { docsMounts } from './docs.ts'
import { pathOf } from './page.ts'

async function serve() {
  const areas = [...(await loadContracts()), things]
  const server = createServer((request, response) =>
    mounts.find(({ prefix }) => request.url!.startsWith(prefix))!.handle(request, response),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const mounts = docsMounts(areas, { origin: () => origin, version: '2026-11-21' })
  return { areas, origin, [Symbol.dispose]: () => server.close() }
}

test('every endpoint of every area has its place, and every link leads somewhere', async () => {
  using served = await serve()
  const { areas, origin } = served
  const home = await (await fetch(`${origin}/docs`)).text()
  const pages = new Map([['/docs', home]])
  for (const area of areas) {
    const response = await fetch(origin + pathOf(area))
    assert.equal(response.status, 200)
    const text = await response.text()
    pages.set(pathOf(area), text)
    for (const { verb, endpoint } of list([area])) {
      assert.ok(text.includes(`id="${verb}"`), `${area.name}.${verb}`)
      assert.ok(text.includes(`/v1${endpoint.path.replace(/:(\w+)/g, '{$1}')}`))
    }
    assert.ok(!/undefined|\[object/.test(text), `${area.name}: a hole in the page`)
  }
  for (const [path, text] of pages) {
    for (const [, link] of text.matchAll(/href="([^"]+)"/g)) {
      const [to, anchor] = link!.split('#') as [string, string | undefined]
      if (anchor !== undefined)
        assert.ok((to === '' ? text : pages.get(to)!).includes(`id="${anchor}"`), `${path}: ${link}`)
      else assert.equal((await fetch(origin + to)).status, 200, `${path}: ${link}`)
    }
    // A tag that is opened is closed: nothing that an area says becomes markup.
    for (const tag of ['section', 'table', 'details', 'pre', 'ul', 'main'])
      assert.equal(text.split(`<${tag}`).length, text.split(`</${tag}>`).length, `${path}: ${tag}`)
    assert.ok(!text.includes('<endpoint>'))
  }
})

test('pages ask nothing of anyone else, and run nothing', async () => {
  using served = await serve()
  const { origin } = served
  const response = await fetch(`${origin}/docs/things`)
  assert.equal(
    response.headers.get('content-security-policy'),
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  )
  assert.equal(response.headers.get('x-content-type-options'), 'nosniff')
  const text = await response.text()
  assert.ok(
    !/<script|<style|style="|src=|@import|url\(/.test(text + (await (await fetch(`${origin}/docs/style.css`)).text())),
  )
  assert.equal(
    (await fetch(`${origin}/docs/things`, { headers: { 'if-none-match': response.headers.get('etag')! } })).status,
    304,
  )
})

test('a server serves them without credentials, for the areas that it serves', async () => {
  await using server = await testServer()
  const docs = await server.stranger.get('/docs/api-keys')
  assert.equal(docs.status, 200)
  assert.match(docs.headers.get('x-request-id')!, /^[0-9A-Z]{26}$/)
  assert.ok(docs.text.includes(`curl ${server.origin}/v1/api-keys`))
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

test('what is not a page is 404, and a page is only read', async () => {
  using served = await serve()
  const { origin } = served
  for (const path of ['/docs/nothing', '/docs/..%2f', '/docs/style.css/x']) {
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
