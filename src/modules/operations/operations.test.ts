import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { payerOf } from '#infra/ledger/payer.ts'
import { Refusal } from '#core/errors.ts'
import { readEvents } from '#test/events.ts'
import { ended } from '#test/operations/ended.ts'
import { type Work, worksService } from '#test/operations/works.ts'
import { type Caller, type Person, type TestServer, caller, testServer } from '#test/server.ts'
import { until } from '#test/until.ts'
import { type Outcome, defineOperation } from './service.ts'
import { operations } from './store.ts'

/** The outcome of the running operation. */
let gate = Promise.withResolvers<Outcome>()

let stopSignal = Promise.withResolvers<void>()
let began = Promise.withResolvers<void>()
const anew = () => {
  gate = Promise.withResolvers()
  stopSignal = Promise.withResolvers()
  began = Promise.withResolvers()
}

/** Executions by operation. */
const runCounts = new Map<string, number>()

const kinds = [
  defineOperation('works.counted', async (_ctx, _: Work, { id }) => {
    runCounts.set(id, (runCounts.get(id) ?? 0) + 1)
    return {}
  }),
  defineOperation('works.gated', async ({ signal }, _: Work, { progress }) => {
    progress(0.25)
    began.resolve()
    signal.addEventListener('abort', () => stopSignal.resolve())
    return await Promise.race([gate.promise, stopSignal.promise.then(() => Promise.reject(signal.reason as Error))])
  }),
  defineOperation('works.stubborn', async () => {
    began.resolve()
    return await gate.promise
  }),
  defineOperation('works.refused', async () => {
    throw new Refusal('no_route', { details: { tried: 2 } })
  }),
  defineOperation('works.broken', async () => {
    throw new Error('a secret of the inside')
  }),
  defineOperation('works.brief', async () => gate.promise, { expiresInSeconds: 0.2 }),
  defineOperation('works.pays', async (ctx) => {
    const { key } = payerOf(ctx.principal, ctx.principal.personalWorkspaceId)
    return { result: key && { id: key.id, cap: key.cap && { ...key.cap, nano: String(key.cap.nano) } } }
  }),
  defineOperation('works.scoped', async () => ({ result: 'done' }), { scope: 'inference:run' }),
  defineOperation('works.asks', async (ctx) => ({ result: await ctx.invoke('operations.list', {}) })),
]

let server: TestServer
let twin: TestServer
let ann: Person
let bob: Person

before(async () => {
  server = await testServer({ operations: kinds, services: [worksService(kinds)] })
  twin = await server.twin()
  ann = await server.person('Ann')
  bob = await server.person('Bob')
})

after(async () => {
  await twin?.[Symbol.asyncDispose]()
  await server?.[Symbol.asyncDispose]()
})

async function start(by: Caller, how: string, more: object = {}) {
  const answer = await by.post('/works', { how, ...more })
  assert.equal(answer.status, 202, answer.text)
  assert.deepEqual([answer.body.data.status, answer.body.data.kind, answer.body.data.result], ['queued', how, null])
  return answer.body.data.id as string
}

test('a background operation can be awaited, reports its progress, and returns its content', async () => {
  anew()
  const key = await ann.key({ scopes: ['operation:write'] })
  const id = await start(key, 'works.gated')
  await began.promise
  const running = await key.get(`/operations/${id}/await?since_status=queued`)
  assert.deepEqual([running.status, running.body.data.status], [200, 'running'])
  await until(
    async () => (await key.get(`/operations/${id}`)).body.data.progress,
    (progress) => progress === 0.25,
  )
  assert.equal((await key.get(`/operations/${id}/content`)).body.error.code, 'not_ready')
  const early = await key.get(`/operations/${id}/await?since_status=running&timeout_seconds=0`)
  assert.deepEqual([early.status, early.body.data.status], [200, 'running'])
  // Awaited in one process, executed in either.
  const waiting = caller(twin.origin, key.headers).get(
    `/operations/${id}/await?since_status=running&timeout_seconds=30`,
  )
  gate.resolve({
    result: { n: 1 },
    content: { type: 'text/plain; charset=utf-8', text: 'the output' },
    cost: 1_500_000_000n,
  })
  const { data } = (await waiting).body
  assert.deepEqual(
    { status: data.status, progress: data.progress, result: data.result, error: data.error, cost_usd: data.cost_usd },
    { status: 'succeeded', progress: 1, result: { n: 1 }, error: null, cost_usd: 1.5 },
  )
  assert.ok(
    data.started_at >= data.created_at && data.completed_at >= data.started_at && data.updated_at >= data.completed_at,
  )
  const content = await key.get(`/operations/${id}/content`)
  assert.deepEqual(
    [content.status, content.headers.get('content-type'), content.text],
    [200, 'text/plain; charset=utf-8', 'the output'],
  )
  assert.equal(
    (await key.get(`/operations/${id}/await?since_status=succeeded&timeout_seconds=30`)).body.data.status,
    'succeeded',
  )
})

test('followers of an operation receive its state changes and progress in order; other users get 404', async () => {
  anew()
  const id = await start(ann, 'works.gated')
  await began.promise
  const path = `/realtime/subscribe?channels=operation:${id}`
  assert.equal((await bob.get(path)).status, 404)
  const events = readEvents(ann, `${path},user:${ann.id}`)
  const moves: unknown[] = []
  for await (const { event, data } of events) {
    if (event === 'subscribed') gate.resolve({ result: { n: 1 } })
    if (event !== 'change' || data.channel !== `operation:${id}`) continue
    const { status, progress, result } = data.data.operation
    assert.equal(data.type, `operation.${status}`)
    assert.equal(result, null, 'it may be large: it is fetched')
    if (moves.at(-1) !== `${status} ${progress}`) moves.push(`${status} ${progress}`)
    if (status === 'succeeded') break
  }
  assert.equal(moves.at(-1), 'succeeded 1')
  assert.deepEqual((await ann.get(`/operations/${id}`)).body.data.result, { n: 1 })
})

test('100 simultaneous operations on two processes run once each', async () => {
  runCounts.clear()
  const there = caller(twin.origin, ann.headers)
  const ids = await Promise.all(
    Array.from({ length: 100 }, (_, i) => start(i % 2 === 0 ? ann : there, 'works.counted')),
  )
  for (const id of ids) assert.equal((await ended(ann, id)).status, 'succeeded')
  assert.deepEqual(
    ids.map((id) => runCounts.get(id)),
    ids.map(() => 1),
  )
})

test('file content is a redirect, and a plain result is JSON', async () => {
  anew()
  const file = '01KAJ8R3T2M6QK5W9V0XBZC4DE'
  const id = await start(ann, 'works.gated')
  gate.resolve({ content: { fileId: file } })
  await ended(ann, id)
  const content = await ann.get(`/operations/${id}/content`)
  assert.deepEqual([content.status, content.headers.get('location')], [302, `/v1/drive/files/${file}`])
  anew()
  const plain = await start(ann, 'works.gated')
  gate.resolve({ result: { made: true } })
  await ended(ann, plain)
  assert.deepEqual((await ann.get(`/operations/${plain}/content`)).body, { made: true })
})

test('content expires before its operation, which is kept for a month', async () => {
  anew()
  const id = await start(ann, 'works.gated')
  gate.resolve({ content: { text: 'some words', type: 'text/plain' } })
  await ended(ann, id)
  assert.equal((await ann.get(`/operations/${id}/content`)).text, 'some words')
  const { pool, db } = server.app.engine.postgres
  await pool.query('update operations set content_expires_at = now() where id = $1', [id])
  const response = await ann.get(`/operations/${id}/content`)
  assert.deepEqual([response.status, response.body.error.code], [410, 'content_expired'])
  await operations.retain(db)
  const { rows } = await pool.query<{ content: string | null }>('select content from operations where id = $1', [id])
  assert.equal(rows[0]!.content, null)
  assert.equal((await ann.get(`/operations/${id}`)).body.data.status, 'succeeded')
  await pool.query(`update operations set completed_at = now() - interval '31 days' where id = $1`, [id])
  await operations.retain(db)
  assert.equal((await ann.get(`/operations/${id}`)).status, 404)
})

test('a canceled operation is stopped in any process', async () => {
  anew()
  const id = await start(ann, 'works.gated')
  await began.promise
  const response = await caller(twin.origin, ann.headers).post(`/operations/${id}/cancel`)
  assert.equal(response.status, 200)
  assert.ok(response.body.data.cancel_requested_at)
  await stopSignal.promise
  const { status, error } = await ended(ann, id)
  assert.deepEqual({ status, error }, { status: 'cancelled', error: null })
  const again = await ann.post(`/operations/${id}/cancel`)
  assert.deepEqual([again.status, again.body.data.status], [200, 'cancelled'])
  assert.equal((await ann.get(`/operations/${id}/content`)).body.error.code, 'invalid_state')
})

test('an operation that ignores its cancellation ends anyway', async () => {
  anew()
  const id = await start(ann, 'works.stubborn')
  await began.promise
  await ann.post(`/operations/${id}/cancel`)
  assert.equal((await ended(ann, id)).status, 'cancelled')
  gate.resolve({ result: 'too late' })
  assert.equal((await ann.get(`/operations/${id}`)).body.data.result, null)
})

test('an ended operation can’t be canceled', async () => {
  const id = await start(ann, 'works.refused')
  const { status, error } = await ended(ann, id)
  assert.deepEqual([status, error.type, error.code, error.details], ['failed', 'unavailable', 'no_route', { tried: 2 }])
  const late = await ann.post(`/operations/${id}/cancel`)
  assert.deepEqual(
    [late.status, late.body.error.code, late.body.error.details.status],
    [409, 'invalid_state', 'failed'],
  )
})

test('internal errors reveal no details', async () => {
  const id = await start(ann, 'works.broken')
  const { status, error } = await ended(ann, id)
  assert.deepEqual([status, error.type], ['failed', 'internal_error'])
  assert.doesNotMatch(JSON.stringify(error), /secret/)
})

test('an operation over its time limit expires', async () => {
  anew()
  assert.equal((await ended(ann, await start(ann, 'works.brief'))).status, 'expired')
})

test('operations are private to their account, and a key bound to a workspace sees only that workspace’s', async () => {
  anew()
  const team = await start(ann, 'works.refused')
  for (const path of [`/operations/${team}`, `/operations/${team}/await`, `/operations/${team}/content`])
    assert.equal((await bob.get(path)).status, 404)
  assert.equal((await bob.post(`/operations/${team}/cancel`)).status, 404)
  assert.deepEqual((await bob.get('/operations')).body.data, [])

  await ended(ann, team)
  const boundKey = await ann.key({ scopes: ['operation:write'], workspace_id: ann.workspaceId })
  await server.app.engine.postgres.pool.query(
    `update operations set workspace_id = '01KAJ8R3T2M6QK5W9V0XBZC4DE' where id = $1`,
    [team],
  )
  assert.equal((await boundKey.get(`/operations/${team}`)).status, 404)
  const own = await start(boundKey, 'works.asks')
  const { result } = await ended(boundKey, own)
  // A background operation has only the access of the key that started it.
  assert.ok(result.rows.some((row: { id: string }) => row.id === own))
  assert.ok(!result.rows.some((row: { id: string }) => row.id === team))
})

test('an operation does nothing if its account lost the workspace or the role before it starts', async () => {
  const { engine } = server.app
  const eve = await server.person('Eve')
  const team = (await ann.post('/workspaces', { name: 'Team' })).body.data.id as string
  const { token } = (await ann.post(`/workspaces/${team}/invitations`, { email: eve.email })).body.data
  await eve.post('/invitations/accept', { token })
  /** Simulates a long wait in the queue. */
  const late = async (id: string) => {
    await engine.postgres.pool.query(
      `update operations set status = 'queued', result = null, completed_at = null, process_id = null where id = $1`,
      [id],
    )
    await engine.jobs.add(engine.postgres, 'operation', { id })
  }
  const id = await start(eve, 'works.scoped', { workspace_id: team })
  assert.equal((await ended(eve, id)).status, 'succeeded')
  await ann.patch(`/workspaces/${team}/members/${eve.id}`, { role: 'viewer' })
  await late(id)
  const loweredOperation = await ended(eve, id)
  assert.deepEqual(
    [loweredOperation.status, loweredOperation.result, loweredOperation.error.code],
    ['failed', null, 'insufficient_role'],
  )
  await ann.delete(`/workspaces/${team}/members/${eve.id}`)
  await late(id)
  const { rows } = await until(
    () => engine.postgres.pool.query('select status, error from operations where id = $1', [id]),
    ({ rows }) => !['queued', 'running'].includes(rows[0].status),
  )
  assert.deepEqual([rows[0].status, rows[0].error.type], ['failed', 'not_found'])
  assert.equal((await eve.get(`/operations/${id}`)).status, 404, 'what came of it stays in the workspace')
})

test('background operations count toward the spend cap of the key that started them', async () => {
  const cappedKey = await ann.key({ spend_cap_usd: 0, spend_cap_period: 'day' })
  const { result } = await ended(cappedKey, await start(cappedKey, 'works.pays'))
  assert.deepEqual(result, { id: cappedKey.keyId, cap: { nano: '0', period: 'day' } })
  assert.equal((await ended(ann, await start(ann, 'works.pays'))).result, null)
})

test('operations are listed newest first, by status and kind, page by page', async () => {
  const cid = await bob.key({ scopes: ['operation:write'] })
  const ids: string[] = []
  for (const how of ['works.refused', 'works.asks', 'works.refused']) {
    const id = await start(cid, how)
    await ended(cid, id)
    ids.unshift(id)
  }
  const listPage = async (query: string) => (await cid.get(`/operations${query}`)).body
  assert.deepEqual(
    (await listPage('')).data.map((row: { id: string }) => row.id),
    ids,
  )
  assert.deepEqual(
    (await listPage('?status=failed')).data.map((row: { id: string }) => row.id),
    [ids[0], ids[2]],
  )
  assert.deepEqual(
    (await listPage('?kind=works.asks')).data.map((row: { id: string }) => row.id),
    [ids[1]],
  )
  const first = await listPage('?limit=2')
  const rest = await listPage(`?limit=2&cursor=${first.pagination.next_cursor}`)
  assert.deepEqual(
    rest.data.map((row: { id: string }) => row.id),
    [ids[2]],
  )
  assert.equal(
    (await cid.get(`/operations?status=failed&cursor=${first.pagination.next_cursor}`)).body.error.code,
    'invalid_cursor',
  )
})
