import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addEndpoint, studio } from '#test/media/studio.ts'
import { teamOf } from '#test/makers.ts'
import { until } from '#test/until.ts'
import type { MediaVendor } from '#test/vendors/media/jobs/jobs.ts'
import { openaiMedia } from '#test/vendors/media/openai/openai.ts'

const { server, alice, bob, vendor } = await studio()

const model = 'studio/gpt-image-2'
const pictures = (requests: MediaVendor['requests']): number =>
  requests.filter(({ path }) => path === '/v1/images/generations').length

test('a spend cap below the worst case refuses before any request; otherwise the actual cost is settled', async () => {
  const key = await alice.key({ spend_cap_usd: 0.1, spend_cap_period: 'total' })
  const before = pictures(vendor.requests)
  const refusal = await key.post('/inference/images', { model, prompt: 'x', n: 3 })
  assert.deepEqual([refusal.status, refusal.body.error.code], [402, 'spend_cap_reached'], refusal.text)
  assert.equal(pictures(vendor.requests), before)
  const fits = await key.post('/inference/images', { model, prompt: 'x', n: 2 })
  assert.deepEqual([fits.status, fits.body.data.cost_usd], [200, 0.08], fits.text)
  const again = await key.post('/inference/images', { model, prompt: 'x' })
  assert.deepEqual([again.status, again.body.error.code], [402, 'spend_cap_reached'])
  const { body } = await alice.get(`/api-keys`)
  const keyRow = body.data.find(({ id }: { id: string }) => id === key.keyId)
  assert.equal(keyRow.spent_usd, 0.08)
})

test('under a spend cap, affordable OpenAI requests are billed at their cost and others are refused before sending', async () => {
  const key = await alice.key({ spend_cap_usd: 0.05, spend_cap_period: 'total' })
  const ask = (path: string, body: object) => key.post(`/compat-a/v1${path}`, body)
  const readSpending = async () =>
    (await alice.get('/api-keys')).body.data.find(({ id }: { id: string }) => id === key.keyId).spent_usd
  const imageResponse = await ask('/images/generations', { model, prompt: 'x', size: '1024x1024' })
  assert.equal(imageResponse.status, 200, imageResponse.text)
  assert.ok(Buffer.from(imageResponse.body.data[0].b64_json, 'base64').length > 0)
  await until(readSpending, (usd) => usd === 0.04)
  const before = vendor.requests.length
  const more = await ask('/images/generations', { model, prompt: 'x', n: 1 })
  assert.deepEqual([more.status, more.body.error.code], [402, 'spend_cap_reached'], more.text)
  const book = await ask('/audio/speech', { model: 'studio/tts-1', voice: 'alloy', input: 'x'.repeat(4_000) })
  assert.deepEqual([book.status, book.body.error.code], [402, 'spend_cap_reached'], book.text)
  assert.equal(vendor.requests.length, before)
  const speechResponse = await ask('/audio/speech', { model: 'studio/tts-1', voice: 'alloy', input: 'x'.repeat(100) })
  assert.equal(speechResponse.status, 200, speechResponse.text)
  await until(readSpending, (usd) => usd === 0.0415)
})

test('a request without a response isn’t repeated, and its reservation is billed', async () => {
  vendor.script({ on: 'POST /v1/images/generations', garbage: 'no answer' })
  const before = pictures(vendor.requests)
  const key = await alice.key({ spend_cap_usd: 1, spend_cap_period: 'total' })
  const answer = await key.post('/inference/images', { model, prompt: 'unclear' })
  assert.deepEqual([answer.status, answer.body.error.code], [502, 'outcome_unknown'], answer.text)
  assert.equal(pictures(vendor.requests), before + 1)
  const { pool } = server.app.engine.postgres
  const { rows } = await pool.query<{ status: string; cost_nano: bigint; cost_source: string }>(
    'select status, cost_nano, cost_source from calls where key_id = $1',
    [key.keyId],
  )
  assert.deepEqual(
    rows.map((row) => `${row.status} ${row.cost_nano} ${row.cost_source}`),
    ['failed 40000000 estimated'],
  )
})

test('a rate-limited provider is replaced by the next one with the same model, each asked once', async () => {
  await using other = await openaiMedia()
  await addEndpoint(bob, 'first', vendor, { priority: 0 })
  await addEndpoint(bob, 'second', other, { priority: 1 })
  const before = pictures(vendor.requests)
  vendor.script({ on: 'POST /v1/images/generations', refuses: 'throttle' })
  const answer = await bob.post('/inference/images', { model: 'gpt-image-2', prompt: 'elsewhere' })
  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual(
    [answer.body.data.provider, pictures(vendor.requests) - before, pictures(other.requests)],
    ['second', 1, 1],
  )
  assert.match(answer.headers.get('x-uk-route')!, /^provider=second; /)
  // With a single provider, the response includes `retry-after`.
  vendor.script({ on: 'POST /v1/images/generations', refuses: 'throttle' })
  const alone = await alice.post('/inference/images', { model, prompt: 'too fast' })
  assert.deepEqual([alone.status, alone.body.error.code], [429, 'rate_limited'], alone.text)
})

test('generated files need a writable workspace: viewers, former members and other workspaces’ keys are refused', async () => {
  const workspace_id = await teamOf(alice, [[bob, 'viewer']])
  const ask = (more: object = {}) => ({ model: 'sim/image', prompt: 'A place', size: '64x64', workspace_id, ...more })
  const viewer = await bob.post('/inference/images', ask())
  assert.deepEqual([viewer.status, viewer.body.error.code], [403, 'insufficient_role'], viewer.text)

  const members = (await alice.get(`/workspaces/${workspace_id}/members`)).body.data
  const bobs = members.find(({ user_id }: { user_id: string }) => user_id === bob.id)
  assert.equal((await alice.patch(`/workspaces/${workspace_id}/members/${bobs.id}`, { role: 'member' })).status, 200)
  const response = await bob.post('/inference/images', ask())
  assert.equal(response.status, 200, response.text)
  assert.equal(response.body.data.files[0].workspace_id, workspace_id)
  const key = await bob.key({ scopes: ['inference:run'], workspace_id })
  const boundResponse = await key.post('/inference/images', ask({ workspace_id: undefined }))
  assert.equal(boundResponse.body.data.files[0].workspace_id, workspace_id, boundResponse.text)
  assert.equal((await key.post('/inference/images', ask({ workspace_id: bob.workspaceId }))).status, 404)
  const folder = (await bob.post('/drive/files/folders', { workspace_id: bob.workspaceId, name: 'Mine' })).body.data
  const foreign = await key.post('/inference/images', ask({ workspace_id: undefined, parent_id: folder.id }))
  assert.deepEqual([foreign.status, foreign.body.error.param], [404, 'parent_id'])
  const mute = await bob.key({ scopes: ['drive:write'] })
  assert.deepEqual((await mute.post('/inference/images', ask())).body.error.code, 'missing_scope')

  await addEndpoint(alice, 'shared', vendor, { workspace_id })
  const operationResponse = await bob.post('/inference/videos', {
    model: 'shared/sora-2',
    prompt: 'Left',
    seconds: 4,
    workspace_id,
  })
  assert.equal(operationResponse.status, 202, operationResponse.text)
  await until(
    () => Promise.resolve(vendor.jobs.some(({ ask: body }) => body['prompt'] === 'Left')),
    (there) => there,
  )
  assert.equal((await alice.delete(`/workspaces/${workspace_id}/members/${bobs.id}`)).status, 200)
  assert.equal((await bob.post('/inference/images', ask())).status, 404)
  const { pool } = server.app.engine.postgres
  const operation = await until(
    async () =>
      (
        await pool.query<{ status: string; error: unknown }>('select status, error from operations where id = $1', [
          operationResponse.body.data.id,
        ])
      ).rows[0]!,
    ({ status }) => status !== 'running' && status !== 'queued',
  )
  assert.equal(operation.status, 'failed')
  const globResponse = await alice.get(
    `/drive/glob?pattern=${encodeURIComponent('**/Left*')}&workspace_id=${workspace_id}`,
  )
  assert.deepEqual(globResponse.body.data, [])
})
