// Slow: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { adapterOf } from '#gateway/media/vendors/every-adapter.ts'
import { everyProvider } from '#gateway/providers/every-provider.ts'
import { addEndpoint, studioServer } from '#test/media/studio.ts'
import { type Got, SECRET, endpointAt, json, vendorAt } from '#test/media/wire.ts'
import { ended } from '#test/operations/ended.ts'
import type { Person, TestServer } from '#test/server.ts'

type Response = Parameters<typeof json>[0]

const RESULT = '/files/result'
const sendExpired = (response: Response, path: string): void =>
  json(response, { error: { message: 'This result has expired.' } }, path.includes('410') ? 410 : 404)

/** Responses of every vendor in its own format: each job is done, and its result has expired. */
function answer({ method, path }: Got, response: Response, origin: string): void {
  const file = `${origin}${path.split('/').slice(0, 2).join('/')}${RESULT}`
  const here = `${origin}${path}`
  if (path.endsWith(RESULT) || path.endsWith('/content') || path.endsWith('/requests/1'))
    return sendExpired(response, path)
  if (path.endsWith(':predictLongRunning')) return json(response, { name: 'operations/1' })
  if (path.endsWith('/operations/1'))
    return json(response, {
      done: true,
      response: { generateVideoResponse: { generatedSamples: [{ video: { uri: file } }] } },
    })
  if (path.endsWith('/status')) return json(response, { status: 'COMPLETED' })
  if (path.endsWith('/predictions')) return json(response, { id: 'p', urls: { get: `${here}/p` } }, 201)
  if (path.endsWith('/predictions/p')) return json(response, { status: 'succeeded', output: file })
  if (path.endsWith('/videos')) return json(response, { id: 'video_1', status: 'queued', seconds: '4' })
  if (path.endsWith('/videos/video_1')) return json(response, { id: 'video_1', status: 'completed', progress: 100 })
  if (path.endsWith('/get_result')) return json(response, { status: 'Ready', result: { sample: file } })
  if (method === 'POST')
    return json(response, {
      // Black Forest Labs and fal.
      id: 'j',
      polling_url: `${origin}${path.split('/').slice(0, 3).join('/')}/get_result`,
      request_id: '1',
      status_url: `${here}/requests/1/status`,
      response_url: `${here}/requests/1`,
    })
  json(response, {})
}

const kinds = ['image', 'video', 'speech', 'transcription'] as const
const jobs = everyProvider.flatMap(({ id, shape }) => {
  const adapter = adapterOf(endpointAt('http://127.0.0.1', shape, { preset: id }))
  // fal's audio and transcripts work like its images. Stability's status response is the file itself.
  const jobKinds = kinds.filter((kind) => adapter[kind]?.how === 'deferred' && (kind === 'image' || kind === 'video'))
  return id === 'stability' ? [] : jobKinds.flatMap((kind) => [404, 410].map((status) => ({ id, shape, kind, status })))
})

/** Started together, so that they wait for the first poll at the same time. */
const operations = new Map<object, string>()
let server: TestServer
let alice: Person
let vendor: Awaited<ReturnType<typeof vendorAt>>
before(async () => {
  vendor = await vendorAt(answer)
  server = await studioServer()
  alice = await server.person('Alice')
  for (const job of jobs) {
    const { id, shape, kind, status } = job
    const slug = `x${status}-${id}-${kind}`
    await addEndpoint(
      alice,
      slug,
      { ...vendor, key: SECRET },
      {
        preset: id,
        shape,
        base_url: `${vendor.origin}/${slug}/v1`,
        models: [{ id: 'a/b', kind, pricing: { image: 40_000, video_second: 10_000 } }],
      },
    )
    const ask = { model: `${slug}/a/b`, prompt: 'x', background: true, ...(kind === 'video' && { seconds: 4 }) }
    const response = await alice.post(`/inference/${kind}s`, ask)
    assert.equal(response.status, 202, response.text)
    operations.set(job, response.body.data.id)
  }
})

after(async () => {
  await server?.[Symbol.asyncDispose]()
  vendor?.[Symbol.dispose]()
})

for (const job of jobs)
  test(`an expired result (${job.status}) of a ${job.kind} from ${job.id} is a provider error, and is billed`, async () => {
    const { status, error, cost_usd } = await ended(alice, operations.get(job)!)
    assert.deepEqual([status, error.code, cost_usd], ['failed', 'bad_provider_answer', 0.04], JSON.stringify(error))
  })
