import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Answer, caller } from '../../../server.ts'
import { until } from '../../../until.ts'
import { type World, gatewayWorld, userMessages } from '../world.ts'

let world: World
before(async () => {
  world = await gatewayWorld({ UK_LIMIT_INFERENCE: '30' })
})
after(() => world[Symbol.asyncDispose]())

const paths = {
  a: '/compat-a/v1/chat/completions',
  b: '/compat-b/v1/messages',
  c: '/compat-c/v1/chat/completions',
}
type Surface = keyof typeof paths
const all: Surface[] = ['a', 'b', 'c']
const fine = { model: 'sim/echo', max_tokens: 5, messages: userMessages('hi') }

/** Checks the error envelope; returns the status and the code that the vendor's clients branch on. */
function readError(surface: Surface, { status, body, headers }: Answer): [number, unknown] {
  assert.equal(headers.get('request-id'), headers.get('x-request-id'))
  assert.match(headers.get('x-request-id')!, /^[0-9A-HJKMNP-TV-Z]{26}$/)
  if (surface === 'a') {
    assert.deepEqual(Object.keys(body.error), ['message', 'type', 'param', 'code'])
    return [status, body.error.code]
  }
  if (surface === 'b') {
    assert.deepEqual([body.type, body.request_id], ['error', headers.get('request-id')])
    return [status, body.error.type]
  }
  assert.equal(body.error.code, status, 'an integer, as strict clients want it')
  return [status, body.error.metadata.error_type]
}

test('callers without access are refused in the vendor’s error format', async () => {
  const { server, key, person } = world
  const narrow = await person.key({ scopes: ['chat:read'] })
  const nobody = caller(server.origin, {})
  const expectedErrors = {
    a: [
      [401, 'missing_credentials'],
      [401, 'invalid_api_key'],
      [401, 'invalid_api_key'],
      [403, 'missing_scope'],
    ],
    b: [
      [401, 'authentication_error'],
      [401, 'authentication_error'],
      [401, 'authentication_error'],
      [403, 'permission_error'],
    ],
    c: [
      [401, 'authentication'],
      [401, 'authentication'],
      [401, 'authentication'],
      [403, 'permission_denied'],
    ],
  }
  for (const surface of all) {
    const path = paths[surface]
    const answers = [
      await caller(server.origin, { cookie: person.headers.cookie! }).post(path, fine),
      await nobody.post(path, fine, { authorization: 'Bearer uk_nonsense' }),
      await key.post(path, fine, { 'x-api-key': 'another' }),
      await narrow.post(path, fine),
    ].map((answer) => readError(surface, answer))
    if (surface === 'a') answers[0]![1] = 'missing_credentials'
    assert.deepEqual(answers, expectedErrors[surface])
    assert.equal((await nobody.post(path, fine, { 'x-api-key': key.key })).status, 200, 'either header will do')
  }
})

test('an invalid request is refused before anything is spent', async () => {
  const deep = `{"model":"sim/echo","messages":${'['.repeat(600)}${']'.repeat(600)}}`
  const bodies = [
    '{"model":',
    '[]',
    deep,
    { messages: userMessages('x') },
    '{"model":"sim/echo","model":"sim/script","messages":[]}',
  ]
  for (const surface of all)
    for (const body of bodies) {
      const [status, word] = readError(surface, await world.key.post(paths[surface], body))
      assert.deepEqual(
        [status, surface === 'a' || word],
        [400, surface === 'a' || (surface === 'b' ? 'invalid_request_error' : 'invalid_request')],
      )
    }
})

test('an unknown model, path, or method is reported in the vendor’s format', async () => {
  const { key } = world
  const unknown = { ...fine, model: 'nobody/nothing' }
  assert.deepEqual(readError('a', await key.post(paths.a, unknown)), [404, 'model_not_found'])
  assert.deepEqual(readError('b', await key.post(paths.b, unknown)), [404, 'not_found_error'])
  const { body } = await key.post(paths.c, unknown)
  assert.deepEqual([body.error.code, body.error.availability.code], [400, 'model_not_found'])
  for (const surface of all) {
    assert.equal(readError(surface, await key.post(`/compat-${surface}/v1/nothing`, fine))[0], 404)
    // A base URL with a missing or extra `/v1` gets the right path in the error.
    for (const off of ['', '/v1/v1']) {
      const astray = await key.post(`/compat-${surface}${off}/chat`, fine)
      assert.deepEqual([astray.status, astray.text.includes(` ${paths[surface]}.`)], [404, true], astray.text)
    }
    const wrong = await key.get(paths[surface])
    assert.deepEqual([wrong.status, wrong.headers.get('allow')], [405, 'POST'])
    assert.equal(
      readError(surface, await key.get(`/compat-${surface}/v1/models/nobody/nothing`))[0],
      surface === 'c' ? 400 : 404,
    )
  }
})

test('paths are tolerant: doubled and trailing slashes, queries, aliases', async () => {
  const { key } = world
  for (const path of [
    '/compat-a/v1/chat/completions/',
    '/compat-a//v1//chat/completions?x=1',
    '/openai/v1/chat/completions',
    '/anthropic/v1/messages?beta=true',
    '/compat-c/api/v1/chat/completions',
    '/openrouter/api/v1/chat/completions',
    '/openrouter/v1/chat/completions',
  ])
    assert.equal((await key.post(path, fine)).status, 200, path)
})

test('a body above 32 MiB is 413, one below it is read', async () => {
  const key = await world.person.key()
  const body = (bytes: number) => JSON.stringify({ ...fine, messages: userMessages('x'.repeat(bytes)) })
  for (const surface of all) assert.equal(readError(surface, await key.post(paths[surface], body(33 << 20)))[0], 413)
  assert.equal((await key.post(paths.a, body(8 << 20))).status, 200)
})

test('a browser may call with a key, and the preflight response lists the allowed headers', async () => {
  const headers = { origin: 'https://page.example' }
  const preflight = await world.server.stranger.request('OPTIONS', paths.b, undefined, {
    ...headers,
    'access-control-request-method': 'POST',
  })
  assert.equal(preflight.status, 204)
  assert.match(preflight.headers.get('access-control-allow-headers')!, /x-api-key.*anthropic-version/)
  assert.equal(preflight.headers.get('access-control-allow-methods'), 'POST')
  const refusal = await world.server.stranger.post(paths.b, fine, headers)
  assert.equal(refusal.headers.get('access-control-allow-origin'), '*')
  assert.match(refusal.headers.get('access-control-expose-headers')!, /request-id/)
})

test('rate-limited callers get the time to wait before a retry', async () => {
  const key = await world.person.key()
  /** A request that arrived before the next token. */
  const refusedBy = (surface: Surface) =>
    until(
      () => key.post(paths[surface], fine),
      ({ status }) => status !== 200,
    )
  const answer = await refusedBy('b')
  assert.deepEqual(readError('b', answer), [429, 'rate_limit_error'])
  assert.ok(Number(answer.headers.get('retry-after')) >= 1)
  assert.deepEqual(readError('a', await refusedBy('a')), [429, 'rate_limit_exceeded'])
  assert.deepEqual(readError('c', await refusedBy('c')), [429, 'rate_limit_exceeded'])
})
