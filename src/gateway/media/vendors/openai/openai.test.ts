import assert from 'node:assert/strict'
import { test } from 'node:test'
import { made, read, submitted, done } from '#test/media/run.ts'
import { imageRequest, speechRequest, transcriptionRequest, videoRequest } from '#test/media/requests.ts'
import { type Got, SECRET, endpointAt, inputOf, json, vendorAt, wireTo } from '#test/media/wire.ts'
import { adapterOf } from '../every-adapter.ts'

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const formOf = ({ body, headers }: Got): Promise<FormData> =>
  new Response(new Uint8Array(body), { headers: { 'content-type': headers['content-type']! } }).formData()
const wav = inputOf(Buffer.from('RIFF of some length, odd in threes'), 'audio/wav', 'talk "1".wav')
const png = inputOf(Buffer.from('a picture'), 'image/png', 'fox.png')

test('OpenAI generates images; fields without an equivalent are losses, and tokens are counted', async () => {
  using vendor = await vendorAt((_, response) =>
    json(response, {
      created: 1,
      data: [{ b64_json: base64('first'), revised_prompt: 'a redder fox' }, { b64_json: base64('second') }],
      usage: {
        input_tokens: 50,
        output_tokens: 4_000,
        input_tokens_details: { text_tokens: 10, image_tokens: 40 },
      },
    }),
  )
  const endpoint = endpointAt(`${vendor.origin}/v1`, 'openai-chat', { preset: 'openai' })
  await using wire = wireTo(endpoint)
  const request = imageRequest({
    model: 'gpt-image-1',
    n: 2,
    size: { width: 1024, height: 1536 },
    transparent: true,
    seed: 7,
    negativePrompt: 'dogs',
    providerOptions: { moderation: 'low', n: 10, model: 'other' },
  })
  const answer = await read(await made(adapterOf(endpoint).image, wire, request))
  assert.deepEqual(answer, {
    files: [
      { text: 'first', revisedPrompt: 'a redder fox' },
      { text: 'second', revisedPrompt: null },
    ],
    units: { images: 2, inputTokens: 50, outputTokens: 4_000, inputImageTokens: 40 },
    losses: ['seed', 'negative_prompt'],
  })
  const [{ path, headers, body }] = vendor.got as [Got]
  assert.deepEqual([path, headers.authorization], ['/v1/images/generations', `Bearer ${SECRET}`])
  assert.deepEqual(JSON.parse(body.toString()), {
    model: 'gpt-image-1',
    prompt: 'a red fox',
    n: 2,
    size: '1024x1536',
    background: 'transparent',
    moderation: 'low',
  })
})

test('an image is edited with a mask by a form; a local server returns a URL on its own host', async () => {
  using vendor = await vendorAt((request, response, origin) => {
    if (request.path === '/made/1.png') return void response.end('from its host')
    json(response, { data: [{ url: `${origin}/made/1.png` }] })
  })
  const endpoint = endpointAt(`${vendor.origin}/v1`, 'openai-chat', { preset: 'local-ai' })
  await using wire = wireTo(endpoint)
  const request = imageRequest({ model: 'flux', images: [png], mask: png, aspectRatio: '1:1' })
  const answer = await read(await made(adapterOf(endpoint).image, wire, request))
  assert.deepEqual(answer.losses, ['aspect_ratio'])
  assert.equal(answer.files?.[0]?.text, 'from its host')
  assert.equal(vendor.got[0]!.path, '/v1/images/edits')
  const form = await formOf(vendor.got[0]!)
  assert.deepEqual([form.get('prompt'), form.get('response_format')], ['a red fox', 'b64_json'])
  for (const name of ['image', 'mask']) {
    const file = form.get(name) as File
    assert.deepEqual([file.name, file.type, await file.text()], ['fox.png', 'image/png', 'a picture'])
  }
})

test('xAI and Together receive their own fields for the same shape', async () => {
  using vendor = await vendorAt((_, response) =>
    json(response, { data: [{ b64_json: base64('made') }], usage: { cost_in_usd_ticks: 200_000_000 } }),
  )
  const xai = endpointAt(`${vendor.origin}/v1`, 'openai-chat', { preset: 'xai' })
  await using wire = wireTo(xai)
  const request = imageRequest({ images: [png, png], size: { width: 512, height: 512 }, aspectRatio: '1:1', seed: 1 })
  const byXai = await read(await made(adapterOf(xai).image, wire, request))
  assert.deepEqual([byXai.units, byXai.losses], [{ images: 1, reportedUsd: 0.02 }, ['size', 'seed']])
  const url = `data:image/png;base64,${base64('a picture')}`
  const firstBody = JSON.parse(vendor.got[0]!.body.toString())
  assert.equal(vendor.got[0]!.path, '/v1/images/edits')
  assert.deepEqual(
    firstBody.images,
    [url, url].map((one) => ({ url: one, type: 'image_url' })),
  )
  assert.equal(firstBody.aspect_ratio, '1:1')
  await assert.rejects(made(adapterOf(xai).image, wire, imageRequest({ images: [png], mask: png })), {
    kind: 'bad_request',
    sent: false,
  })
  const together = endpointAt(`${vendor.origin}/v1`, 'openai-chat', { preset: 'together' })
  const byTogether = await read(await made(adapterOf(together).image, wire, request))
  assert.deepEqual(byTogether.losses, ['aspect_ratio', 'images'])
  const secondBody = JSON.parse(vendor.got[1]!.body.toString())
  assert.deepEqual(
    [secondBody.width, secondBody.seed, secondBody.image_url, secondBody.response_format],
    [512, 1, url, 'base64'],
  )
})

test('OpenAI speaks: newer models in events with tokens, older ones in plain bytes', async () => {
  using vendor = await vendorAt(({ body }, response) => {
    const { stream_format: format } = JSON.parse(body.toString())
    if (format !== 'sse') return void response.writeHead(200, { 'content-type': 'audio/mpeg' }).end('plain sound')
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const audio of ['first ', 'second'])
      response.write(`data: ${JSON.stringify({ type: 'speech.audio.delta', audio: base64(audio) })}\n\n`)
    const usage = { input_tokens: 9, output_tokens: 80, total_tokens: 89 }
    response.end(`data: ${JSON.stringify({ type: 'speech.audio.done', usage })}\n\n`)
  })
  const endpoint = endpointAt(`${vendor.origin}/v1`, 'openai-chat', { preset: 'openai' })
  const { speech } = adapterOf(endpoint)
  await using wire = wireTo(endpoint)
  const newer = speechRequest({ model: 'gpt-4o-mini-tts', format: 'pcm', instructions: 'softly', language: 'en' })
  assert.deepEqual(await read(await made(speech, wire, newer)), {
    format: 'pcm',
    sampleRate: 24_000,
    text: 'first second',
    units: { characters: 14, inputTokens: 9, outputTokens: 80 },
    losses: ['language'],
  })
  const older = speechRequest({ model: 'tts-1', voice: 'nova', speed: 1.5, instructions: 'softly' })
  const plain = await read(await made(speech, wire, older))
  assert.deepEqual([plain.text, plain.format, plain.losses], ['plain sound', 'mp3', ['instructions']])
  assert.deepEqual(
    vendor.got.map(({ body }) => JSON.parse(body.toString()).voice),
    ['alloy', 'nova'],
  )
})

test('speech that breaks off before its last event is incomplete', async () => {
  using vendor = await vendorAt((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(`data: ${JSON.stringify({ type: 'speech.audio.delta', audio: base64('half') })}\n\n`)
  })
  const endpoint = endpointAt(`${vendor.origin}/v1`, 'openai-chat')
  await using wire = wireTo(endpoint)
  const sound = await made(adapterOf(endpoint).speech, wire, speechRequest({ model: 'gpt-4o-mini-tts' }))
  await assert.rejects(read(sound), { kind: 'bad_answer' })
})

test('whisper returns words and segments; a diarizing model returns speakers; the file is streamed with its length', async () => {
  using vendor = await vendorAt(async (request, response) => {
    const format = (await formOf(request)).get('response_format')
    if (format === 'verbose_json')
      return json(response, {
        text: ' Hello there. ',
        language: 'english',
        duration: 2.5,
        segments: [{ id: 0, start: 0, end: 2.5, text: ' Hello there.' }],
        words: [
          { word: 'Hello', start: 0, end: 1 },
          { word: 'there', start: 1.2, end: 2.5 },
        ],
      })
    if (format === 'diarized_json')
      return json(response, {
        text: 'Hi. Yes?',
        duration: 3,
        segments: [
          { id: 'a', type: 'transcript.text.segment', start: 0, end: 1, text: 'Hi.', speaker: 'A' },
          { id: 'b', type: 'transcript.text.segment', start: 1, end: 3, text: 'Yes?', speaker: 'B' },
        ],
        usage: { type: 'tokens', input_tokens: 30, output_tokens: 5, input_token_details: { audio_tokens: 29 } },
      })
    json(response, { text: 'Hi.', usage: { type: 'duration', seconds: 3 } })
  })
  const endpoint = endpointAt(`${vendor.origin}/v1`, 'openai-chat', { preset: 'openai' })
  const { transcription } = adapterOf(endpoint)
  await using wire = wireTo(endpoint)
  const ask = async (model: string, more: object) =>
    read(await made(transcription, wire, transcriptionRequest(wav, { model, ...more })))

  const words = await ask('whisper-1', { timestamps: 'word', language: 'en-GB', prompt: 'names' })
  assert.deepEqual(words.transcript, {
    text: 'Hello there.',
    language: 'en',
    durationSeconds: 2.5,
    segments: [{ startSeconds: 0, endSeconds: 2.5, text: 'Hello there.', speaker: null }],
    words: [
      { startSeconds: 0, endSeconds: 1, text: 'Hello', speaker: null },
      { startSeconds: 1.2, endSeconds: 2.5, text: 'there', speaker: null },
    ],
  })
  assert.deepEqual([words.losses, words.units], [[], {}])
  const form = await formOf(vendor.got[0]!)
  assert.deepEqual(form.getAll('timestamp_granularities[]'), ['segment', 'word'])
  assert.equal(form.get('language'), 'en')
  const file = form.get('file') as File
  assert.deepEqual([file.type, await file.text()], ['audio/wav', 'RIFF of some length, odd in threes'])

  const speakers = await ask('gpt-4o-transcribe-diarize', { speakers: true, prompt: 'names' })
  assert.deepEqual(
    speakers.transcript?.segments.map(({ text, speaker }) => [text, speaker]),
    [
      ['Hi.', 'A'],
      ['Yes?', 'B'],
    ],
  )
  assert.deepEqual(speakers.losses, ['prompt'])
  assert.deepEqual(speakers.units, { inputTokens: 30, outputTokens: 5, inputAudioTokens: 29 })
  assert.equal((await formOf(vendor.got[1]!)).get('chunking_strategy'), 'auto')

  const bare = await ask('gpt-4o-transcribe', { speakers: true })
  assert.deepEqual([bare.losses, bare.units], [['speakers', 'timestamps'], { audioSeconds: 3 }])
})

test('whisper.cpp is called at its own path and without a model; its words are in the segments', async () => {
  using vendor = await vendorAt((_, response) =>
    json(response, {
      text: ' Hi.\n',
      language: 'german',
      duration: 1,
      segments: [{ start: 0, end: 1, text: ' Hi.', words: [{ word: ' Hi.', start: 0, end: 1, probability: 0.9 }] }],
    }),
  )
  const endpoint = endpointAt(vendor.origin, 'openai-chat', { preset: 'whisper-cpp', apiKey: null })
  const adapter = adapterOf(endpoint)
  await using wire = wireTo(endpoint)
  const answer = await read(await made(adapter.transcription, wire, transcriptionRequest(wav, { timestamps: 'word' })))
  assert.deepEqual([answer.transcript?.text, answer.transcript?.language], ['Hi.', 'de'])
  assert.deepEqual(answer.transcript?.words, [{ startSeconds: 0, endSeconds: 1, text: 'Hi.', speaker: null }])
  assert.equal(vendor.got[0]!.path, '/inference')
  assert.equal((await formOf(vendor.got[0]!)).has('model'), false)
  assert.deepEqual([adapter.image, adapter.speech, adapter.video], [undefined, undefined, undefined])
})

test('an OpenAI-shaped video is a job: submitted, polled, downloaded with the key; moderation refuses it', async () => {
  let status: object = { id: 'video_1', object: 'video', status: 'in_progress', progress: 40 }
  using vendor = await vendorAt(({ method, path }, response) => {
    if (method === 'POST') return json(response, { id: 'video_1', status: 'queued', progress: 0, seconds: '8' })
    if (path.endsWith('/content')) return void response.end('a video')
    response.setHeader('retry-after', '7')
    json(response, status)
  })
  const endpoint = endpointAt(`${vendor.origin}/v1`, 'openai-chat')
  await using wire = wireTo(endpoint)
  const request = videoRequest({
    model: 'sora-2',
    seconds: 8,
    size: { width: 1280, height: 720 },
    firstFrame: png,
    fps: 24,
  })
  const { job, losses, poll, cancel } = await submitted(adapterOf(endpoint).video, wire, request)
  assert.deepEqual([job, losses], [{ id: 'video_1', seconds: 8 }, ['fps']])
  assert.equal(cancel(), undefined)
  const form = await formOf(vendor.got[0]!)
  assert.deepEqual([form.get('seconds'), form.get('size')], ['8', '1280x720'])
  assert.equal(await (form.get('input_reference') as File).text(), 'a picture')
  assert.deepEqual(await poll(), { status: 'pending', progress: 0.4, retryAfterSeconds: 7 })
  status = { status: 'completed' }
  assert.deepEqual(await done(await poll()), {
    files: [{ text: 'a video', revisedPrompt: null }],
    units: { videoSeconds: 8 },
    losses: [],
  })
  assert.ok(vendor.got.every(({ headers }) => headers.authorization === `Bearer ${SECRET}`))
  status = { status: 'failed', error: { code: 'moderation_blocked', message: 'No.' } }
  assert.deepEqual(await poll(), { status: 'refused', message: 'No.' })
})
