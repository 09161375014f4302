import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import OpenAI, { toFile } from 'openai'
import type { Vendor } from '../../vendor.ts'
import { ask, asForm } from '../asking.ts'
import { measure, picture } from '../made/picture.ts'
import { sound, soundIn } from '../made/sound.ts'
import { kokoroMedia } from './kokoro.ts'
import { localAIMedia, stableDiffusionCppMedia } from './pictures.ts'
import { speachesMedia } from './speaches.ts'
import { whisperCppMedia } from './whisper-cpp.ts'

const client = ({ origin }: Vendor, apiKey = 'none') =>
  new OpenAI({ apiKey, baseURL: `${origin}/v1`, maxRetries: 0, logLevel: 'off' })

describe("whisper.cpp's server", () => {
  test('transcribes WAV, MP3, and FLAC, without a key or a model', async () => {
    await using vendor = await whisperCppMedia({ otherwise: { media: { text: 'One two. Three four.' } } })
    const hear = async (fields: Parameters<typeof asForm>[0]) =>
      await ask('POST', `${vendor.origin}/inference`, { body: await asForm(fields) })
    const file = sound(4, 'wav')
    assert.equal((await hear({ file })).json()['text'], ' One two.\n Three four.\n')
    assert.equal((await hear({ file: sound(4, 'mp3'), unknown: '1' })).status, 200)
    const srt = await hear({ file, response_format: 'srt' })
    assert.equal(srt.headers['content-type'], 'application/x-subrip')
    const verbose = (await hear({ file, response_format: 'verbose_json' })).json()
    assert.deepEqual([verbose['duration'], verbose['segments'][1].words[0].word], [4, ' Three'])
    assert.equal((await hear({ file: sound(4, 'opus') })).json()['error'], 'failed to read audio data')
    assert.equal((await hear({ model: 'x' })).json()['error'], "no 'file' field in the request")
    await using able = await whisperCppMedia({ converts: true, path: '/v1/audio/transcriptions' })
    const ogg = await toFile(sound(4, 'opus').bytes, 'a.ogg')
    assert.ok((await client(able).audio.transcriptions.create({ file: ogg, model: 'whisper-1' })).text)
  })
})

describe('speaches', () => {
  test('transcribes and speaks with its installed models', async () => {
    await using vendor = await speachesMedia({ key: 'own' })
    const { audio } = client(vendor, 'own')
    const file = await toFile(sound(4, 'wav').bytes, 'a.wav')
    const model = 'Systran/faster-whisper-small'
    assert.ok((await audio.transcriptions.create({ file, model })).text)
    const events = await Array.fromAsync(await audio.transcriptions.create({ file, model, stream: true }))
    assert.equal(events.at(-1)?.type, 'transcript.text.done')
    await assert.rejects(audio.transcriptions.create({ file, model: 'other' }), { status: 404 })
    await assert.rejects(client(vendor).models.list(), { status: 403 })
    const speech = { model: 'speaches-ai/Kokoro-82M-v1.0-ONNX', input: 'Hello', voice: 'af_heart' }
    const answer = await audio.speech.create({ ...speech, response_format: 'wav' })
    assert.equal(soundIn(Buffer.from(await answer.arrayBuffer())), 'wav')
    const { status } = await ask('POST', `${vendor.origin}/v1/audio/speech`, {
      headers: { authorization: 'Bearer own' },
      body: { model: speech.model },
    })
    assert.equal(status, 422)
  })
})

describe('Kokoro-FastAPI', () => {
  test('lists its voices, speaks with one or a mix, rejects others', async () => {
    await using vendor = await kokoroMedia()
    const { voices } = (await ask('GET', `${vendor.origin}/v1/audio/voices`)).json()
    assert.deepEqual(voices[0], { id: 'af_heart', name: 'af_heart' })
    const { audio } = client(vendor)
    const say = async (voice: string) => await audio.speech.create({ model: 'kokoro', input: 'Hello', voice })
    const answer = await say('af_bella(2)+af_sky')
    assert.equal(answer.headers.get('content-length'), null)
    assert.equal(soundIn(Buffer.from(await answer.arrayBuffer())), 'mp3')
    await assert.rejects(say('karl'), { status: 400 })
    assert.equal((await ask('POST', `${vendor.origin}/v1/audio/speech`, { body: { model: 'kokoro' } })).status, 422)
  })
})

describe('image servers', () => {
  test('stable-diffusion.cpp answers base64, 512 by 512 by default', async () => {
    await using vendor = await stableDiffusionCppMedia()
    const { images } = client(vendor)
    const shape = async (base64?: string) => {
      const measured = await measure(Buffer.from(base64 ?? '', 'base64'))
      return `${measured?.width}x${measured?.height}`
    }
    const { data } = await images.generate({ model: 'any', prompt: 'A cat', n: 2 })
    assert.deepEqual([data?.length, await shape(data?.[1]?.b64_json)], [2, '512x512'])
    const image = await toFile((await picture('64x48')).bytes, 'a.png', { type: 'image/png' })
    assert.equal(await shape((await images.edit({ prompt: 'A hat', image })).data?.[0]?.b64_json), '64x48')
    assert.equal(
      (await ask('POST', `${vendor.origin}/v1/images/generations`, { body: {} })).json()['error'],
      'prompt required',
    )
  })

  test('LocalAI answers with a link on its own host, or base64 on request', async () => {
    await using vendor = await localAIMedia({ key: 'own' })
    const { images } = client(vendor, 'own')
    const prompt = { model: 'stablediffusion', prompt: 'A cat', size: '256x256' as const }
    const url = (await images.generate(prompt)).data?.[0]?.url ?? ''
    assert.equal(new URL(url).origin, vendor.origin)
    assert.equal((await ask('GET', url)).headers['content-type'], 'image/png')
    vendor.expire()
    assert.equal((await ask('GET', url)).status, 401)
    assert.ok((await images.generate({ ...prompt, response_format: 'b64_json' })).data?.[0]?.b64_json)
    await assert.rejects(images.generate({ ...prompt, model: 'other' }), { status: 500 })
    await assert.rejects(client(vendor).images.generate(prompt), { status: 401 })
  })
})
