import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { loadContracts } from '#modules/contracts.ts'
import { list } from '#core/registry.ts'
import { addEndpoint, studioServer } from '#test/media/studio.ts'
import { SECRET, json, vendorAt } from '#test/media/wire.ts'
import { ended } from '#test/operations/ended.ts'
import type { Caller, Person, TestServer } from '#test/server.ts'
import { wav } from '#test/vendors/media/made/sound.ts'

let server: TestServer
let alice: Person
let vendor: Awaited<ReturnType<typeof vendorAt>>
/** A chat with a failed run. */
let chat: string
let failedRun: string

const kinds = ['text', 'image', 'video', 'speech', 'transcription'] as const
const pricing = { input: 1e6, output: 1e6, image: 1e6, video_second: 1e6, character: 1e6, audio_second: 1e6 }
const of = (slug: string, pricing: object | null) =>
  kinds.map((kind) => ({ id: `${slug}-${kind}`, ...(kind !== 'text' && { kind }), ...(pricing && { pricing }) }))

before(async () => {
  vendor = await vendorAt((_, response) => json(response, { error: { message: 'Broken.', type: 'api_error' } }, 500))
  server = await studioServer()
  alice = await server.person('Alice')
  await addEndpoint(
    alice,
    'paid',
    { ...vendor, key: SECRET },
    {
      models: [...of('dear', pricing), ...of('open', null)],
    },
  )
  chat = (await alice.post('/chats', { model: 'paid/dear-text' })).body.data.id
  const message = await alice.post(`/chats/${chat}/messages`, { content: 'hello' })
  failedRun = message.body.error.details.run_id
  assert.equal(message.status, 502, message.text)
})
after(async () => {
  await server?.[Symbol.asyncDispose]()
  vendor?.[Symbol.dispose]()
})

/** A body for every route that accepts a model call and makes it later. */
const bodies: Record<string, (model: (kind: (typeof kinds)[number]) => string) => object> = {
  'chats.send': (model) => ({ content: 'hello', model: model('text') }),
  'chats.retry': (model) => ({ model: model('text') }),
  'inference.text': (model) => ({ model: model('text'), messages: [{ role: 'user', content: 'hello' }] }),
  'inference.images': (model) => ({ model: model('image'), prompt: 'a fox' }),
  'inference.videos': (model) => ({ model: model('video'), prompt: 'a fox', seconds: 4 }),
  'inference.speech': (model) => ({ model: model('speech'), input: 'hello' }),
  'inference.transcriptions': (model) => ({
    model: model('transcription'),
    audio: { kind: 'base64', media_type: 'audio/wav', data: wav(1, 8_000).toString('base64') },
  }),
}

const routes = list(await loadContracts()).filter(
  ({ endpoint: { reply, errors } }) => reply.kind === 'operation' && errors?.includes('unpriced_model'),
)

test('every route that calls a model later is tested here', () => {
  assert.deepEqual(routes.map(({ name }) => name).toSorted(), Object.keys(bodies).toSorted())
})

const cases: [title: string, who: () => Promise<Caller>, models: string, refusal: [number, string]][] = [
  ['a spent cap', () => alice.key({ spend_cap_usd: 0.000001 }), 'dear', [402, 'spend_cap_reached']],
  ['a model without a price', () => alice.key({ spend_cap_usd: 1 }), 'open', [402, 'unpriced_model']],
  ['a policy', () => alice.key({ allowed_models: ['sim/echo'] }), 'dear', [403, 'policy_denied']],
]

for (const [title, who, models, refusal] of cases)
  for (const { name, endpoint } of routes)
    test(`${name} isn't accepted for the background under ${title}`, async () => {
      const by = await who()
      const path = endpoint.path.replace(':id', chat).replace(':run_id', failedRun)
      const body = bodies[name]!((kind) => `paid/${models}-${kind}`)
      const requestCount = vendor.got.length
      const before = await traces()
      const answer = await by.post(path, { ...body, background: true })
      assert.deepEqual([answer.status, answer.body.error?.code], refusal, answer.text)
      assert.deepEqual(await traces(), before)
      assert.equal(vendor.got.length, requestCount)
    })

for (const [title, who, models, refusal] of cases)
  test(`a video of compat-a isn't queued under ${title}`, async () => {
    const by = await who()
    const before = await traces()
    const answer = await by.post('/compat-a/v1/videos', { model: `paid/${models}-video`, prompt: 'x', seconds: '4' })
    assert.deepEqual([answer.status, answer.body.error?.code], refusal, answer.text)
    assert.deepEqual(await traces(), before)
  })

test('affordable calls are accepted, and the check leaves no reservation', async () => {
  const key = await alice.key({ spend_cap_usd: 8, spend_cap_period: 'total' })
  for (const _ of [1, 2]) {
    const answer = await key.post('/inference/videos', { model: 'paid/dear-video', prompt: 'x', seconds: 4 })
    assert.equal(answer.status, 202, answer.text)
    // The vendor fails, so the reservation counts as spent: the second call fits to the cent.
    assert.equal((await ended(alice, answer.body.data.id)).status, 'failed')
  }
})

/** Operations, runs, jobs, and money left behind by an accepted call. */
async function traces(): Promise<unknown> {
  const { pool } = server.app.engine.postgres
  const { rows } = await pool.query(`select
    (select count(*)::int from operations) as operations,
    (select count(*)::int from media_jobs) as jobs,
    (select count(*)::int from runs where status in ('queued', 'running')) as runs,
    (select count(*)::int from messages) as messages,
    (select count(*)::int from reservations) as held`)
  return rows[0]
}
