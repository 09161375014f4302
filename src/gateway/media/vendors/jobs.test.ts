import assert from 'node:assert/strict'
import { test } from 'node:test'
import { done, submitted } from '#test/media/run.ts'
import { imageRequest, speechRequest, transcriptionRequest, videoRequest } from '#test/media/requests.ts'
import { SECRET, endpointAt, inputOf, json, vendorAt, wireTo } from '#test/media/wire.ts'
import { adapterOf } from './every-adapter.ts'

const png = inputOf(Buffer.from('a picture'), 'image/png', 'fox.png')
const asDataAddress = `data:image/png;base64,${Buffer.from('a picture').toString('base64')}`
const bodyOf = ({ body }: { body: Buffer }) => JSON.parse(body.toString())

test('Replicate gets a job without waiting, is polled at its own URL, and cancels', async () => {
  let prediction: object = { status: 'processing' }
  let schema: object | null = null
  using vendor = await vendorAt(({ method, path }, response, origin) => {
    if (method === 'GET' && path.startsWith('/v1/models/'))
      return schema === null
        ? json(response, { detail: 'Not found' }, 404)
        : json(response, { latest_version: { openapi_schema: { components: { schemas: { Input: schema } } } } })
    const urls = { get: `${origin}/v1/predictions/p1`, cancel: `${origin}/v1/predictions/p1/cancel` }
    if (path.endsWith('/cancel')) return json(response, { id: 'p1', status: 'canceled', urls })
    if (path.endsWith('.png')) return void response.end(`bytes of ${path}`)
    if (method === 'POST') return json(response, { id: 'p1', status: 'starting', urls }, 201)
    json(response, { id: 'p1', urls, ...prediction })
  })
  const endpoint = endpointAt(`${vendor.origin}/v1`, 'replicate')
  const { image, video } = adapterOf(endpoint)
  await using wire = wireTo(endpoint)
  const request = imageRequest({
    model: 'black-forest-labs/flux-2-pro',
    n: 2,
    size: { width: 512, height: 768 },
    images: [png, png],
    quality: 'high',
    outputFormat: 'jpeg',
    providerOptions: { guidance: 3, num_outputs: 9 },
  })
  const job = await submitted(image, wire, request)
  const first = vendor.got.find(({ method }) => method === 'POST')
  assert.deepEqual(
    [first!.path, first!.headers.prefer],
    ['/v1/models/black-forest-labs/flux-2-pro/predictions', undefined],
  )
  assert.equal(first!.headers.authorization, `Bearer ${SECRET}`)
  assert.deepEqual(bodyOf(first!), {
    input: {
      guidance: 3,
      num_outputs: 2,
      prompt: 'a red fox',
      size: '512x768',
      output_format: 'jpg',
      input_image: asDataAddress,
      input_image_2: asDataAddress,
    },
  })
  assert.deepEqual(job.losses, ['quality'])
  assert.ok(!JSON.stringify(job.job).includes(SECRET))
  assert.equal((await job.poll()).status, 'pending')
  prediction = { status: 'succeeded', output: [`${vendor.origin}/a.png`, `${vendor.origin}/b.png`] }
  const answer = await done(await job.poll())
  assert.deepEqual(
    answer.files?.map(({ text }) => text),
    ['bytes of /a.png', 'bytes of /b.png'],
  )
  assert.deepEqual(answer.units, { images: 2 })
  assert.equal(await job.cancel(), true)
  prediction = { status: 'failed', error: 'NSFW content detected. Try running it again.' }
  assert.equal((await job.poll()).status, 'refused')
  prediction = { status: 'failed', error: 'CUDA out of memory' }
  assert.deepEqual(await job.poll(), { status: 'failed', message: 'CUDA out of memory' })
  prediction = { status: 'canceled' }
  assert.equal((await job.poll()).status, 'cancelled')

  const film = await submitted(video, wire, videoRequest({ model: 'minimax/video-01:abc', seconds: 6, audio: true }))
  const last = vendor.got.at(-1)!
  assert.deepEqual([last.path, bodyOf(last).version, film.losses], ['/v1/predictions', 'abc', ['audio']])

  // The inputs that a model lists are the ones it receives.
  schema = {
    properties: {
      prompt: {},
      first_frame_image: { type: 'string' },
      duration: {},
      subject_reference: { type: 'array' },
    },
  }
  const submission = await submitted(
    video,
    wire,
    videoRequest({ model: 'a/film', seconds: 6, fps: 24, firstFrame: png, references: [png, png] }),
  )
  assert.deepEqual(submission.losses, ['fps'])
  assert.deepEqual(bodyOf(vendor.got.at(-1)!).input, {
    prompt: 'a fox runs',
    first_frame_image: asDataAddress,
    duration: 6,
    subject_reference: [asDataAddress, asDataAddress],
  })
  schema = { properties: { prompt: {}, aspect_ratio: {}, quality: {} } }
  const ratio = await submitted(
    image,
    wire,
    imageRequest({ model: 'a/picture', n: 2, size: { width: 1600, height: 900 }, quality: 'high', seed: 1 }),
  )
  assert.deepEqual(ratio.losses, ['n', 'size', 'seed'])
  assert.deepEqual(bodyOf(vendor.got.at(-1)!).input, { prompt: 'a red fox', aspect_ratio: '16:9', quality: 'high' })
})

test('fal’s queue: an image, a refusal by its checker, a failure reported in the result, a cancellation that is certain while queued', async () => {
  let status = 'IN_QUEUE'
  let cancelStatus = 'CANCELLATION_REQUESTED'
  let result: [object, number] = [{}, 200]
  using vendor = await vendorAt(({ method, path }, response, origin) => {
    const at = `${origin}/fal-ai/flux/requests/r1`
    if (method === 'POST')
      return json(response, {
        request_id: 'r1',
        status_url: `${at}/status`,
        response_url: at,
        cancel_url: `${at}/cancel`,
      })
    if (path.endsWith('/cancel')) return json(response, { status: cancelStatus }, 202)
    if (path.endsWith('/status')) return json(response, { status, queue_position: 3 })
    if (path.startsWith('/files/')) return void response.end(`bytes of ${path}`)
    json(response, ...result)
  })
  const endpoint = endpointAt(vendor.origin, 'fal')
  const { image, video } = adapterOf(endpoint)
  await using wire = wireTo(endpoint)
  const job = await submitted(
    image,
    wire,
    imageRequest({ model: 'fal-ai/flux/dev', n: 2, aspectRatio: '16:9', images: [png], mask: png, transparent: true }),
  )
  const [first] = vendor.got
  assert.deepEqual([first!.path, first!.headers.authorization], ['/fal-ai/flux/dev', `Key ${SECRET}`])
  assert.deepEqual(bodyOf(first!), {
    prompt: 'a red fox',
    num_images: 2,
    image_size: 'landscape_16_9',
    image_url: asDataAddress,
    mask_url: asDataAddress,
  })
  assert.deepEqual(job.losses, ['transparent'])
  assert.equal((await job.poll()).status, 'pending')
  assert.equal(await job.cancel(), true)
  status = 'IN_PROGRESS'
  assert.equal(await job.cancel(), false, 'what runs may end all the same')
  cancelStatus = 'OK'
  assert.equal(await job.cancel(), true)

  status = 'COMPLETED'
  result = [
    {
      images: ['x', 'y'].map((name) => ({ url: `${vendor.origin}/files/${name}.png` })),
      has_nsfw_concepts: [false, false],
    },
    200,
  ]
  const answer = await done(await job.poll())
  assert.deepEqual(
    [answer.files?.map(({ text }) => text), answer.units],
    [['bytes of /files/x.png', 'bytes of /files/y.png'], { images: 2 }],
  )
  result = [{ images: [{ url: 'data:image/png;base64,aGk=' }], has_nsfw_concepts: [true] }, 200]
  assert.equal((await job.poll()).status, 'refused')
  result = [{ detail: [{ loc: ['body', 'image_size'], msg: 'is too large', type: 'value_error' }] }, 422]
  assert.deepEqual(await job.poll(), { status: 'failed', message: 'image_size: is too large' })

  const film = await submitted(
    video,
    wire,
    videoRequest({ model: 'fal-ai/veo3', seconds: 8, audio: false, firstFrame: png, fps: 24 }),
  )
  assert.deepEqual(film.losses, ['fps'])
  const body = bodyOf(vendor.got.at(-1)!)
  assert.deepEqual([body.duration, body.generate_audio, body.image_url], ['8s', false, asDataAddress])
  result = [{ video: { url: `${vendor.origin}/files/film.mp4`, duration: 8 } }, 200]
  const finalResult = await done(await film.poll())
  assert.deepEqual([finalResult.files?.[0]?.text, finalResult.units], ['bytes of /files/film.mp4', { videoSeconds: 8 }])
})

test('fal speaks and transcribes by jobs', async () => {
  let result: object = {}
  using vendor = await vendorAt(({ method, path }, response, origin) => {
    if (method === 'POST')
      return json(response, { request_id: 'r', status_url: `${origin}/status`, response_url: `${origin}/result` })
    if (path === '/status') return json(response, { status: 'COMPLETED' })
    if (path === '/talk.wav') return void response.end('sound')
    json(response, result)
  })
  const endpoint = endpointAt(vendor.origin, 'fal')
  const { speech, transcription } = adapterOf(endpoint)
  await using wire = wireTo(endpoint)
  const job = await submitted(speech, wire, speechRequest({ voice: 'Wise_Woman', language: 'en', speed: 1.2 }))
  assert.deepEqual(job.losses, ['language'])
  result = { audio: { url: `${vendor.origin}/talk.wav` } }
  const speechResult = await done(await job.poll())
  assert.deepEqual([speechResult.text, speechResult.format, speechResult.units], ['sound', 'wav', { characters: 14 }])

  const wav = inputOf(Buffer.from('RIFF sound'), 'audio/wav', 'talk.wav')
  const reading = await submitted(
    transcription,
    wire,
    transcriptionRequest(wav, { timestamps: 'word', speakers: true }),
  )
  const body = bodyOf(vendor.got.at(-1)!)
  assert.deepEqual([body.chunk_level, body.diarize], ['word', true])
  assert.equal(body.audio_url, `data:audio/wav;base64,${Buffer.from('RIFF sound').toString('base64')}`)
  result = {
    text: ' Hi. You',
    inferred_languages: ['en'],
    chunks: [
      { text: ' Hi.', timestamp: [0, 0.5], speaker: 'SPEAKER_00' },
      { text: ' You', timestamp: [0.6, 1], speaker: 'SPEAKER_01' },
    ],
  }
  const { transcript } = await done(await reading.poll())
  assert.deepEqual(transcript, {
    text: 'Hi. You',
    language: 'en',
    durationSeconds: null,
    segments: [
      { startSeconds: 0, endSeconds: 0.5, text: 'Hi.', speaker: 'SPEAKER_00' },
      { startSeconds: 0.6, endSeconds: 1, text: 'You', speaker: 'SPEAKER_01' },
    ],
    words: transcript?.segments,
  })
})

test('Black Forest Labs is polled at its own URL, and its moderation ends the job', async () => {
  let state: object = { status: 'Pending', progress: 0.25 }
  using vendor = await vendorAt(({ method, path, query }, response, origin) => {
    if (method === 'POST') return json(response, { id: 'j1', polling_url: `${origin}/v1/elsewhere?id=j1` })
    if (path === '/sample.png') return void response.end('a fox')
    assert.deepEqual([path, query.get('id')], ['/v1/elsewhere', 'j1'])
    json(response, { id: 'j1', ...state })
  })
  const endpoint = endpointAt(`${vendor.origin}/v1`, 'black-forest-labs')
  const { image, video, mostImages } = adapterOf(endpoint)
  await using wire = wireTo(endpoint)
  assert.equal(mostImages?.('flux-pro-1.1'), 1)
  const request = imageRequest({
    model: 'flux-kontext-pro',
    images: [png, png],
    seed: 3,
    outputFormat: 'webp',
    aspectRatio: '2:1',
  })
  const job = await submitted(image, wire, request)
  const base64 = Buffer.from('a picture').toString('base64')
  assert.deepEqual(bodyOf(vendor.got[0]!), {
    prompt: 'a red fox',
    seed: 3,
    aspect_ratio: '2:1',
    input_image: base64,
    input_image_2: base64,
  })
  assert.deepEqual([vendor.got[0]!.headers['x-key'], job.losses], [SECRET, ['output_format']])
  assert.deepEqual(await job.poll(), { status: 'pending', progress: 0.25, retryAfterSeconds: null })
  state = { status: 'Ready', result: { sample: `${vendor.origin}/sample.png` } }
  assert.equal((await done(await job.poll())).files?.[0]?.text, 'a fox')
  state = { status: 'Request Moderated', details: { 'Moderation Reasons': ['Derivative Works Filter'] } }
  assert.deepEqual(await job.poll(), { status: 'refused', message: 'Derivative Works Filter' })
  state = { status: 'Error' }
  assert.equal((await job.poll()).status, 'failed')
  assert.equal(job.cancel(), undefined)

  const film = await submitted(
    video,
    wire,
    videoRequest({ model: 'flux-3-video', seconds: 3, lastFrame: png, seed: 1 }),
  )
  assert.deepEqual(film.losses, ['seed', 'seconds', 'last_frame'])
  assert.deepEqual([bodyOf(vendor.got.at(-1)!).mode, bodyOf(vendor.got.at(-1)!).duration], ['t2v', 5])
})

test('Veo is a job, and its key is in no URL', async () => {
  let operation: object = { name: 'models/veo-3/operations/o1' }
  using vendor = await vendorAt(({ path }, response) => {
    if (path === '/v1beta/files/f1:download') return void response.end('a film')
    json(response, operation)
  })
  const endpoint = endpointAt(`${vendor.origin}/v1beta`, 'gemini')
  const { video } = adapterOf(endpoint)
  await using wire = wireTo(endpoint)
  const request = videoRequest({
    model: 'veo-3',
    seconds: 8,
    size: { width: 1920, height: 1080 },
    firstFrame: png,
    references: [png],
    fps: 24,
    providerOptions: { personGeneration: 'allow_adult', sampleCount: 4 },
  })
  const job = await submitted(video, wire, request)
  const picture = { bytesBase64Encoded: Buffer.from('a picture').toString('base64'), mimeType: 'image/png' }
  assert.deepEqual(bodyOf(vendor.got[0]!), {
    instances: [
      { prompt: 'a fox runs', image: picture, referenceImages: [{ image: picture, referenceType: 'asset' }] },
    ],
    parameters: {
      personGeneration: 'allow_adult',
      sampleCount: 1,
      aspectRatio: '16:9',
      resolution: '1080p',
      durationSeconds: 8,
    },
  })
  assert.deepEqual([vendor.got[0]!.path, job.losses], ['/v1beta/models/veo-3:predictLongRunning', ['fps']])
  assert.equal((await job.poll()).status, 'pending')
  const uri = `${vendor.origin}/v1beta/files/f1:download?alt=media`
  operation = { done: true, response: { generateVideoResponse: { generatedSamples: [{ video: { uri } }] } } }
  const film = await done(await job.poll())
  assert.deepEqual([film.files?.[0]?.text, film.units], ['a film', { videoSeconds: 8 }])
  assert.ok(vendor.got.every(({ headers }) => headers['x-goog-api-key'] === SECRET))
  assert.ok(vendor.got.every(({ query }) => !query.has('key')))
  operation = { done: true, response: { generateVideoResponse: { raiMediaFilteredReasons: ['Faces of children.'] } } }
  assert.deepEqual(await job.poll(), { status: 'refused', message: 'Faces of children.' })
  operation = { done: true, error: { code: 8, message: 'Out of capacity.' } }
  assert.deepEqual(await job.poll(), { status: 'failed', message: 'Out of capacity.' })
})
