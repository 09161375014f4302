// Slow: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { addEndpoint, studioServer } from '#test/media/studio.ts'
import { ended } from '#test/operations/ended.ts'
import type { Person, TestServer } from '#test/server.ts'
import { until } from '#test/until.ts'
import { blackForestLabsMedia } from '#test/vendors/media/jobs/black-forest-labs.ts'
import type { MediaVendor } from '#test/vendors/media/jobs/jobs.ts'

let server: TestServer
let alice: Person
let vendor: MediaVendor
const model = 'forest/flux-pro-1.1'
before(async () => {
  server = await studioServer()
  alice = await server.person('Alice')
  vendor = await blackForestLabsMedia()
  await addEndpoint(alice, 'forest', vendor, {
    shape: 'black-forest-labs',
    base_url: `${vendor.origin}/v1`,
    models: [{ id: 'flux-pro-1.1', kind: 'image', pricing: { image: 40_000 } }],
  })
})
after(async () => {
  await server?.[Symbol.asyncDispose]()
  await vendor?.[Symbol.asyncDispose]()
})

test('more images than one request allows are split into several, with one response and one metered call', async () => {
  const answer = await alice.post('/inference/images', { model, prompt: 'Three kings', n: 3 })
  assert.equal(answer.status, 200, answer.text)
  const { data } = answer.body
  assert.deepEqual([data.files.length, data.cost_usd, data.usage.images], [3, 0.12, 3])
  assert.equal(vendor.jobs.length, 3)
  const { rows } = await server.app.engine.postgres.pool.query(`select id from calls where model = $1`, [model])
  assert.equal(rows.length, 1)
  // Results are at another host, which must not get the key.
  assert.ok(vendor.files!.requests.every(({ headers }) => headers['x-key'] === undefined))
})

test('if only some images succeed, they are kept and billed, and the response reports the missing ones', async () => {
  vendor.script({ media: { moderated: true } })
  const answer = await alice.post('/inference/images', { model, prompt: 'Two of three', n: 3 })
  assert.equal(answer.status, 200, answer.text)
  const { data } = answer.body
  assert.deepEqual([data.files.length, data.cost_usd, data.losses], [2, 0.08, ['n']])
})

test('after a disconnect, a submitted job is listed as an operation and its image is saved', async () => {
  const before = vendor.jobs.length
  vendor.script({ media: { job: { polls: 2 } } })
  const leaving = new AbortController()
  const pendingResponse = fetch(`${server.origin}/v1/inference/images`, {
    method: 'POST',
    headers: { ...alice.headers, 'content-type': 'application/json' },
    body: JSON.stringify({ model, prompt: 'Left alone' }),
    signal: leaving.signal,
  }).catch(() => null)
  await until(
    () => Promise.resolve(vendor.jobs.length),
    (jobs) => jobs === before + 1,
  )
  leaving.abort()
  assert.equal(await pendingResponse, null)
  const [shownOperation] = await until(
    async () => (await alice.get('/operations?kind=inference.images')).body.data as { id: string }[],
    (rows) => rows.length === 1,
  )
  const operation = await ended(alice, shownOperation!.id)
  assert.equal(operation.status, 'succeeded', JSON.stringify(operation.error))
  assert.equal(operation.result.files[0].name, 'Left alone.jpg')
  assert.equal(vendor.jobs.length, before + 1)
})

test('an expired link is reported without its URL, and the result is billed', async () => {
  vendor.script({ media: { link: { expired: true } } })
  const answer = await alice.post('/inference/images', { model, prompt: 'Too late' })
  assert.deepEqual([answer.status, answer.body.error.code], [502, 'bad_provider_answer'], answer.text)
  assert.doesNotMatch(answer.text, /127\.0\.0\.1/)
  const { rows } = await server.app.engine.postgres.pool.query<{ cost_nano: bigint }>(
    `select cost_nano from calls where model = $1 and status = 'failed'`,
    [model],
  )
  assert.deepEqual(
    rows.map(({ cost_nano }) => String(cost_nano)),
    ['40000000'],
  )
})

test('a call that can’t start leaves nothing behind', async () => {
  const key = await alice.key({ spend_cap_usd: 0.01, spend_cap_period: 'total' })
  const refusal = await key.post('/inference/images', { model, prompt: 'Too dear' })
  assert.deepEqual([refusal.status, refusal.body.error.code], [402, 'spend_cap_reached'], refusal.text)
  const { pool } = server.app.engine.postgres
  await until(
    async () => (await pool.query(`select id from media_jobs where status <> 'over'`)).rows,
    (rows) => rows.length === 0,
  )
  assert.deepEqual((await pool.query('select job_id from media_job_inputs')).rows, [])
  assert.deepEqual((await pool.query('select call_id from reservations')).rows, [])
})
