import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { testServer } from '../../server.ts'

const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/

interface RawAnswer {
  status: number
  headers: Headers
  text: string
}

function send(origin: string, ...parts: (string | Buffer)[]): Promise<RawAnswer> {
  const { hostname, port } = new URL(origin)
  return new Promise((resolve, reject) => {
    let all = ''
    const socket = connect(Number(port), hostname, () => {
      for (const part of parts) socket.write(part)
    })
    socket.on('data', (part) => (all += part.toString('latin1'))).on('error', reject)
    socket.on('close', () => {
      const [head = '', ...rest] = all.split('\r\n\r\n')
      const [line = '', ...fields] = head.split('\r\n')
      resolve({
        status: Number(line.split(' ')[1]),
        headers: new Headers(fields.map((field): [string, string] => [field.split(': ')[0]!, field.split(': ')[1]!])),
        text: rest.join('\r\n\r\n'),
      })
    })
  })
}

const closing = 'host: localhost\r\nconnection: close\r\n'

test('every response has a request ID and a version, even for malformed requests', async () => {
  await using server = await testServer()
  const get = (path: string) => `GET ${path} HTTP/1.1\r\n${closing}\r\n`
  const requests: [string, number][] = [
    [get('/v1/nowhere'), 404],
    [get('/v1/me'), 401],
    [get('/healthz'), 200],
    [get('/healthz/further'), 404],
    [`PUT /readyz HTTP/1.1\r\n${closing}\r\n`, 405],
    [get('/metrics'), 200],
    [get('/docs'), 200],
    [get('/docs/nothing'), 404],
    [get('/v1/openapi.json'), 200],
    [get('/compat-a/v1/models'), 401],
    [get('/compat-a/nothing'), 404],
    [get('/mcp'), 405],
    [get('/mcp/further'), 404],
    [`OPTIONS /v1/me HTTP/1.1\r\n${closing}\r\n`, 204],
    [`OPTIONS /compat-b/v1/messages HTTP/1.1\r\n${closing}\r\n`, 204],
    [`OPTIONS /mcp HTTP/1.1\r\n${closing}\r\n`, 204],
    ['GARBAGE\r\n\r\n', 400],
    ['GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n', 400],
    [`GET /healthz HTTP/1.1\r\n${closing}x-long: ${'a'.repeat(40_000)}\r\n\r\n`, 431],
    [`GET /v1/me HTTP/1.1\r\n${closing}expect: the unexpected\r\n\r\n`, 401],
    [
      `POST /v1/auth/sign-in HTTP/1.1\r\n${closing}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
    ],
    [`POST /v1/auth/sign-in HTTP/1.1\r\n${closing}x-uk-csrf: 1\r\ntransfer-encoding: chunked\r\n\r\nno size\r\n`, 400],
    [get('http://localhost/healthz'), 200],
    [get('HTTP://LOCALHOST:4242/v1/me?a=1'), 401],
    [get('http://localhost'), 302],
    [get('http://localhost?a=1'), 404],
    [get('http://me@localhost/healthz'), 404],
    [get('http:///healthz'), 404],
    [get('ftp://localhost/healthz'), 404],
    ['GET http://localhost/healthz HTTP/1.1\r\nconnection: close\r\n\r\n', 400],
    // The target's host counts, not the header.
    [get('http://evil.example/v1/auth/session'), 421],
  ]
  for (const [request, status] of requests) {
    const answer = await send(server.origin, request)
    const name = request.slice(0, 60)
    assert.equal(answer.status, status, name)
    assert.match(answer.headers.get('x-request-id') ?? '', ULID, name)
    assert.equal(answer.headers.get('x-service-version'), '2026-11-21', name)
    if (status === 400 || status === 431) assert.equal(JSON.parse(answer.text).error.type, 'invalid_request', name)
  }
})

test('a transfer coding other than `chunked` is a 501 on every surface, and its body is discarded', async () => {
  await using server = await testServer()
  const chunks = 'content-type: application/json\r\nx-uk-csrf: 1\r\n'
  for (const path of [
    '/v1/auth/sign-in',
    '/v1/me',
    '/compat-a/v1/chat/completions',
    '/compat-b/v1/messages',
    '/compat-c/v1/chat/completions',
    '/mcp',
    '/healthz',
    '/docs',
    '/app/',
  ])
    for (const coding of ['gzip, chunked', 'deflate,chunked', 'identity, chunked', 'gzip, Chunked']) {
      const head = `POST ${path} HTTP/1.1\r\n${closing}${chunks}transfer-encoding: ${coding}\r\n\r\n`
      const answer = await send(server.origin, `${head}2\r\n{}\r\n0\r\n\r\n`)
      assert.equal(answer.status, 501, `${path} ${coding}: ${answer.text}`)
    }
})

test('a client that uploads too much and then closes still receives the reason', async () => {
  await using server = await testServer()
  const head = `POST /v1/auth/sign-in HTTP/1.1\r\n${closing}x-uk-csrf: 1\r\ncontent-type: application/json\r\n`
  const megabytes = Buffer.alloc(16 << 20, 'a')
  const announcedReply = await send(server.origin, `${head}content-length: ${megabytes.length}\r\n\r\n`, megabytes)
  assert.equal(announcedReply.status, 413)
  const size = `${megabytes.length.toString(16)}\r\n`
  const chunkedReply = await send(
    server.origin,
    `${head}transfer-encoding: chunked\r\n\r\n${size}`,
    megabytes,
    '\r\n0\r\n\r\n',
  )
  assert.equal(chunkedReply.status, 413)
  assert.equal(JSON.parse(chunkedReply.text).error.type, 'payload_too_large')
})

test('settings change only if unchanged since read, and weak tags don’t match', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const etag = (await alice.get('/settings')).headers.get('etag')!
  assert.equal((await alice.patch('/settings', { theme: 'dark' }, { 'if-match': `W/${etag}` })).status, 412)
  assert.equal((await alice.patch('/settings', { theme: 'dark' }, { 'if-match': `"other", ${etag}` })).status, 200)
  const stale = await alice.patch('/settings', { theme: 'light' }, { 'if-match': etag })
  assert.deepEqual([stale.status, stale.body.error.type], [412, 'precondition_failed'])
  const now = await alice.get('/settings')
  assert.equal(now.body.data.theme, 'dark')
  const tag = now.headers.get('etag')!
  assert.equal((await alice.get('/settings', { 'if-none-match': `"other", W/${tag}` })).status, 304)
  const both = await Promise.all(
    ['light', 'system'].map((theme) => alice.patch('/settings', { theme }, { 'if-match': tag })),
  )
  assert.deepEqual(both.map(({ status }) => status).toSorted(), [200, 412])
})

test('parameters can have any name, and text is UTF-8', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  for (const name of ['__proto__', 'constructor', 'toString', 'nothing']) {
    const answer = await alice.get(`/agents?${name}=1`)
    assert.deepEqual(
      [answer.status, answer.body.error?.code, answer.body.error?.param],
      [400, 'unknown_parameter', name],
    )
  }
  assert.equal((await alice.get('/agents?limit=1&limit=2')).body.error.code, 'invalid_parameter')
  const latin1 = Buffer.from('{"default_model":"caf\xe9"}', 'latin1')
  const cookie = alice.headers.cookie
  const answer = await send(
    server.origin,
    `PATCH /v1/settings HTTP/1.1\r\n${closing}x-uk-csrf: 1\r\ncookie: ${cookie}\r\ncontent-type: application/json\r\ncontent-length: ${latin1.length}\r\n\r\n`,
    latin1,
  )
  assert.deepEqual([answer.status, JSON.parse(answer.text).error.code], [400, 'malformed_json'])
})

test('the root address redirects to the app', async () => {
  await using server = await testServer()
  for (const method of ['GET', 'HEAD']) {
    const root = await fetch(`${server.origin}/`, { method, redirect: 'manual' })
    assert.deepEqual([root.status, root.headers.get('location')], [302, '/app'], method)
    assert.match(root.headers.get('x-request-id') ?? '', /^[0-7]/)
  }
})
