import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { GoogleGenAI } from '@google/genai'
import type { Behaviour, Json, Vendor } from '../vendor.ts'
import { ask } from './asking.ts'
import { googleMedia } from './google.ts'
import { measure } from './made/picture.ts'

const client = ({ origin, key }: Vendor) => new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: origin } })
const veo = '/v1beta/models/veo-3.1-generate-preview:predictLongRunning'

describe('@google/genai 3.1: media', () => {
  test('an image with text, and a filtered one', async () => {
    await using vendor = await googleMedia()
    vendor.script({}, { media: { moderated: true } })
    const draw = async () =>
      await client(vendor).models.generateContent({
        model: 'gemini-2.5-flash-image',
        contents: 'A cat',
        config: { responseModalities: ['TEXT', 'IMAGE'], imageConfig: { aspectRatio: '16:9' } },
      })
    const { candidates, usageMetadata } = await draw()
    const [words, file] = candidates?.[0]?.content?.parts ?? []
    assert.ok(words?.text)
    assert.equal(file?.inlineData?.mimeType, 'image/png')
    const measured = await measure(Buffer.from(file.inlineData.data ?? '', 'base64'))
    assert.deepEqual([measured?.width, measured?.height], [1344, 768])
    assert.equal(usageMetadata?.candidatesTokensDetails?.[0]?.modality, 'IMAGE')
    const filteredResponse = await draw()
    assert.equal(filteredResponse.candidates?.[0]?.finishReason, 'IMAGE_SAFETY')
    assert.equal(filteredResponse.candidates[0].content, undefined)
  })

  test('speech as samples with their rate', async () => {
    await using vendor = await googleMedia()
    const answer = await client(vendor).models.generateContent({
      model: 'gemini-2.5-flash-preview-tts',
      contents: 'Hello from the loopback.',
      config: {
        responseModalities: ['AUDIO'],
        speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } } },
      },
    })
    const file = answer.candidates?.[0]?.content?.parts?.[0]?.inlineData
    assert.equal(file?.mimeType, 'audio/L16;codec=pcm;rate=24000')
    assert.equal(Buffer.from(file.data ?? '', 'base64').length, 2 * Math.round((24 / 15) * 24_000))
    const plain = client(vendor).models.generateContent({ model: 'gemini-2.5-flash-preview-tts', contents: 'Hi' })
    await assert.rejects(plain, /modalities/)
  })
})

describe('Veo', () => {
  const parameters = { aspectRatio: '9:16', durationSeconds: 4, sampleCount: 1 }
  const optionsFor = (vendor: Vendor) => ({ headers: { 'x-goog-api-key': vendor.key } })
  const film = async (vendor: Vendor, behaviour: Behaviour = {}): Promise<Json> => {
    vendor.script(behaviour)
    const body = { instances: [{ prompt: 'A cat' }], parameters }
    const { name } = (await ask('POST', vendor.origin + veo, { ...optionsFor(vendor), body })).json()
    for (;;) {
      const operation = (await ask('GET', `${vendor.origin}/v1beta/${name}`, optionsFor(vendor))).json()
      if (operation['done']) return operation
    }
  }

  test('an operation ends with a link that requires the key and expires', async () => {
    await using vendor = await googleMedia()
    const { response } = await film(vendor, { media: { job: { polls: 2 } } })
    assert.equal(vendor.jobs[0]?.polled.length, 3)
    const { uri } = response.generateVideoResponse.generatedSamples[0].video
    assert.equal(new URL(uri).origin, vendor.origin)
    assert.equal((await ask('GET', uri)).status, 403)
    const file = await ask('GET', uri, optionsFor(vendor))
    assert.deepEqual([file.status, file.headers['content-type']], [200, 'video/mp4'])
    vendor.expire()
    assert.equal((await ask('GET', uri, optionsFor(vendor))).status, 404)
  })

  test('filtered, failed, with the key in the link, redirected to another origin', async () => {
    await using vendor = await googleMedia()
    const filteredVideo = (await film(vendor, { media: { moderated: true } }))['response'].generateVideoResponse
    assert.deepEqual([filteredVideo.raiMediaFilteredCount, filteredVideo.generatedSamples], [1, undefined])
    assert.equal((await film(vendor, { media: { job: { ends: 'failed' } } }))['error'].code, 13)
    const link = (operation: Json) => operation['response'].generateVideoResponse.generatedSamples[0].video.uri
    const keyedLink = link(await film(vendor, { media: { link: { keyed: true } } }))
    assert.equal(new URL(keyedLink).searchParams.get('key'), vendor.key)
    const movedLink = link(await film(vendor, { media: { link: { moved: true } } }))
    const redirected = await ask('GET', movedLink, optionsFor(vendor))
    assert.equal(redirected.status, 302)
    assert.equal(new URL(String(redirected.headers['location'])).origin, vendor.files?.origin)
    assert.equal((await ask('GET', String(redirected.headers['location']))).headers['content-type'], 'video/mp4')
  })

  test('rejects unknown fields, values out of range, and other keys', async () => {
    await using vendor = await googleMedia()
    const post = async (body: Json) =>
      (await ask('POST', vendor.origin + veo, { ...optionsFor(vendor), body })).json()['error']
    const instances = [{ prompt: 'A cat' }]
    assert.match((await post({ instances, parameters: { fps: 24 } })).message, /Unknown name "fps"/)
    assert.equal((await post({ instances, parameters: { durationSeconds: 30 } })).status, 'INVALID_ARGUMENT')
    assert.equal((await post({ instances: [{}] })).code, 400)
    assert.equal((await ask('POST', vendor.origin + veo, { body: { instances } })).status, 403)
    assert.equal(vendor.jobs.length, 0)
  })
})
