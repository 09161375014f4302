// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type Context, implement } from '#infra/context.ts'
import { byScope } from '#core/access.ts'
import type { Feed, Sink } from '#core/answers.ts'
import { area, endpoint, none, stream } from '#core/contract.ts'
import { z } from 'zod'
import { testServer } from '#test/server.ts'

const contract = area(
  'ticks',
  { title: 'Ticks', summary: 'A stream of the tests.' },
  {
    follow: endpoint('GET /ticks', {
      summary: 'Follow',
      access: byScope('chat:read'),
      reply: stream(z.object({ event: z.string(), data: z.object({ words: z.string() }) })),
    }),
    prepare: endpoint('POST /ticks', {
      summary: 'Follow after some preparation',
      access: byScope('chat:read'),
      reply: stream(z.object({ event: z.string(), data: z.object({ words: z.string() }) })),
    }),
  },
)

function ticks(
  tell: (ctx: Context) => AsyncIterable<{ event: string; data: { words: string } }>,
  prepared?: Promise<void>,
) {
  const started = Promise.withResolvers<void>()
  const service = implement(contract, {
    follow: (ctx) => tell(ctx),
    async prepare(ctx) {
      started.resolve()
      await prepared
      return tell(ctx)
    },
  })
  return { service, started: started.promise }
}

const waitForAbort = ({ signal }: Context): Promise<void> =>
  new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve())))

test('a stopping server finishes calls and ends followed streams', async () => {
  const working = Promise.withResolvers<AbortSignal>()
  const rest = Promise.withResolvers<void>()
  const contract = area(
    'works',
    { title: 'Works', summary: 'Of the tests.' },
    { work: endpoint('POST /works', { summary: 'Work', access: byScope('user:read'), reply: none }) },
  )
  const works = implement(contract, {
    async work({ signal }) {
      working.resolve(signal)
      await rest.promise
      signal.throwIfAborted()
    },
  })
  const following = Promise.withResolvers<void>()
  const { service } = ticks(async function* (ctx) {
    following.resolve()
    yield { event: 'tick', data: { words: '1' } }
    await waitForAbort(ctx)
  })
  const server = await testServer({ services: [service, works], environment: { UK_DRAIN_SECONDS: '5' } })
  const alice = await server.person('Alice')
  const work = alice.post('/works', {})
  await working.promise
  const response = alice.get('/ticks')
  await following.promise
  const stop = server[Symbol.asyncDispose]()
  await response
  rest.resolve()
  assert.equal((await work).status, 204)
  await stop
})

test('HEAD of a stream is answered without following it', async () => {
  let followCount = 0
  const { service } = ticks(async function* (ctx) {
    followCount++
    yield { event: 'tick', data: { words: '1' } }
    await waitForAbort(ctx)
  })
  await using server = await testServer({ services: [service] })
  const alice = await server.person('Alice')
  const head = await alice.request('HEAD', '/ticks')
  assert.deepEqual([head.status, head.headers.get('content-type')], [200, 'text/event-stream; charset=utf-8'])
  assert.equal(followCount, 0)
})

test('a key revoked while its stream is prepared loses the stream', async () => {
  const prepared = Promise.withResolvers<void>()
  const { service, started } = ticks(async function* (ctx) {
    yield { event: 'tick', data: { words: '1' } }
    await waitForAbort(ctx)
  }, prepared.promise)
  await using server = await testServer({ services: [service] })
  const alice = await server.person('Alice')
  const key = await alice.key()
  const answer = key.post('/ticks', {})
  await started
  await alice.delete(`/api-keys/${key.keyId}`)
  prepared.resolve()
  // The body ends although its source would continue.
  await answer
})

test('a stream doesn’t retain sent events', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const early: WeakRef<object>[] = []
  let keptCount = -1
  const { service } = ticks(async function* () {
    for (let i = 0; i < 200; i++) {
      const event = { event: 'tick', data: { words: 'x'.repeat(100) } }
      if (i < 100) early.push(new WeakRef(event.data))
      yield event
      // Weak references are released after an event-loop turn.
      await new Promise((resolve) => setImmediate(resolve))
    }
    collect()
    await new Promise((resolve) => setImmediate(resolve))
    keptCount = early.filter((ref) => ref.deref() !== undefined).length
  })
  await using server = await testServer({ services: [service] })
  const alice = await server.person('Alice')
  assert.equal((await alice.get('/ticks')).text.split('event: tick').length, 201)
  assert.ok(keptCount >= 0 && keptCount < 10, `${keptCount} of 100 events were kept`)
})

test('a follower retains nothing of its initial call', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const attached = Promise.withResolvers<Sink>()
  let call: WeakRef<Context> | null = null
  const service = implement(contract, {
    follow(ctx) {
      call = new WeakRef(ctx)
      const feed: Feed = {
        attach(sink) {
          attached.resolve(sink)
          return { [Symbol.dispose]() {} }
        },
        recheck: async () => {},
        [Symbol.asyncIterator]: () => assert.fail('it is attached'),
      }
      return feed
    },
    prepare: () => assert.fail('not asked'),
  })
  await using server = await testServer({ services: [service] })
  const alice = await server.person('Alice')
  const answer = alice.get('/ticks')
  const sink = await attached.promise
  const turn = () => new Promise((resolve) => setTimeout(resolve, 10))
  // Dereferencing keeps it until the next turn.
  for (let isKept = true; isKept; isKept = call!.deref() !== undefined) {
    await turn()
    collect()
    await turn()
  }
  sink.end()
  assert.equal((await answer).status, 200)
})

test('a stream lasts as long as its session, including extensions', async () => {
  const following = Promise.withResolvers<void>()
  const { service } = ticks(async function* (ctx) {
    following.resolve()
    yield { event: 'tick', data: { words: '1' } }
    await waitForAbort(ctx)
  })
  await using server = await testServer({ services: [service] })
  const alice = await server.person('Alice')
  const { pool } = server.app.engine.postgres
  const ends = (ms: number) =>
    pool.query(`update sessions set expires_at = now() + make_interval(secs => $1)`, [ms / 1000])
  const signedIn = await server.stranger.post(
    '/auth/sign-in',
    { email: alice.email, password: alice.password },
    { 'x-uk-csrf': '1' },
  )
  const cookie = signedIn.headers.get('set-cookie')!.split(';')[0]!
  await ends(6_000)
  const startedAt = performance.now()
  const answer = server.stranger.get('/ticks', { cookie })
  await following.promise
  await ends(8_000)
  await answer
  const durationMs = performance.now() - startedAt
  assert.ok(durationMs > 7_800, `${durationMs} ms`)
})

test('events sent faster than they are read all arrive, and a reader that stops is disconnected', async () => {
  const words = 'x'.repeat(1 << 20)
  let count = 0
  const cut = Promise.withResolvers<void>()
  const { service } = ticks(async function* (ctx) {
    try {
      // More than any socket buffers, without yielding.
      for (let n = 0; n < 16; n++) yield { event: 'tick', data: { words } }
      for (; ctx.caller.userAgent === 'sleeper'; count++) yield { event: 'tick', data: { words } }
    } finally {
      if (ctx.caller.userAgent === 'sleeper') cut.resolve()
    }
  })
  await using server = await testServer({ services: [service] })
  const alice = await server.person('Alice')
  const response = await alice.get('/ticks')
  assert.equal(response.text.split('event: tick\n').length - 1, 16)

  const { hostname, port } = new URL(server.origin)
  const sleeper = connect(Number(port), hostname)
  sleeper.on('error', () => {})
  sleeper.pause()
  sleeper.write(
    `GET /v1/ticks HTTP/1.1\r\nhost: ${hostname}\r\nuser-agent: sleeper\r\ncookie: ${alice.headers.cookie}\r\n\r\n`,
  )
  await cut.promise
  assert.ok(count < 8, `${count} events were asked for beyond what was unread`)
  sleeper.destroy()
})
