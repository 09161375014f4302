import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { addEndpoint, studioServer } from '#test/media/studio.ts'
import { ended } from '#test/operations/ended.ts'
import { needs } from '#test/needs.ts'
import { temporaryDir } from '#test/program.ts'
import type { Answer, Person, TestServer } from '#test/server.ts'
import { until } from '#test/until.ts'
import { blackForestLabsMedia } from '#test/vendors/media/jobs/black-forest-labs.ts'
import type { MediaVendor } from '#test/vendors/media/jobs/jobs.ts'
import { openaiMedia } from '#test/vendors/media/openai/openai.ts'

let server: TestServer
let alice: Person
let bob: Person
let forest: MediaVendor
let openai: MediaVendor
before(async () => {
  server = await studioServer({ environment: { UK_INLINE_SECONDS: '1' } })
  alice = await server.person('Alice')
  bob = await server.person('Bob')
  forest = await blackForestLabsMedia()
  openai = await openaiMedia()
  await addEndpoint(alice, 'forest', forest, {
    shape: 'black-forest-labs',
    base_url: `${forest.origin}/v1`,
    models: [{ id: 'flux-pro-1.1', kind: 'image', pricing: { image: 40_000 } }],
  })
  await addEndpoint(alice, 'house', openai, { instance: true })
})
after(async () => {
  await server?.[Symbol.asyncDispose]()
  await forest?.[Symbol.asyncDispose]()
  await openai?.[Symbol.asyncDispose]()
})

const code = ({ status, body }: Answer): unknown[] => [status, body.error?.code ?? body.error?.type]
const picture = { model: 'forest/flux-pro-1.1', prompt: 'a fox' }

test('a call that exceeds the inline time returns its operation and continues', async () => {
  const jobs = forest.jobs.length
  forest.script({ media: { job: { polls: 1 } } })
  const answer = await alice.post('/inference/images', picture)
  assert.equal(answer.status, 202, answer.text)
  assert.equal(answer.body.data.kind, 'inference.images')
  const { status, result } = await ended(alice, answer.body.data.id)
  assert.deepEqual([status, result.files.length, result.cost_usd], ['succeeded', 1, 0.04])
  assert.equal(forest.jobs.length, jobs + 1, 'submitted once')
})

/** Pauses every job just before it's marked as sent. */
async function pauseJobs(): Promise<() => Promise<void>> {
  const { db, pool } = server.app.engine.postgres
  const client = await pool.connect()
  await client.query('select pg_advisory_lock(4242)')
  await sql`create function held_back() returns trigger language plpgsql as $$
    begin perform pg_advisory_xact_lock_shared(4242); return new; end $$`.execute(db)
  await sql`create trigger held_back before update on media_jobs for each row when (new.status = 'sent')
    execute function held_back()`.execute(db)
  return async () => {
    await client.query('select pg_advisory_unlock(4242)')
    client.release()
    await sql`drop trigger held_back on media_jobs`.execute(db)
    await sql`drop function held_back`.execute(db)
  }
}

test('a job canceled before submission is never sent and costs nothing', async () => {
  const requestsBefore = forest.requests.length
  const letGo = await pauseJobs()
  const operationResponse = await alice.post('/inference/images', { ...picture, background: true })
  assert.equal(operationResponse.status, 202, operationResponse.text)
  const { id } = operationResponse.body.data
  // Paused before sending.
  const { db } = server.app.engine.postgres
  await until(
    () => sql<{ n: number }>`select count(*)::int as n from pg_stat_activity where wait_event = 'advisory'`.execute(db),
    ({ rows }) => rows[0]!.n > 0,
  )
  assert.equal((await alice.post(`/operations/${id}/cancel`, {})).status < 300, true)
  await letGo()
  const { status } = await ended(alice, id)
  assert.equal(status, 'cancelled')
  assert.equal(forest.requests.length, requestsBefore, 'the vendor heard nothing of it')
  const { pool } = server.app.engine.postgres
  const calls = await pool.query(`select cost_nano, status from calls where status = 'cancelled'`)
  assert.deepEqual(
    calls.rows.map(({ cost_nano }) => Number(cost_nano)),
    calls.rows.map(() => 0),
  )
  const { rows } = await pool.query(`select id from media_jobs where status <> 'over'`)
  assert.deepEqual(rows, [])
})

test('with instance keys, an account without credits is refused before a request, and credits are spent until they run out', async () => {
  const draw = (n: number) => bob.post('/inference/images', { model: 'house/gpt-image-2', prompt: 'a fox', n })
  const requestsBefore = openai.requests.length
  assert.deepEqual(code(await draw(1)), [402, 'insufficient_credits'])
  assert.equal(openai.requests.length, requestsBefore)
  await alice.post(`/admin/accounts/${bob.id}/credits`, { amount_usd: 0.1 })
  const response = await draw(2)
  assert.deepEqual([response.status, response.body.data.cost_usd], [200, 0.08], response.text)
  assert.deepEqual(code(await draw(1)), [402, 'insufficient_credits'])
  const speechResponse = await bob.post('/inference/speech', { model: 'house/tts-1', input: 'x'.repeat(100) })
  assert.deepEqual(
    [speechResponse.status, speechResponse.body.data.cost_usd],
    [200, 0.0015],
    'what is left pays for less',
  )
  const { body } = await bob.get('/me/usage')
  assert.match(JSON.stringify(body), /0\.0815/)
})

/** Mounts a 1 MB disk as the media working directory. */
const canMountAt = (path: string): boolean => {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'none', path], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
const canMount = ((): boolean => {
  using folder = temporaryDir('uk-mount-')
  if (!canMountAt(folder.path)) return false
  execFileSync('umount', ['-l', folder.path])
  return true
})()

test(
  'when the disk is full, the response is 507, the result isn’t kept, and it’s billed',
  needs(canMount, 'the right to mount'),
  async () => {
    const folder = join(server.app.engine.config.dataDir, 'media')
    const key = await alice.key()
    const book = { model: 'house/tts-1', input: 'x'.repeat(2_000), format: 'wav' }
    assert.ok(canMountAt(folder))
    try {
      const refusal = await key.post('/inference/speech', book)
      assert.deepEqual(code(refusal), [507, 'storage_full'], refusal.text)
      assert.match(refusal.body.error.message, /counted as billed.*no storage space left/)
    } finally {
      execFileSync('umount', ['-l', folder])
    }
    await server.app.engine.ledger.flush()
    const { pool } = server.app.engine.postgres
    const { rows } = await pool.query('select status, cost_nano from calls where key_id = $1', [key.keyId])
    assert.deepEqual([rows.length, Number(rows[0].cost_nano)], [1, 2_000 * 15_000])
    assert.equal((await key.post('/inference/speech', book)).status, 200, 'with room again it is kept')
  },
)
