import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { notesService } from '#test/mcp/notes.ts'
import { type Answer, type Caller, type Person, type TestServer, caller, testServer } from '#test/server.ts'

let server: TestServer
let alice: Person
let key: Caller & { key: string }

before(async () => {
  server = await testServer({ services: [notesService().service], environment: { UK_ALLOWED_HOSTS: 'uk.example.com' } })
  alice = await server.person('Alice')
  key = await alice.key()
})
after(() => server[Symbol.asyncDispose]())

const accept = 'application/json, text/event-stream'
const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}
const message = (method: string, params: Record<string, unknown> = {}) => ({
  jsonrpc: '2.0',
  id: 'seven',
  method,
  params,
})

/** A 2026-07-28 message, with matching headers by default. */
function modern(
  method: string,
  params: Record<string, unknown> = {},
  headers: Record<string, string> = {},
  who: Caller = key,
): Promise<Answer> {
  const name = typeof params.name === 'string' ? { 'mcp-name': params.name } : {}
  const own = { accept, 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...name, ...headers }
  return who.post('/mcp', message(method, { ...params, _meta: { ...meta, ...(params._meta as object) } }), own)
}
const find = (headers?: Record<string, string>, who?: Caller) =>
  modern('tools/call', { name: 'find', arguments: { query: 'notes' } }, headers, who)

/** A request with any `Host`, which fetch doesn't allow. */
function withHost(host: string, headers: Record<string, string> = {}): Promise<{ status: number; body: string }> {
  const { port } = new URL(server.origin)
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>()
  const request = httpRequest({ host: '127.0.0.1', port, path: '/mcp', method: 'POST', setHost: false }, (response) => {
    let body = ''
    response
      .on('data', (part) => (body += String(part)))
      .on('end', () => resolve({ status: response.statusCode!, body }))
  })
  request.on('error', reject)
  for (const [name, value] of Object.entries({
    host,
    accept,
    'content-type': 'application/json',
    'x-api-key': key.key,
    ...headers,
  }))
    request.setHeader(name, value)
  request.end(JSON.stringify(message('tools/list')))
  return promise
}

describe('authentication', () => {
  test('a request without a key is 401 with a challenge', async () => {
    const answer = await find({}, server.stranger)
    assert.equal(answer.status, 401)
    assert.equal(answer.headers.get('www-authenticate'), 'Bearer realm="ukiyo"')
    assert.equal(answer.body.error.code, 'missing_credentials')
  })

  test('an invalid key is 401 and named as the problem, in either header', async () => {
    for (const headers of [
      { authorization: 'Bearer uk_nonsense' },
      { 'x-api-key': 'uk_nonsense' },
      { authorization: 'Basic YTpi' },
    ]) {
      const answer = await find({}, caller(server.origin, headers))
      assert.equal(answer.status, 401)
      assert.equal(answer.headers.get('www-authenticate'), 'Bearer realm="ukiyo", error="invalid_token"')
    }
  })

  test('a session is not a credential here', async () => {
    assert.equal((await find({}, alice)).status, 401)
  })

  test('both headers are accepted, and every response has the common headers', async () => {
    const answer = await find({ 'x-client-request-id': 'mine' }, caller(server.origin, { 'x-api-key': key.key }))
    assert.equal(answer.status, 200)
    assert.match(answer.headers.get('x-request-id')!, /^[0-9A-Z]{26}$/)
    assert.equal(answer.headers.get('x-client-request-id'), 'mine')
    assert.equal(answer.headers.get('x-service-version'), '2026-11-21')
    assert.match(answer.headers.get('ratelimit')!, /^"reads";r=\d+/)
    assert.equal(answer.headers.get('www-authenticate'), null)
    assert.equal(answer.headers.get('mcp-session-id'), null)
  })

  test('an unknown Host is 421; known are its names, loopback on any port, and allowed hosts', async () => {
    assert.equal((await withHost('evil.example.com')).status, 421)
    for (const host of ['localhost:9', '127.0.0.1', '[::1]:4242', 'uk.example.com'])
      assert.equal((await withHost(host)).status, 200)
  })

  test('a cross-site request is 403; loopback and allowed hosts pass', async () => {
    for (const origin of ['https://evil.example.com', 'null', 'file://'])
      assert.equal((await find({ origin })).status, 403)
    for (const origin of ['http://localhost:6274', server.origin, 'https://uk.example.com']) {
      const answer = await find({ origin })
      assert.equal(answer.status, 200)
      assert.equal(answer.headers.get('access-control-allow-origin'), '*')
    }
  })

  test('a preflight lists allowed methods and headers', async () => {
    const answer = await server.stranger.request('OPTIONS', '/mcp', undefined, {
      origin: 'http://localhost:6274',
      'access-control-request-method': 'POST',
    })
    assert.equal(answer.status, 204)
    assert.equal(answer.headers.get('access-control-allow-methods'), 'POST')
    assert.match(answer.headers.get('access-control-allow-headers')!, /Mcp-Method/)
  })

  test('only POST is accepted', async () => {
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const answer = await key.request(method, '/mcp')
      assert.deepEqual([answer.status, answer.headers.get('allow')], [405, 'POST'])
    }
  })

  test('other paths are 404, and OAuth is not announced', async () => {
    for (const path of ['/mcp/', '/mcpx', '/mcp/sse']) assert.equal((await key.post(path, {})).status, 404)
    for (const path of [
      '/.well-known/oauth-protected-resource',
      '/.well-known/oauth-protected-resource/mcp',
      '/.well-known/oauth-authorization-server',
    ])
      assert.equal((await fetch(new URL(path, server.origin))).status, 404)
  })

  test('a body over a mebibyte is 413', async () => {
    const answer = await modern('tools/call', { name: 'find', arguments: { query: 'x'.repeat(1 << 20) } })
    assert.deepEqual([answer.status, answer.body.error.type], [413, 'payload_too_large'])
  })

  test('reads are counted per message, writes per call', async () => {
    await using strict = await testServer({
      services: [notesService().service],
      environment: { UK_LIMIT_READS: '4', UK_LIMIT_WRITES: '1' },
    })
    const holder = await (await strict.person('Alice')).key()
    const write = () =>
      modern('tools/call', { name: 'do', arguments: { name: 'notes.create', input: { text: 'a' } } }, {}, holder)
    assert.equal((await write()).body.result.isError, undefined)
    const second = await write()
    assert.equal(second.status, 200)
    assert.deepEqual(
      [second.body.result.isError, second.body.result.structuredContent.error.type],
      [true, 'rate_limited'],
    )
    await find({}, holder)
    await find({}, holder)
    const fifth = await find({}, holder)
    assert.deepEqual([fifth.status, fifth.body.error.type], [429, 'rate_limited'])
    assert.ok(Number(fifth.headers.get('retry-after')) >= 1)
  })
})

describe('the wire of 2026-07-28', () => {
  test('discovery names the version, the tools and how to use them', async () => {
    const { status, body } = await modern('server/discover')
    assert.equal(status, 200)
    assert.deepEqual(body.result.supportedVersions, ['2026-07-28'])
    assert.deepEqual(body.result.capabilities, { tools: {} })
    assert.match(body.result.instructions, /find/)
    assert.equal(body.result.resultType, 'complete')
  })

  test('the tool list is cacheable and stable', async () => {
    const [one, two] = [await modern('tools/list'), await modern('tools/list')]
    assert.deepEqual([one.body.result.ttlMs, one.body.result.cacheScope], [3_600_000, 'public'])
    assert.equal(one.text, two.text)
  })

  for (const [about, method, params, headers] of [
    ['a version header that is missing', 'tools/list', {}, { 'mcp-protocol-version': '' }],
    ['a method header that says something else', 'tools/list', {}, { 'mcp-method': 'tools/call' }],
    [
      'a name header that says something else',
      'tools/call',
      { name: 'find', arguments: { query: '' } },
      { 'mcp-name': 'do' },
    ],
  ] as [string, string, Record<string, unknown>, Record<string, string>][])
    test(`${about} is 400, -32020`, async () => {
      const { status, body } = await modern(method, params, headers)
      assert.deepEqual([status, body.error.code, body.id], [400, -32020, 'seven'])
    })

  test('an unknown version is 400, -32022, with the supported ones', async () => {
    const version = { 'io.modelcontextprotocol/protocolVersion': '2031-01-01' }
    const { status, body } = await modern('tools/list', { _meta: version }, { 'mcp-protocol-version': '2031-01-01' })
    assert.deepEqual([status, body.error.code], [400, -32022])
    assert.deepEqual(body.error.data.supported, ['2026-07-28'])
  })

  test('an unknown or removed method is 404, -32601', async () => {
    for (const method of ['prompts/list', 'initialize', 'ping', 'logging/setLevel']) {
      const { status, body } = await modern(method)
      assert.deepEqual([status, body.error.code, body.id], [404, -32601, 'seven'])
    }
  })

  test('invalid JSON, wrong content types and batches are rejected', async () => {
    const broken = await key.post('/mcp', '{"jsonrpc":', { accept })
    assert.deepEqual([broken.status, broken.body.error.code], [400, -32700])
    const text = await key.post('/mcp', '{}', { accept, 'content-type': 'text/plain' })
    assert.equal(text.status, 415)
    const batch = await key.post('/mcp', [message('tools/list')], { accept })
    assert.deepEqual([batch.status, batch.body.error.code], [400, -32600])
  })

  test('a deeply nested message is rejected before parsing', async () => {
    const deep = (levels: number): string =>
      `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":${'['.repeat(levels)}"${'x'.repeat(70_000)}"${']'.repeat(levels)}}}`
    const refused = await key.post('/mcp', deep(400_000), { accept })
    assert.deepEqual([refused.status, refused.body.error.code], [400, 'malformed_json'], refused.text)
    assert.equal((await key.post('/mcp', deep(64), { accept })).status, 200)
  })

  test('progress is sent before the call ends', async () => {
    const { id } = (
      await modern('tools/call', { name: 'do', arguments: { name: 'notes.create', input: { text: 'ab' } } })
    ).body.result.structuredContent.data
    const leave = new AbortController()
    const params = {
      name: 'do',
      arguments: { name: 'notes.spell', input: { id, forever: true } },
      _meta: { ...meta, progressToken: 'p' },
    }
    const response = await fetch(new URL('/mcp', server.origin), {
      method: 'POST',
      signal: leave.signal,
      headers: {
        ...key.headers,
        'content-type': 'application/json',
        accept,
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'do',
      },
      body: JSON.stringify(message('tools/call', params)),
    })
    assert.match(response.headers.get('content-type')!, /^text\/event-stream/)
    assert.equal(response.headers.get('x-accel-buffering'), 'no')
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    while (!text.includes('"progress":2')) text += (await reader.read()).value
    leave.abort()
  })

  test('tool results use the REST envelope, and errors include the request ID', async () => {
    const { headers, body } = await modern('tools/call', { name: 'do', arguments: { name: 'notes.fail' } })
    assert.equal(body.result._meta.request_id, headers.get('x-request-id'))
  })
})

describe('the wire of 2025-11-25', () => {
  const legacy = (method: string, params: Record<string, unknown> = {}, headers: Record<string, string> = {}) =>
    key.post('/mcp', message(method, params), { accept, ...headers })
  // Tests read responses without types.
  const said = ({ text }: Answer): any => JSON.parse(/^data: (.*)$/m.exec(text)![1]!)

  test('initialize, initialized, list, call, without a session', async () => {
    const begun = await legacy('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'old', version: '1' },
    })
    assert.equal(said(begun).result.protocolVersion, '2025-11-25')
    assert.equal(begun.headers.get('mcp-session-id'), null)
    const noted = await key.post('/mcp', { jsonrpc: '2.0', method: 'notifications/initialized' }, { accept })
    assert.deepEqual([noted.status, noted.text], [202, ''])
    const version = { 'mcp-protocol-version': '2025-11-25' }
    assert.equal(said(await legacy('tools/list', {}, version)).result.tools.length, 3)
    assert.equal(said(await legacy('ping', {}, version)).result !== undefined, true)
    const refused = said(await legacy('tools/call', { name: 'do', arguments: { name: 'notes.nope' } }, version)).result
    assert.deepEqual([refused.isError, refused.structuredContent.error.type], [true, 'not_found'])
  })

  test('older versions are supported, unknown ones rejected', async () => {
    for (const protocolVersion of ['2025-06-18', '2025-03-26', '2024-11-05']) {
      const begun = await legacy('initialize', {
        protocolVersion,
        capabilities: {},
        clientInfo: { name: 'old', version: '1' },
      })
      assert.equal(said(begun).result.protocolVersion, protocolVersion)
    }
    assert.equal((await legacy('tools/list', {}, { 'mcp-protocol-version': '2019-01-01' })).status, 400)
  })

  test('accepting only JSON is 406', async () => {
    assert.equal((await key.post('/mcp', message('tools/list'), { accept: 'application/json' })).status, 406)
  })
})

test('a closing server finishes calls and ends streams early', async () => {
  const { service, seen } = notesService()
  const closing = await testServer({ services: [service] })
  const holder = await (await closing.person('Alice')).key()
  const act = (name: string, input: object) =>
    modern('tools/call', { name: 'do', arguments: { name, input } }, {}, holder)
  const { id } = (await act('notes.create', { text: 'a' })).body.result.structuredContent.data
  const call = act('notes.spell', { id, forever: true })
  await seen.spelling.promise
  await closing[Symbol.asyncDispose]()
  const { structuredContent } = (await call).body.result
  assert.deepEqual([structuredContent.complete, structuredContent.last_event_id], [false, '0'])
})
