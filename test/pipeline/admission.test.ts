import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Caller, testServer } from '../server.ts'
import { PATIENCE_MS, until } from '../until.ts'

const words = { messages: [{ role: 'user', content: 'x' }] }
const message = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params })
const asks = { accept: 'application/json, text/event-stream' }

const ways: Record<string, (caller: Caller) => Promise<{ status: number; body: any; headers: Headers }>> = {
  'REST, a read': (caller) => caller.get('/me'),
  'REST, a model': (caller) => caller.post('/inference/text', { model: 'sim/echo', ...words }),
  'the agent tool': (caller) => caller.post('/mcp', message('tools/list', {}), asks),
  'compat-a': (caller) => caller.post('/compat-a/v1/chat/completions', { model: 'sim/echo', ...words }),
  'compat-b': (caller) => caller.post('/compat-b/v1/messages', { model: 'sim/echo', max_tokens: 9, ...words }),
  'compat-c': (caller) => caller.post('/compat-c/api/v1/chat/completions', { model: 'sim/echo', ...words }),
  'compat-a, a listing': (caller) => caller.get('/compat-a/v1/models'),
}

const lasting = (...first: object[]) =>
  JSON.stringify({
    turns: [[...first, ...Array.from({ length: 300 }, () => [{ text: 'on ' }, { delay_ms: 100 }]).flat()]],
  })

/** Streams that last half a minute unless ended; `wait` precedes the first event. */
const streams: Record<string, (caller: Caller, wait: number, signal?: AbortSignal) => Promise<Response>> = {
  REST: (caller, wait, signal) => post(caller, '/v1/inference/text/stream', { model: 'sim/script' }, wait, signal),
  'a gateway': (caller, wait, signal) =>
    post(caller, '/compat-a/v1/chat/completions', { model: 'sim/script', stream: true }, wait, signal),
}

const post = ({ origin, headers }: Caller, path: string, body: object, wait: number, signal?: AbortSignal) =>
  fetch(origin + path, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, messages: [{ role: 'user', content: lasting({ delay_ms: wait }) }] }),
    ...(signal && { signal }),
  })

test('every interface accepts any valid key, reports its rate limit, and suggests signing in only where sessions work', async () => {
  await using server = await testServer({ environment: { UK_LIMIT_READS: '500', UK_LIMIT_INFERENCE: '500' } })
  const alice = await server.person('Alice')
  const key = await alice.key()
  for (const [way, ask] of Object.entries(ways)) {
    const answer = await ask(key)
    assert.equal(answer.status, 200, way)
    assert.match(answer.headers.get('ratelimit') ?? '', /r=\d+/, way)
    const nobody = await ask(server.stranger)
    assert.equal(nobody.status, 401, way)
    const bodyText = JSON.stringify(nobody.body)
    assert.match(bodyText, /Send an API key/, way)
    assert.equal(/sign in/.test(bodyText), way.startsWith('REST'), way)
  }
})

test('calls in flight are counted per key on every interface, including streams', async () => {
  await using server = await testServer({ environment: { UK_LIMIT_IN_FLIGHT: '1' } })
  const alice = await server.person('Alice')
  const [busy, free] = [await alice.key(), await alice.key()]
  for (const [stream, open] of Object.entries(streams)) {
    const leaving = new AbortController()
    const answer = await open(busy, 0, leaving.signal)
    assert.equal(answer.status, 200, stream)
    for (const [way, ask] of Object.entries(ways)) {
      const refusal = await ask(busy)
      assert.equal(refusal.status, 429, `${way} beside a stream of ${stream}`)
      assert.match(refusal.headers.get('retry-after') ?? '', /^\d+$/, way)
      assert.equal((await ask(free)).status, 200, `${way} of another key beside a stream of ${stream}`)
    }
    leaving.abort()
    await until(
      () => busy.get('/me'),
      ({ status }) => status === 200,
    )
  }
})

for (const [stream, open] of Object.entries(streams))
  test(`a key revoked before its stream starts gets no events: ${stream}`, async () => {
    await using server = await testServer()
    const alice = await server.person('Alice')
    const key = await alice.key()
    // Longer than any wait in the test, so only the revocation ends it.
    const opening = open(key, 2 * PATIENCE_MS)
    await new Promise((resolve) => setTimeout(resolve, 500))
    assert.equal((await alice.delete(`/api-keys/${key.keyId}`)).status, 200)
    const text = await opening.then((answer) => answer.text()).catch(() => '')
    assert.ok(!text.includes('"on "'), text)
  })
