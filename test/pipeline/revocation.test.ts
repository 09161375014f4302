import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '#infra/log.ts'
import { databaseUrl, testDatabase } from '../database.ts'
import { startProgram } from '../program.ts'
import { type Caller, caller, testServer } from '../server.ts'
import { until } from '../until.ts'
import { wayToDatabase } from '../outside/way.ts'

const long = JSON.stringify({
  turns: [Array.from({ length: 600 }, (_, n) => [{ text: `${n} ` }, { delay_ms: 100 }]).flat()],
})
const say = (content: string) => ({ model: 'sim/script', messages: [{ role: 'user', content }] })

async function follow(origin: string, { headers }: Caller, path: string, body: object) {
  const response = await fetch(origin + path, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  assert.equal(response.status, 200)
  let text = ''
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  text += (await reader.read()).value
  const ended = (async () => {
    try {
      for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value
    } catch {
      // An interruption is an end too.
    }
  })()
  return { ended, text: () => text }
}

test('revoking a key in one process ends its streams in another', async () => {
  await using server = await testServer()
  await using twin = await server.twin()
  const alice = await server.person('Alice')
  const key = await alice.key()
  const streams = await Promise.all([
    follow(twin.origin, key, '/v1/inference/text/stream', say(long)),
    follow(twin.origin, key, '/compat-a/v1/chat/completions', { ...say(long), stream: true }),
    follow(twin.origin, key, '/compat-b/v1/messages', { ...say(long), max_tokens: 1000, stream: true }),
  ])
  assert.equal((await alice.delete(`/api-keys/${key.keyId}`)).status, 200)
  for (const { ended } of streams) await ended
  assert.match(streams[0].text(), /event: run\.failed\ndata: .*"code":"revoked_api_key"/)
})

test('a process without the database serves no one after 5 s, and knows all revocations once reconnected', async () => {
  await using database = await testDatabase()
  using way = await wayToDatabase(database.connection)
  await using near = await testServer({
    database: { ...database, connection: way.connection },
    // The failure is logged as expected.
    log: createLog('silent'),
  })
  await using far = await testServer({ database })
  const alice = await near.person('Alice')
  const key = await alice.key()
  // An unlimited call never waits for the database.
  const ask = () =>
    key.post('/compat-a/v1/chat/completions', { model: 'sim/echo', messages: [{ role: 'user', content: 'x' }] })
  assert.equal((await ask()).status, 200)
  way.open = false
  way.cut()
  const cutAt = performance.now()
  let askedAt = cutAt
  assert.equal((await far.stranger.request('DELETE', `/api-keys/${key.keyId}`, undefined, alice.headers)).status, 200)
  const refusal = await until(
    () => {
      askedAt = performance.now()
      return ask()
    },
    ({ status, body }) => {
      if (status === 200) assert.ok(askedAt - cutAt < 6_000, 'served a revoked key')
      // A call that needed a row fails earlier, while the process still trusts its cache.
      return /lost its connection to the database/.test(body.error?.message)
    },
  )
  assert.deepEqual([refusal.status, refusal.headers.get('retry-after')], [503, '1'])
  const rest = await key.get('/me')
  assert.deepEqual([rest.status, rest.body.error.type], [503, 'unavailable'])
  way.open = true
  assert.equal((await until(ask, ({ status }) => status !== 503)).status, 401)
  assert.equal((await key.get('/me')).body.error.code, 'revoked_api_key')
})

test('a process paused for six seconds serves waiting calls, but not a key revoked meanwhile', async () => {
  await using database = await testDatabase()
  await using far = await testServer({ database })
  const alice = await far.person('Alice')
  const [keptKey, revokedKey] = [await alice.key(), await alice.key()]
  await using program = startProgram({ UK_DATA_DIR: database.dataDir, DATABASE_URL: databaseUrl(database) })
  const near = caller(await program.ready, keptKey.headers)
  const stranger = caller(await program.ready, revokedKey.headers)
  for (const one of [near, stranger]) assert.equal((await one.get('/me')).status, 200)
  const hello = { model: 'sim/echo', messages: [{ role: 'user', content: 'hello' }] }

  program.child.kill('SIGSTOP')
  assert.equal((await alice.delete(`/api-keys/${revokedKey.keyId}`)).status, 200)
  const waiting = Promise.all([
    near.get('/me'),
    near.post('/compat-a/v1/chat/completions', hello),
    stranger.get('/me'),
    stranger.post('/compat-a/v1/chat/completions', hello),
  ])
  await new Promise((resolve) => setTimeout(resolve, 6_000))
  program.child.kill('SIGCONT')
  assert.deepEqual(
    (await waiting).map(({ status }) => status),
    [200, 200, 401, 401],
  )
})
