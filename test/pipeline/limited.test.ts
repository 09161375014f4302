import assert from 'node:assert/strict'
import { test } from 'node:test'
import { READERS } from '#test/pipeline/wire/readers.ts'
import { testServer } from '#test/server.ts'

/** The second call exceeds the limit. Each surface reports that in its format. */
const ways: Record<string, (origin: string, headers: Record<string, string>) => Promise<Response>> = {
  'a read': (origin, headers) => fetch(`${origin}/v1/me`, { headers }),
  'a write': (origin, headers) =>
    fetch(`${origin}/v1/chats`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: '{}',
    }),
  'a search': (origin, headers) => fetch(`${origin}/v1/search?q=x`, { headers }),
  inference: (origin, headers) =>
    fetch(`${origin}/v1/inference/text`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: '{"model":"sim/echo","messages":[{"role":"user","content":"x"}]}',
    }),
}

for (const { read, environment } of READERS)
  test(`the first request over the limit gets its error code on every interface, ${read}`, async () => {
    const one = { UK_LIMIT_READS: '1', UK_LIMIT_SEARCHES: '1', UK_LIMIT_INFERENCE: '1', ...environment }
    await using server = await testServer({ environment: one })
    const alice = await server.person('Alice')
    const { headers } = await alice.key()
    await using writing = await testServer({ database: server.database, environment: { ...one, UK_LIMIT_WRITES: '1' } })
    for (const [way, ask] of Object.entries(ways)) {
      let answer = await ask(writing.origin, headers)
      for (let i = 0; i < 5 && answer.status !== 429; i++) answer = await ask(writing.origin, headers)
      const { error } = (await answer.json()) as { error: Record<string, unknown> }
      assert.deepEqual([answer.status, error.type, error.code], [429, 'rate_limited', 'rate_limited'], way)
      assert.match(answer.headers.get('retry-after') ?? '', /^\d+$/, way)
    }
    const chat = (path: string, body: object) =>
      fetch(`${writing.origin}${path}`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'sim/echo', max_tokens: 5, messages: [{ role: 'user', content: 'x' }], ...body }),
      })
    const shapes: [string, unknown][] = []
    for (const path of ['/compat-a/v1/chat/completions', '/compat-b/v1/messages', '/compat-c/v1/chat/completions']) {
      const answer = await chat(path, {})
      assert.equal(answer.status, 429, path)
      const { error } = (await answer.json()) as { error: { type?: string; code?: unknown } }
      shapes.push([path.slice(0, 9), error.code ?? error.type])
    }
    assert.deepEqual(shapes, [
      ['/compat-a', 'rate_limit_exceeded'],
      ['/compat-b', 'rate_limit_error'],
      ['/compat-c', 429],
    ])
  })

test('too many requests in flight get `concurrency_limited`', async () => {
  await using server = await testServer({ environment: { UK_LIMIT_IN_FLIGHT: '1' } })
  const alice = await server.person('Alice')
  const leaving = new AbortController()
  const following = fetch(`${server.origin}/v1/realtime/subscribe?channels=user:${alice.id}`, {
    headers: alice.headers,
    signal: leaving.signal,
  })
  assert.equal((await following).status, 200)
  const { status, body } = await alice.get('/me')
  assert.deepEqual([status, body.error.type, body.error.code], [429, 'rate_limited', 'concurrency_limited'])
  leaving.abort()
})
