import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Behaviour, Json } from '../../vendor.ts'
import { ask, asForm, bearer, type Body, type Received } from '../asking.ts'
import { picture } from '../made/picture.ts'
import { sound } from '../made/sound.ts'
import type { MediaVendor } from '../jobs/jobs.ts'
import { openaiMedia } from './openai.ts'

const post = async (vendor: MediaVendor, path: string, body: Body | Json): Promise<Received> =>
  await ask('POST', `${vendor.origin}/v1${path}`, { headers: bearer(vendor), body })
const drawing = { model: 'gpt-image-2', prompt: 'A cat', size: '64x64' }

describe('the loopback OpenAI refuses', () => {
  test('unknown, missing, and out-of-range fields, with its own errors', async () => {
    await using vendor = await openaiMedia()
    const wrong: [path: string, body: Json, param: string | null, code: string][] = [
      ['/images/generations', { ...drawing, seed: 1 }, 'seed', 'unknown_parameter'],
      ['/images/generations', { ...drawing, response_format: 'url' }, 'response_format', 'unknown_parameter'],
      ['/images/generations', { model: 'gpt-image-2' }, 'prompt', 'missing_required_parameter'],
      ['/images/generations', { ...drawing, n: 11 }, 'n', 'invalid_value'],
      ['/images/generations', { ...drawing, size: '100x100' }, 'size', 'invalid_value'],
      ['/images/generations', { ...drawing, size: '1600x160' }, 'size', 'invalid_value'],
      ['/images/generations', { ...drawing, quality: 'xhigh' }, 'quality', 'invalid_value'],
      ['/images/generations', { ...drawing, partial_images: 1 }, 'partial_images', 'invalid_value'],
      ['/images/generations', { ...drawing, model: 'tts-1' }, 'model', 'invalid_value'],
      ['/audio/speech', { model: 'tts-1', voice: 'nova' }, 'input', 'missing_required_parameter'],
      ['/audio/speech', { model: 'tts-1', voice: 'karl', input: 'Hi' }, 'voice', 'invalid_value'],
      ['/audio/speech', { model: 'tts-1', voice: 'nova', input: 'x'.repeat(4_097) }, 'input', 'invalid_value'],
      [
        '/audio/speech',
        { model: 'tts-1', voice: 'nova', input: 'Hi', stream_format: 'sse' },
        'stream_format',
        'unsupported_value',
      ],
      [
        '/audio/speech',
        { model: 'tts-1', voice: 'nova', input: 'Hi', language: 'en' },
        'language',
        'unknown_parameter',
      ],
      ['/videos', { prompt: 'A cat', seconds: 4 }, 'seconds', 'invalid_type'],
      ['/videos', { prompt: 'A cat', seconds: '5' }, 'seconds', 'invalid_value'],
    ]
    for (const [path, body, param, code] of wrong) {
      const response = await post(vendor, path, body)
      const { error } = response.json()
      assert.deepEqual(
        [response.status, error.param, error.code],
        [400, param, code],
        JSON.stringify(body).slice(0, 99),
      )
    }
    assert.equal(vendor.jobs.length, 0)
  })

  test('another content type, an unknown key, a form without its end', async () => {
    await using vendor = await openaiMedia()
    const form = await asForm({ model: 'whisper-1', file: sound(1, 'wav') })
    const { type, bytes } = form
    const codes = [
      await post(vendor, '/images/generations', { type: 'text/plain', bytes: Buffer.from(JSON.stringify(drawing)) }),
      await post(vendor, '/images/generations', await asForm(drawing)),
      await post(vendor, '/images/edits', drawing),
      await post(vendor, '/audio/transcriptions', { type, bytes: bytes.subarray(0, -20) }),
      await post(vendor, '/audio/transcriptions', { type: 'multipart/form-data', bytes }),
    ].map((response) => response.json()['error'].code)
    assert.deepEqual(
      codes,
      Array.from({ length: 5 }, () => 'unsupported_content_type'),
    )
    assert.equal((await post(vendor, '/audio/transcriptions', form)).status, 200)
    const headers = { authorization: 'Bearer sk-other' }
    assert.equal((await ask('GET', `${vendor.origin}/v1/videos`, { headers })).status, 401)
  })

  test('files that aren’t what they claim, and those above 25 MB', async () => {
    await using vendor = await openaiMedia()
    const cat = await picture('64x64')
    const edit = async (image: { bytes: Buffer; type: string }) =>
      (await post(vendor, '/images/edits', await asForm({ prompt: 'A hat', 'image[]': image }))).status
    assert.equal(await edit(cat), 200)
    assert.equal(await edit({ ...cat, type: 'image/jpeg' }), 400)
    assert.equal(await edit({ ...cat, bytes: Buffer.from('no picture') }), 400)
    const hear = async (file: { bytes: Buffer; type: string }) =>
      await post(vendor, '/audio/transcriptions', await asForm({ model: 'whisper-1', file }))
    assert.equal((await hear({ bytes: Buffer.from('no sound'), type: 'audio/wav' })).status, 400)
    assert.equal((await hear({ ...sound(1, 'wav'), type: 'text/plain' })).status, 400)
    const large = await hear({ bytes: Buffer.alloc(26_214_400), type: 'audio/wav' })
    assert.equal(large.status, 413)
    assert.match(large.json()['error'].message, /26214400/)
  })
})

describe('a media vendor damages its files', () => {
  test('no bytes, an HTML page, JSON, half of the file', async () => {
    await using vendor = await openaiMedia()
    const say = async (behaviour: Behaviour) => {
      vendor.script(behaviour)
      return await post(vendor, '/audio/speech', { model: 'tts-1', voice: 'nova', input: 'Hi', response_format: 'wav' })
    }
    const whole = (await say({})).bytes.length
    const responses = [
      await say({ media: { spoiled: 'empty' } }),
      await say({ media: { spoiled: 'web page' } }),
      await say({ media: { spoiled: 'json' } }),
      await say({ media: { spoiled: 'cut' } }),
    ]
    assert.deepEqual(
      responses.map(({ status, headers, bytes }) => [status, headers['content-type'], bytes.toString('latin1', 0, 4)]),
      [
        [200, 'audio/wav', ''],
        [200, 'text/html', '<!do'],
        [200, 'application/json', '{"de'],
        [200, 'audio/wav', 'RIFF'],
      ],
    )
    assert.equal(responses[3]?.bytes.length, whole >> 1)
    await assert.rejects(say({ garbage: 'closes socket' }))
  })

  test('a submit without an answer started its job, and is counted each time it arrives', async () => {
    await using vendor = await openaiMedia()
    vendor.script({ garbage: 'no answer' }, { status: 503 })
    const submit = async () => await post(vendor, '/videos', { prompt: 'A cat' })
    await assert.rejects(submit)
    assert.equal((await submit()).status, 503)
    assert.equal(vendor.jobs.length, 1)
    assert.equal((await submit()).status, 200)
    assert.deepEqual(
      vendor.submits().map(({ at }) => at.length),
      [3],
    )
    const form = async () => await post(vendor, '/videos', await asForm({ prompt: 'A dog' }))
    await Promise.all([form(), form()])
    assert.deepEqual(
      vendor.submits().map(({ at }) => at.length),
      [3, 2],
    )
  })

  test('a link that contains a key, a download that is slow or fails, a rejected poll', async () => {
    await using vendor = await openaiMedia()
    vendor.script(
      { media: { link: { keyed: true } } },
      { media: { link: { asked: { garbage: 'closes socket' } } } },
      { media: { link: { asked: { delayMs: 30 } } } },
    )
    const draw = async () => {
      const response = await post(vendor, '/images/generations', { model: 'dall-e-3', prompt: 'A cat' })
      return new URL(response.json()['data'][0].url)
    }
    const keyedLink = await draw()
    assert.equal(keyedLink.searchParams.get('key'), vendor.key)
    assert.equal((await ask('GET', keyedLink.href)).status, 200)
    keyedLink.searchParams.delete('key')
    assert.equal((await ask('GET', keyedLink.href)).status, 403)
    const brokenLink = await draw()
    await assert.rejects(ask('GET', brokenLink.href))
    const slow = await draw()
    const startedAt = performance.now()
    assert.equal((await ask('GET', slow.href)).status, 200)
    assert.ok(performance.now() - startedAt >= 29)

    const { id } = (await post(vendor, '/videos', { prompt: 'A cat' })).json()
    vendor.script({ on: 'GET /v1/videos/*', status: 429, headers: { 'retry-after': '1' } })
    const poll = async () => await ask('GET', `${vendor.origin}/v1/videos/${id}`, { headers: bearer(vendor) })
    const pollResponse = await poll()
    assert.deepEqual([pollResponse.status, pollResponse.headers['retry-after']], [429, '1'])
    assert.equal((await poll()).json()['status'], 'in_progress')
    assert.equal(vendor.jobs[0]?.polled.length, 1)
  })
})
