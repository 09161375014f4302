import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressPolicy } from '#packages/http-client/address.ts'
import { createOutbound } from '#packages/http-client/outbound.ts'
import type { MediaWire, PollResult } from '#gateway/media/adapter.ts'
import { adapterOf } from '#gateway/media/vendors/every-adapter.ts'
import { AnswerRoom } from '#infra/media/answer-room.ts'
import { mediaWire } from '#gateway/media/wire.ts'
import type { ProviderEndpoint, Shape } from '#gateway/model/offer.ts'
import { googleMedia } from '#test/vendors/media/google.ts'
import { blackForestLabsMedia } from '#test/vendors/media/jobs/black-forest-labs.ts'
import { falMedia } from '#test/vendors/media/jobs/fal.ts'
import type { MediaVendor } from '#test/vendors/media/jobs/jobs.ts'
import { replicateMedia } from '#test/vendors/media/jobs/replicate.ts'
import { stabilityMedia } from '#test/vendors/media/jobs/stability.ts'
import { kokoroMedia } from '#test/vendors/media/local/kokoro.ts'
import { localAIMedia, stableDiffusionCppMedia } from '#test/vendors/media/local/pictures.ts'
import { speachesMedia } from '#test/vendors/media/local/speaches.ts'
import { whisperCppMedia } from '#test/vendors/media/local/whisper-cpp.ts'
import { picture } from '#test/vendors/media/made/picture.ts'
import { wav } from '#test/vendors/media/made/sound.ts'
import { deepgramMedia } from '#test/vendors/media/sound/deepgram.ts'
import { elevenLabsMedia } from '#test/vendors/media/sound/elevenlabs.ts'
import { groqMedia } from '#test/vendors/media/sound/groq.ts'
import { done, made, read, submitted } from '../run.ts'
import { imageRequest, speechRequest, transcriptionRequest, videoRequest } from '../requests.ts'
import { endpointAt, inputOf } from '../wire.ts'

/** The way to a loopback vendor as calls go it. */
async function connected(
  vendor: MediaVendor,
  path: string,
  shape: Shape,
  more: Partial<ProviderEndpoint> = {},
): Promise<{ endpoint: ProviderEndpoint; wire: MediaWire } & AsyncDisposable> {
  const outbound = createOutbound(addressPolicy(['127.0.0.0/8']))
  const endpoint = endpointAt(vendor.origin + path, shape, { apiKey: vendor.key, ...more })
  const signal = AbortSignal.timeout(60_000)
  const wire = mediaWire({
    outbound,
    endpoint,
    model: 'm',
    party: 'test',
    signal,
    place: new AnswerRoom(1 << 30).place(signal),
  })
  return { endpoint, wire, [Symbol.asyncDispose]: () => outbound[Symbol.asyncDispose]() }
}

/** Looked at until it has ended. */
async function over({ poll }: { poll(): Promise<PollResult> }): Promise<PollResult> {
  let polled = await poll()
  for (let round = 0; polled.status === 'pending' && round < 20; round++) polled = await poll()
  return polled
}

const drawn = async () => {
  const { bytes, type } = await picture('1024x1024', { words: 'fox' })
  return inputOf(bytes, type, 'fox.png')
}
const heard = inputOf(wav(3), 'audio/wav', 'talk.wav')
const large = { width: 1024, height: 1024 }

test('the loopback Google takes every request of its adapter', async () => {
  await using vendor = await googleMedia()
  await using way = await connected(vendor, '/v1beta', 'gemini')
  const { image, speech, video } = adapterOf(way.endpoint)
  const fox = await drawn()
  for (const request of [
    imageRequest({ model: 'gemini-2.5-flash-image', size: { width: 1920, height: 1080 }, seed: 3 }),
    imageRequest({ model: 'gemini-3-pro-image-preview', images: [fox, fox], aspectRatio: '3:4' }),
  ]) {
    const { files, units } = await read(await made(image, way.wire, request))
    assert.ok(files![0]!.text.length > 100)
    assert.equal(units.images, 1)
  }
  const asked = speechRequest({ model: 'gemini-2.5-flash-preview-tts', instructions: 'softly', language: 'en-US' })
  const spoken = await read(await made(speech, way.wire, asked))
  assert.deepEqual([spoken.format, spoken.sampleRate], ['pcm', 24_000])
  const film = videoRequest({ model: 'veo-3.1-generate-preview', seconds: 8, resolution: '720p', aspectRatio: '16:9' })
  for (const request of [film, { ...film, firstFrame: fox, lastFrame: fox }, { ...film, references: [fox] }]) {
    const answer = await done(await over(await submitted(video, way.wire, request)))
    assert.ok(answer.files![0]!.text.length > 100)
  }
})

test('the loopback Replicate takes every request of its adapter', async () => {
  await using vendor = await replicateMedia()
  await using way = await connected(vendor, '/v1', 'replicate')
  const { image, video } = adapterOf(way.endpoint)
  const fox = await drawn()
  for (const request of [
    imageRequest({ model: 'black-forest-labs/flux-schnell', n: 2, aspectRatio: '16:9', seed: 1, outputFormat: 'jpeg' }),
    imageRequest({ model: 'black-forest-labs/flux-2-pro', images: [fox, fox] }),
  ]) {
    const { files } = await done(await over(await submitted(image, way.wire, request)))
    assert.equal(files?.length, request.n)
  }
  const job = await submitted(video, way.wire, videoRequest({ model: 'minimax/video-01', firstFrame: fox }))
  assert.ok((await done(await over(job))).files![0]!.text.length > 100)
  const cancelled = await submitted(image, way.wire, imageRequest({ model: 'black-forest-labs/flux-schnell' }))
  assert.equal(await cancelled.cancel(), true)
  assert.equal((await over(cancelled)).status, 'cancelled')
})

test('the loopback fal takes every request of its adapter', async () => {
  await using vendor = await falMedia()
  await using way = await connected(vendor, '', 'fal')
  const { image, video, speech, transcription } = adapterOf(way.endpoint)
  const asked = imageRequest({ model: 'fal-ai/flux/schnell', n: 2, size: large, seed: 1 })
  assert.equal((await done(await over(await submitted(image, way.wire, asked)))).files?.length, 2)
  const film = videoRequest({ model: 'fal-ai/veo3', seconds: 8, aspectRatio: '16:9', audio: true })
  assert.equal((await done(await over(await submitted(video, way.wire, film)))).files?.length, 1)
  const talk = speechRequest({ model: 'fal-ai/kokoro/american-english', voice: 'af_heart', speed: 1.2 })
  assert.ok((await done(await over(await submitted(speech, way.wire, talk)))).text!.length > 0)
  const text = transcriptionRequest(heard, { model: 'fal-ai/wizper', timestamps: 'word', language: 'en' })
  assert.ok((await done(await over(await submitted(transcription, way.wire, text)))).transcript!.text.length > 0)
  const cancelled = await submitted(image, way.wire, asked)
  assert.equal(await cancelled.cancel(), true)
})

test('the loopback Black Forest Labs takes every request of its adapter', async () => {
  await using vendor = await blackForestLabsMedia()
  await using way = await connected(vendor, '/v1', 'black-forest-labs')
  const { image } = adapterOf(way.endpoint)
  const fox = await drawn()
  for (const request of [
    imageRequest({ model: 'flux-pro-1.1', size: large, seed: 4, outputFormat: 'png' }),
    imageRequest({ model: 'flux-kontext-pro', images: [fox, fox], aspectRatio: '16:9' }),
  ])
    assert.equal((await done(await over(await submitted(image, way.wire, request)))).files?.length, 1)
})

test('the loopback Stability takes every request of its adapter', async () => {
  await using vendor = await stabilityMedia()
  await using way = await connected(vendor, '/v2beta', 'stability')
  const { image } = adapterOf(way.endpoint)
  const fox = await drawn()
  for (const request of [
    imageRequest({ model: 'ultra', aspectRatio: '16:9', seed: 1, negativePrompt: 'dogs', outputFormat: 'webp' }),
    imageRequest({ model: 'stable-image-core', size: large }),
    imageRequest({ model: 'sd3.5-large', outputFormat: 'jpeg' }),
    imageRequest({ model: 'sd3.5-large', images: [fox] }),
    imageRequest({ model: 'ultra', images: [fox], mask: fox }),
  ])
    assert.ok((await read(await made(image, way.wire, request))).files![0]!.text.length > 100)
})

test('the loopback ElevenLabs, Deepgram and Groq take every request of their adapters', async () => {
  await using elevenlabs = await elevenLabsMedia()
  await using deepgram = await deepgramMedia()
  await using groq = await groqMedia()
  for (const { vendor, path, shape, preset, voice, speaks, hears } of [
    {
      vendor: elevenlabs,
      path: '/v1',
      shape: 'elevenlabs',
      preset: null,
      voice: null,
      speaks: 'eleven_v3',
      hears: 'scribe_v2',
    },
    { vendor: deepgram, path: '/v1', shape: 'deepgram', preset: null, voice: null, speaks: 'aura-2', hears: 'nova-3' },
    {
      vendor: groq,
      path: '/openai/v1',
      shape: 'openai-chat',
      preset: 'groq',
      voice: null,
      speaks: null,
      hears: 'whisper-large-v3',
    },
  ] as const) {
    await using way = await connected(vendor, path, shape, { preset })
    const { speech, transcription } = adapterOf(way.endpoint)
    for (const format of ['mp3', 'wav', 'opus', 'aac', 'flac', 'pcm'] as const) {
      if (speaks === null) continue
      const request = speechRequest({ model: speaks, voice, format, language: 'en-US' })
      assert.ok((await read(await made(speech, way.wire, request))).text!.length > 0, `${shape} ${format}`)
    }
    for (const timestamps of ['none', 'segment', 'word'] as const) {
      const request = transcriptionRequest(heard, { model: hears, timestamps, speakers: true, prompt: 'names' })
      const { transcript } = await read(await made(transcription, way.wire, request))
      assert.ok(transcript!.text.length > 0)
      if (timestamps === 'word') assert.ok(transcript!.words!.length > 0, shape)
    }
  }
})

test('loopback servers of one’s own take every request of the adapter of OpenAI’s shape', async () => {
  await using localAi = await localAIMedia()
  await using diffusion = await stableDiffusionCppMedia()
  await using speaches = await speachesMedia()
  await using kokoro = await kokoroMedia()
  await using whisper = await whisperCppMedia()
  const keyless = { apiKey: null }
  const drawing = [
    [localAi, 'local-ai', 'stablediffusion'],
    [diffusion, 'stable-diffusion-cpp', 'sd-cpp-local'],
  ] as const
  for (const [vendor, preset, model] of drawing) {
    await using way = await connected(vendor, '/v1', 'openai-chat', { preset, ...keyless })
    const request = imageRequest({ model, size: { width: 512, height: 512 } })
    assert.ok((await read(await made(adapterOf(way.endpoint).image, way.wire, request))).files![0]!.text.length > 100)
  }
  const talking = [
    [speaches, 'speaches', 'speaches-ai/Kokoro-82M-v1.0-ONNX', 'af_heart'],
    [kokoro, 'kokoro-fastapi', 'kokoro', null],
  ] as const
  for (const [vendor, preset, model, voice] of talking) {
    await using way = await connected(vendor, '/v1', 'openai-chat', { preset, ...keyless })
    const request = speechRequest({ model, voice, format: 'wav', speed: 1.2 })
    assert.ok((await read(await made(adapterOf(way.endpoint).speech, way.wire, request))).text!.length > 0)
  }
  const hearing = [
    [speaches, 'speaches', '/v1', 'Systran/faster-whisper-small'],
    [whisper, 'whisper-cpp', '', 'whisper'],
  ] as const
  for (const [vendor, preset, path, model] of hearing) {
    await using way = await connected(vendor, path, 'openai-chat', { preset, ...keyless })
    const request = transcriptionRequest(heard, { model, timestamps: 'word', language: 'en' })
    const { transcript } = await read(await made(adapterOf(way.endpoint).transcription, way.wire, request))
    assert.ok(transcript!.text.length > 0 && transcript!.segments.length > 0)
  }
})
