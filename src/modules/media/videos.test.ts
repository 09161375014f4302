// Slow: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { studio } from '#test/media/studio.ts'
import { ended } from '#test/operations/ended.ts'
import { until } from '#test/until.ts'

const { server, alice, vendor } = await studio()

test('a video is always an operation; a simulated one ends soon, with its size and duration', async () => {
  const operationResponse = await alice.post('/inference/videos', {
    model: 'sim/video',
    prompt: 'Waves',
    seconds: 2,
    size: '320x240',
    background: false,
  })
  assert.deepEqual(
    [operationResponse.status, operationResponse.body.data.kind],
    [202, 'inference.videos'],
    operationResponse.text,
  )
  const operation = await ended(alice, operationResponse.body.data.id)
  assert.equal(operation.status, 'succeeded', JSON.stringify(operation.error))
  const [file] = operation.result.files
  assert.deepEqual(
    [file.name, file.mime_type, file.width, file.height, Math.round(file.duration_seconds)],
    ['Waves.mp4', 'video/mp4', 320, 240, 2],
  )
  assert.deepEqual([operation.cost_usd, operation.result.simulated, operation.result.usage.video_seconds], [0, true, 2])
})

interface Call {
  status: string
  cost_nano: bigint
  cost_source: string
}

test('provider videos are submitted once, polled until they end, and billed by outcome', async () => {
  const submissions: string[] = []
  const begin = async (prompt: string, seconds: number, media: object) => {
    vendor.script({ on: 'POST /v1/videos', media })
    const answer = await alice.post('/inference/videos', {
      model: 'studio/sora-2',
      prompt,
      seconds,
      size: '1280x720',
    })
    assert.equal(answer.status, 202, answer.text)
    submissions.push(prompt)
    await until(
      () => Promise.resolve(vendor.jobs.length),
      (count) => count === submissions.length,
    )
    return answer.body.data.id as string
  }
  const horse = await begin('A horse', 4, {})
  const endless = await begin('Endless', 8, { job: { polls: Number.POSITIVE_INFINITY } })
  const failing = await begin('Failing', 4, { job: { polls: 0, ends: 'failed' } })
  const moderatedJob = await begin('Refused', 4, { job: { polls: 0 }, moderated: true })

  await alice.post(`/operations/${endless}/cancel`)
  assert.equal((await ended(alice, endless)).status, 'cancelled')
  await until(
    async () => (await alice.get(`/operations/${endless}`)).body.data.cost_usd as number | null,
    (cost) => cost === 0.8,
  )
  for (const [id, code] of [
    [failing, 'provider_error'],
    [moderatedJob, 'content_refused'],
  ] as const) {
    const { status, error } = await ended(alice, id)
    assert.deepEqual([status, error.code], ['failed', code], JSON.stringify(error))
  }
  const endedVideo = await ended(alice, horse)
  assert.equal(endedVideo.status, 'succeeded', JSON.stringify(endedVideo.error))
  assert.deepEqual([endedVideo.cost_usd, endedVideo.result.files[0].name], [0.4, 'A horse.mp4'])
  const submits = vendor.submits().filter(({ path }) => path === '/v1/videos')
  assert.deepEqual(
    submits.map(({ at }) => at.length),
    [1, 1, 1, 1],
  )
  const { pool } = server.app.engine.postgres
  const calls = await until(
    async () =>
      (
        await pool.query<Call>(
          `select status, cost_nano, cost_source from calls where model = 'studio/sora-2' order by status, cost_nano`,
        )
      ).rows,
    (rows) => rows.length === 4,
  )
  assert.deepEqual(
    calls.map(({ status, cost_nano, cost_source }) => `${status} ${cost_nano} ${cost_source}`),
    // The canceled video's outcome is unknown, so its reservation is billed.
    ['cancelled 800000000 estimated', 'failed 0 computed', 'failed 0 computed', 'succeeded 400000000 computed'],
  )
})
