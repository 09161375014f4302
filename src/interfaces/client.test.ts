import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { type Contracts, contracts } from '#modules/contracts.ts'
import { things } from '#test/every-kind.ts'
import { testServer } from '#test/server.ts'
import { ApiError, type Client, createClient, split } from './client.ts'
import { readEvents } from './sse.ts'

test('calls, pages and refusals, typed by the contracts', async () => {
  await using server = await testServer()
  const ada = await server.person('Ada')
  const { key } = await ada.key()
  const byKey: Client<Contracts> = createClient(contracts, { origin: server.origin, key })
  assert.equal((await byKey.me.get()).email, ada.email)
  const settings = await byKey.settings.update({ theme: 'dark' })
  assert.equal(settings.theme satisfies 'system' | 'light' | 'dark', 'dark')
  // @ts-expect-error -- the contract does not have this theme
  await assert.rejects(byKey.settings.update({ theme: 'purple' }), (error) => {
    assert.ok(error instanceof ApiError)
    assert.deepEqual(
      [error.status, error.type, error.code, error.param],
      [400, 'invalid_request', 'invalid_parameter', 'theme'],
    )
    assert.match(error.requestId!, /^[0-9A-Z]{26}$/)
    return true
  })

  const bySession = createClient(contracts, { origin: server.origin, headers: ada.headers })
  for (let i = 0; i < 4; i++) await bySession.api_keys.create({ name: `key ${i}`, scopes: ['chat:read'] })
  const first = await bySession.api_keys.list({ limit: 2 })
  assert.equal(first.rows.length, 2)
  assert.notEqual(first.next, null)
  const names: string[] = []
  for await (const { name } of first.all) names.push(name)
  assert.deepEqual(names.toSorted(), ['key 0', 'key 1', 'key 2', 'key 3', 'test'])
  assert.deepEqual(await bySession.api_keys.revoke({ id: first.rows[0]!.id }), { deleted: true, id: first.rows[0]!.id })
  assert.equal(await bySession.auth.sign_out(), undefined)
  await assert.rejects(bySession.api_keys.list(), { status: 401, type: 'unauthenticated' })
})

test('a proxy’s error is distinguished from the server’s', async () => {
  let answer: [status: number, headers: Record<string, string>, body: string] = [413, {}, '']
  const proxy = createServer((_, response) => void response.writeHead(answer[0], answer[1]).end(answer[2]))
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  using _ = { [Symbol.dispose]: () => void proxy.close() }
  const client = createClient(contracts, { origin: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` })
  const refused = async (...next: typeof answer) => {
    answer = next
    const error = await client.me.get().catch((thrown: unknown) => thrown)
    assert.ok(error instanceof ApiError)
    return [error.type, error.message] as const
  }
  const page = '<html><head><title>413 Request Entity Too Large</title></head></html>'
  const [type, message] = await refused(413, { server: 'nginx/1.27.2' }, page)
  assert.equal(type, 'payload_too_large')
  assert.match(message, /^A proxy in front of the server rejected the body as too large.*`client_max_body_size`/)
  assert.match((await refused(502, {}, '<html>'))[1], /couldn’t reach it/)
  assert.match((await refused(418, {}, ''))[1], /^The server, or a proxy in front of it, returned status 418\.$/)
  const own = JSON.stringify({ error: { type: 'payload_too_large', message: 'The body is larger than 1 MiB.' } })
  assert.deepEqual(await refused(413, {}, own), ['payload_too_large', 'The body is larger than 1 MiB.'])
  assert.match(
    (await refused(500, { 'x-service-version': '2026-11-21' }, 'x'))[1],
    /^The server returned status 500\.$/,
  )
})

test('each field travels where its endpoint takes it', () => {
  const { list, create, content, work, trash } = things.endpoints
  assert.deepEqual(split(list, { status: 'active', tag: ['a', 'b&c'], limit: 3, cursor: undefined }), {
    path: '/things',
    query: '?status=active&tag=a&tag=b%26c&limit=3',
    body: null,
  })
  assert.deepEqual(split(create, { name: 'x', note: null }), {
    path: '/things',
    query: '',
    body: '{"name":"x","note":null}',
  })
  assert.deepEqual(split(content, { name: 'provider/model a' }), {
    path: '/things/provider/model%20a/content',
    query: '',
    body: null,
  })
  assert.deepEqual(split(work, { id: '../me', hours: 1 }), {
    path: '/things/..%2Fme/work',
    query: '',
    body: '{"hours":1}',
  })
  assert.deepEqual(split(trash, { id: 'X' }), { path: '/things/X', query: '', body: null })
  assert.throws(() => split(work, { hours: 1 }), /id is missing/)
})

test('server-sent events come out the same however their bytes are cut', async () => {
  const text =
    '\ufeff: hello\r\n\r\nid: 1\nevent: text.delta\ndata: {"delta":"日本"}\n\nid:2\rdata: [1,\rdata: 2]\r\rdata: {}\r\nevent: run.completed\r\n\r\ndata: "never ended"'
  const bytes = new TextEncoder().encode(text)
  const expected = [
    { id: '1', event: 'text.delta', data: { delta: '日本' } },
    { id: '2', event: 'message', data: [1, 2] },
    { id: '2', event: 'run.completed', data: {} },
  ]
  for (let size = 1; size <= bytes.length; size++) {
    async function* parts() {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
    }
    assert.deepEqual(await Array.fromAsync(readEvents(parts())), expected, `cut every ${size} bytes`)
  }
})
