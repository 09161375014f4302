// Thorough: run by the merge check, or by name.
// What becomes of calls of media when the process that works on them is killed.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { testDatabase } from '#test/database.ts'
import { type Caller, caller } from '#test/server.ts'
import { until } from '#test/until.ts'
import { serverElsewhere } from './elsewhere.ts'
import { openaiFor, studioServer } from './studio.ts'
import { ended } from '../operations/ended.ts'

interface Call {
  model: string
  status: string
  cost_nano: bigint
  cost_source: string
}

test('if a server is killed between submission and result, another one polls without resubmitting, and an unknown cost is charged as reserved', async (t) => {
  const database = await testDatabase()
  t.after(() => database[Symbol.asyncDispose]())
  const first = await studioServer({ database })
  const alice = await first.person('Alice')
  const vendor = await openaiFor(alice)
  t.after(() => vendor[Symbol.asyncDispose]())
  const capped = await alice.key({ spend_cap_usd: 100, spend_cap_period: 'total' })
  await first[Symbol.asyncDispose]()

  const { child, origin } = await serverElsewhere(database)
  const key: Caller = caller(origin, capped.headers)
  const video = async (prompt: string): Promise<string> => {
    const answer = await key.post('/inference/videos', {
      model: 'studio/sora-2',
      prompt,
      seconds: 4,
      size: '1280x720',
    })
    assert.equal(answer.status, 202, answer.text)
    return answer.body.data.id as string
  }
  const going = await Promise.all(['one', 'two', 'three', 'four', 'five'].map(video))
  await until(
    () => Promise.resolve(vendor.jobs.length),
    (jobs) => jobs === going.length,
  )
  // It never hears whether this one was taken up, nor gets this picture.
  vendor.script({ on: 'POST /v1/videos', hang: true })
  const unheard = await video('unheard')
  await until(
    () => Promise.resolve(vendor.requests.filter(({ path }) => path === '/v1/videos').length),
    (requests) => requests === going.length + 1,
  )
  vendor.script({ on: 'POST /v1/images/generations', hang: true })
  const lost = key.post('/inference/images', { model: 'studio/gpt-image-2', prompt: 'unseen' }).catch(() => null)
  await until(
    () => Promise.resolve(vendor.requests.filter(({ path }) => path === '/v1/images/generations').length),
    (requests) => requests === 1,
  )
  child.kill('SIGKILL')
  await once(child, 'exit')
  assert.equal(await lost, null)

  await using second = await studioServer({ database })
  const again = caller(second.origin, capped.headers)
  for (const id of going) {
    const operation = await ended(again, id)
    assert.equal(operation.status, 'succeeded', JSON.stringify(operation.error))
    assert.equal(operation.cost_usd, 0.4)
  }
  const open = await ended(again, unheard)
  assert.deepEqual([open.status, open.error.code], ['failed', 'outcome_unknown'])
  // The picture's caller is gone: what became of it is told by an operation.
  const [pictured] = await until(
    async () => (await again.get('/operations?kind=inference.images')).body.data as { id: string }[],
    (rows) => rows.length === 1,
  )
  const picture = await ended(again, pictured!.id)
  assert.deepEqual([picture.status, picture.error.code], ['failed', 'outcome_unknown'])

  const posted = vendor.submits().map(({ path, at }) => `${path} ${at.length}`)
  assert.deepEqual(posted.toSorted(), ['/v1/images/generations 1', ...Array<string>(6).fill('/v1/videos 1')])
  const { pool } = second.app.engine.postgres
  const calls = await pool.query<Call>(
    'select model, status, cost_nano, cost_source from calls order by model, cost_source',
  )
  assert.deepEqual(
    calls.rows.map(({ model, status, cost_nano, cost_source }) => `${model} ${status} ${cost_nano} ${cost_source}`),
    [
      'studio/gpt-image-2 failed 40000000 estimated',
      ...Array<string>(5).fill('studio/sora-2 succeeded 400000000 computed'),
      'studio/sora-2 failed 400000000 estimated',
    ],
  )
  assert.deepEqual((await pool.query('select call_id from reservations')).rows, [])
  assert.deepEqual((await pool.query(`select id from media_jobs where status <> 'over'`)).rows, [])
  const held = await pool.query<{ nano: bigint; held: bigint }>(
    `select nano, held from spends where subject = $1 and period = 'total'`,
    [capped.keyId],
  )
  assert.deepEqual(
    held.rows.map(({ nano, held: left }) => [String(nano), String(left)]),
    [['2440000000', '0']],
  )
})

test('of two servers with the same jobs, one polls each job', async () => {
  await using server = await studioServer()
  await using twin = await server.twin()
  const alice = await server.person('Alice')
  await using vendor = await openaiFor(alice)
  vendor.script({ on: 'POST /v1/videos', media: { job: { polls: 2 } }, times: 6 })
  const origins = [server.origin, twin.origin]
  const ids = await Promise.all(
    ['a', 'b', 'c', 'd', 'e', 'f'].map(async (prompt, i) => {
      const by = caller(origins[i % 2]!, alice.headers)
      const answer = await by.post('/inference/videos', { model: 'studio/sora-2', prompt, seconds: 4 })
      return answer.body.data.id as string
    }),
  )
  for (const id of ids) assert.equal((await ended(alice, id)).status, 'succeeded')
  assert.deepEqual(
    vendor.jobs.map(({ polled }) => polled.length),
    [3, 3, 3, 3, 3, 3],
  )
  for (const { polled, at } of vendor.jobs)
    for (const [i, time] of polled.entries()) assert.ok(time - (polled[i - 1] ?? at) > 7_500, `${time - at} ms`)
})
