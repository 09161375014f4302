import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createFalClient } from '@fal-ai/client'
import Replicate from 'replicate'
import type { Behaviour, Json, Vendor } from '../../vendor.ts'
import { ask, asForm, bearer, type Body, type Received } from '../asking.ts'
import { formatOf, measure, picture } from '../made/picture.ts'
import { blackForestLabsMedia } from './black-forest-labs.ts'
import { falMedia } from './fal.ts'
import { replicateMedia } from './replicate.ts'
import { stabilityMedia } from './stability.ts'

async function shape(response: Received): Promise<string> {
  const measured = await measure(response.bytes)
  return `${formatOf(response.bytes)} ${measured?.width}x${measured?.height}`
}

describe('replicate 1.4: predictions', () => {
  const client = ({ origin, key }: Vendor) =>
    new Replicate({ auth: key, baseUrl: `${origin}/v1`, useFileOutput: false })
  const input = { prompt: 'A cat', num_outputs: 2, aspect_ratio: '16:9' }

  test('polled until done; files are stored elsewhere, temporarily', async () => {
    await using vendor = await replicateMedia()
    const { predictions } = client(vendor)
    const prediction = await predictions.create({ model: 'black-forest-labs/flux-schnell', input })
    assert.deepEqual([prediction.status, prediction.output], ['starting', null])
    assert.equal(prediction.urls.get, `${vendor.origin}/v1/predictions/${prediction.id}`)
    assert.equal((await predictions.get(prediction.id)).status, 'processing')
    const donePrediction = await predictions.get(prediction.id)
    assert.equal(donePrediction.status, 'succeeded')
    assert.equal(typeof donePrediction.metrics?.predict_time, 'number')
    assert.equal(vendor.jobs[0]?.polled.length, 2)
    assert.equal(donePrediction.output.length, 2)
    assert.equal(new URL(donePrediction.output[0]).origin, vendor.files?.origin)
    assert.equal(await shape(await ask('GET', donePrediction.output[0])), 'webp 1344x768')
    assert.deepEqual((await predictions.get(prediction.id)).output, donePrediction.output)
    vendor.expire()
    assert.equal((await ask('GET', donePrediction.output[0])).status, 403)
  })

  test('awaited in the submit; by version; a video is one link', async () => {
    await using vendor = await replicateMedia()
    const { predictions } = client(vendor)
    const film = await predictions.create({ model: 'minimax/video-01', input: { prompt: 'A cat' }, wait: 5 })
    assert.equal(film.status, 'succeeded')
    assert.equal((await ask('GET', film.output)).headers['content-type'], 'video/mp4')
    assert.equal(vendor.requests[0]?.headers['prefer'], 'wait=5')
    const version = '7762fd07cf82c948538e41f63f77d685e02b063e37e496e96eefd46c929f9bdc'
    assert.equal((await predictions.create({ version, input: { prompt: 'A cat' } })).version, version)
  })

  test('canceled, canceled too late, refused, failed, never done', async () => {
    await using vendor = await replicateMedia()
    const { predictions } = client(vendor)
    const begin = async (behaviour: Behaviour) => {
      vendor.script(behaviour)
      return (await predictions.create({ model: 'minimax/video-01', input: { prompt: 'A cat' } })).id
    }
    const canceled = await begin({})
    assert.equal((await predictions.cancel(canceled)).status, 'canceled')
    assert.equal((await predictions.get(canceled)).status, 'canceled')
    assert.equal(vendor.jobs[0]?.cancels.length, 1)
    const on = await begin({ media: { job: { polls: 0, cancel: 'ignored' } } })
    assert.equal((await predictions.cancel(on)).status, 'starting')
    assert.equal((await predictions.get(on)).status, 'succeeded')
    const moderatedJob = await begin({ media: { moderated: true, job: { polls: 0 } } })
    assert.match(String((await predictions.get(moderatedJob)).error), /E005/)
    const failedJob = await begin({ media: { job: { polls: 0, ends: 'failed' } } })
    assert.equal((await predictions.get(failedJob)).status, 'failed')
    const never = await begin({ media: { job: { polls: Infinity } } })
    for (let n = 0; n < 4; n++) assert.match((await predictions.get(never)).status, /starting|processing/)
  })

  test('rejects unknown fields', async () => {
    await using vendor = await replicateMedia()
    const post = async (path: string, body: Json, headers: Record<string, string> = bearer(vendor)) =>
      (await ask('POST', `${vendor.origin}/v1/${path}`, { headers, body })).json()
    const flux = 'models/black-forest-labs/flux-schnell/predictions'
    assert.equal((await post(flux, { input: {} }))['invalid_fields'][0].field, 'input.prompt')
    assert.equal((await post(flux, { input: { prompt: 'A cat', sede: 1 } })).status, 422)
    assert.equal((await post(flux, { prompt: 'A cat' })).status, 422)
    assert.equal((await post('predictions', { input: { prompt: 'A cat' } })).status, 422)
    assert.equal((await post('models/nobody/nothing/predictions', { input: {} })).status, 404)
    assert.equal((await post(flux, { input }, { authorization: 'Bearer other' })).status, 401)
    assert.equal(vendor.jobs.length, 0)
  })
})

describe("fal's client 1.10: the queue", () => {
  /** The client calls fal's own hosts; its middleware redirects it to loopback. */
  const client = ({ origin, key }: Vendor) =>
    createFalClient({
      credentials: key,
      requestMiddleware: async (request) => {
        const url = request.url.replace('https://queue.fal.run', origin)
        return await Promise.resolve({ ...request, url })
      },
    })
  const endpoint = 'fal-ai/flux/schnell'
  const input = { prompt: 'A cat', image_size: { width: 640, height: 480 }, num_images: 2 } as const

  test('submitted, queued, running, done; files are stored elsewhere', async () => {
    await using vendor = await falMedia()
    vendor.script({ media: { job: { polls: 2 } } })
    const { queue } = client(vendor)
    const { request_id: requestId, ...links } = await queue.submit(endpoint, { input })
    assert.equal(links.status_url, `${vendor.origin}/fal-ai/flux/requests/${requestId}/status`)
    const states = []
    for (let n = 0; n < 3; n++) states.push((await queue.status(endpoint, { requestId })).status)
    assert.deepEqual(states, ['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED'])
    const { data } = await queue.result(endpoint, { requestId })
    assert.equal(data.images.length, 2)
    const url = data.images[0]?.url ?? ''
    assert.equal(new URL(url).origin, vendor.files?.origin)
    assert.equal(await shape(await ask('GET', url)), 'jpeg 640x480')
    assert.equal(vendor.jobs[0]?.polled.length, 3)
  })

  test('canceled while queued; too late; unknown', async () => {
    await using vendor = await falMedia()
    const headers = { authorization: `Key ${vendor.key}` }
    const submit = async () => (await ask('POST', `${vendor.origin}/${endpoint}`, { headers, body: input })).json()
    const { cancel_url, response_url } = await submit()
    assert.equal((await ask('GET', response_url, { headers })).json()['detail'], 'Request is still in progress')
    const response = await ask('PUT', cancel_url, { headers })
    assert.deepEqual([response.status, response.json()['status']], [202, 'CANCELLATION_REQUESTED'])
    assert.equal((await ask('GET', response_url, { headers })).json()['error_type'], 'client_cancelled')
    assert.equal((await ask('PUT', cancel_url, { headers })).json()['status'], 'ALREADY_COMPLETED')
    const unknown = await ask('PUT', cancel_url.replace(/requests\/[^/]+/, 'requests/none'), { headers })
    assert.deepEqual([unknown.status, unknown.json()['status']], [404, 'NOT_FOUND'])
    vendor.script({ media: { job: { polls: 0, cancel: 'ignored' } } })
    const job = await submit()
    assert.equal((await ask('PUT', job['cancel_url'], { headers })).status, 202)
    assert.equal((await ask('GET', job['status_url'], { headers })).json()['status'], 'COMPLETED')
    assert.equal((await ask('GET', job['response_url'], { headers })).json()['images'].length, 2)
  })

  test('invalid input is reported in the result, and so is disallowed content', async () => {
    await using vendor = await falMedia()
    vendor.script({}, {}, { media: { moderated: true } }, { media: { job: { ends: 'failed' } } })
    const headers = { authorization: `Key ${vendor.key}` }
    const end = async (path: string, body: Json) => {
      const submit = (await ask('POST', `${vendor.origin}/${path}`, { headers, body })).json()
      for (let n = 0; n < 2; n++) await ask('GET', submit['status_url'], { headers })
      return await ask('GET', submit['response_url'], { headers })
    }
    const missing = await end(endpoint, {})
    assert.deepEqual([missing.status, missing.json()['detail'][0].loc], [422, ['body', 'prompt']])
    assert.equal((await end(endpoint, { prompt: 'A cat', n: 1 })).json()['detail'][0].type, 'extra_forbidden')
    const moderatedResult = (await end(endpoint, { prompt: 'A cat' })).json()
    assert.equal(moderatedResult['detail'][0].type, 'content_policy_violation')
    const failedResult = await end(endpoint, { prompt: 'A cat' })
    assert.deepEqual([failedResult.status, failedResult.headers['x-fal-error-type']], [503, 'runner_disconnected'])
    const film = await end('fal-ai/veo3', { prompt: 'A cat', duration: '4s' })
    assert.equal((await ask('GET', film.json()['video'].url)).headers['content-type'], 'video/mp4')
    const speech = await end('fal-ai/kokoro/american-english', { prompt: 'Hello' })
    assert.equal((await ask('GET', speech.json()['audio'].url)).bytes.toString('latin1', 0, 4), 'RIFF')
    const transcript = await end('fal-ai/wizper', { audio_url: 'data:audio/wav;base64,AAAA' })
    assert.equal(transcript.json()['chunks'].length, 2)
    assert.equal((await ask('POST', `${vendor.origin}/fal-ai/none`, { headers, body: {} })).status, 404)
    assert.equal((await ask('POST', `${vendor.origin}/${endpoint}`, { body: {} })).status, 401)
  })
})

describe('Black Forest Labs', () => {
  test('is polled at its own URL, returns a temporary link, or reports moderation', async () => {
    await using vendor = await blackForestLabsMedia()
    const headers = { 'x-key': vendor.key }
    const submit = async (behaviour: Behaviour, body: Json = { prompt: 'A cat', width: 512, height: 256 }) => {
      vendor.script(behaviour)
      return await ask('POST', `${vendor.origin}/v1/flux-pro-1.1`, { headers, body })
    }
    const { id, polling_url } = (await submit({})).json()
    const poll = async (url: string) => (await ask('GET', url, { headers })).json()
    assert.equal((await poll(`${vendor.origin}/v1/get_result?id=${id}`))['status'], 'Task not found')
    assert.equal((await poll(polling_url))['status'], 'Pending')
    const { status, result } = await poll(polling_url)
    assert.equal(status, 'Ready')
    assert.equal(await shape(await ask('GET', result.sample)), 'jpeg 512x256')
    vendor.expire()
    assert.equal((await ask('GET', result.sample)).status, 403)
    const moderatedJob = (await submit({ media: { moderated: true, job: { polls: 0 } } })).json()
    assert.equal((await poll(moderatedJob['polling_url']))['status'], 'Request Moderated')
    const failedJob = (await submit({ media: { job: { polls: 0, ends: 'failed' } } })).json()
    assert.equal((await poll(failedJob['polling_url']))['status'], 'Error')
    assert.deepEqual((await submit({}, { prompt: 'A cat', size: '1x1' })).json()['detail'][0].loc, ['body', 'size'])
    assert.equal((await submit({}, { prompt: 'A cat', width: 64 })).status, 422)
    assert.equal((await submit({ refuses: 'quota' })).status, 402)
    assert.equal((await ask('GET', polling_url)).status, 403)
  })
})

describe('Stability', () => {
  const post = async ({ origin, key }: Vendor, route: string, body: Body | Json, accept = 'image/*') => {
    const headers = { authorization: `Bearer ${key}`, accept }
    return await ask('POST', `${origin}/v2beta/stable-image/${route}`, { headers, body })
  }

  test('answers with the image or JSON, filtered or not', async () => {
    await using vendor = await stabilityMedia()
    const form = await asForm({ prompt: 'A cat', aspect_ratio: '16:9', seed: '7', output_format: 'webp' })
    const plain = await post(vendor, 'generate/core', form)
    assert.deepEqual([plain.headers['finish-reason'], plain.headers['seed']], ['SUCCESS', '7'])
    assert.equal(await shape(plain), 'webp 1344x768')
    vendor.script({ media: { moderated: true, size: '32x32' } })
    const json = await post(vendor, 'generate/ultra', await asForm({ prompt: 'A cat' }), 'application/json')
    assert.equal(json.json()['finish_reason'], 'CONTENT_FILTERED')
    assert.equal(formatOf(Buffer.from(json.json()['image'], 'base64')), 'png')
    const image = await picture('64x48')
    const wider = await post(vendor, 'edit/outpaint', await asForm({ image, left: '16', down: '8' }))
    assert.equal(await shape(wider), 'png 80x56')
  })

  test('upscales as a job, which answers 202 until done', async () => {
    await using vendor = await stabilityMedia()
    const form = await asForm({ prompt: 'A cat', image: await picture('64x48') })
    const { id } = (await post(vendor, 'upscale/creative', form)).json()
    const poll = async () => await ask('GET', `${vendor.origin}/v2beta/results/${id}`, { headers: bearer(vendor) })
    assert.equal((await poll()).status, 202)
    assert.equal(await shape(await poll()), 'png 256x192')
    vendor.expire()
    assert.equal((await poll()).status, 404)
  })

  test('rejects JSON bodies, files that aren’t images, and unknown fields and keys', async () => {
    await using vendor = await stabilityMedia()
    const errors = [
      await post(vendor, 'generate/core', { prompt: 'A cat' }),
      await post(vendor, 'generate/core', await asForm({ prompt: 'A cat', n: '2' })),
      await post(vendor, 'generate/core', await asForm({ seed: '1' })),
      await post(
        vendor,
        'edit/inpaint',
        await asForm({ prompt: 'x', image: { bytes: Buffer.from('x'), type: 'image/png' } }),
      ),
      await post(vendor, 'generate/core', await asForm({ prompt: 'A cat' }), 'text/plain'),
    ]
    assert.deepEqual(
      errors.map(({ status }) => status),
      [400, 400, 400, 400, 400],
    )
    assert.match(errors[0]?.json()['errors'][0], /multipart/)
    vendor.script({ status: 403, message: 'Your request was flagged by our content moderation system.' })
    assert.equal(
      (await post(vendor, 'generate/core', await asForm({ prompt: 'A cat' }))).json()['name'],
      'content_moderation',
    )
    assert.equal((await ask('POST', `${vendor.origin}/v2beta/stable-image/generate/core`)).status, 401)
  })
})
