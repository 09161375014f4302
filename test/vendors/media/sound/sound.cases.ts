import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import OpenAI, { toFile } from 'openai'
import type { Behaviour, Json, Vendor } from '../../vendor.ts'
import { ask, asForm, bearer, type Body } from '../asking.ts'
import { secondsOf, sound, soundIn } from '../made/sound.ts'
import { deepgramMedia } from './deepgram.ts'
import { elevenLabsMedia } from './elevenlabs.ts'
import { groqMedia } from './groq.ts'

const behavior = { media: { text: 'One two. Three four.' } } satisfies Behaviour
const text = 'Hello from the loopback.'

describe('ElevenLabs', () => {
  const voice = '21m00Tcm4TlvDq8ikWAM'
  const post = async ({ origin, key }: Vendor, path: string, body: Body | Json) =>
    await ask('POST', `${origin}/v1/${path}`, { headers: { 'xi-api-key': key }, body })

  test('speaks whole, in pieces, and with timestamps, in the requested format', async () => {
    await using vendor = await elevenLabsMedia()
    const whole = await post(vendor, `text-to-speech/${voice}`, { text })
    assert.deepEqual([whole.headers['content-type'], soundIn(whole.bytes)], ['audio/mpeg', 'mp3'])
    assert.equal(whole.headers['character-cost'], String(text.length))
    const streamResponse = await post(vendor, `text-to-speech/${voice}/stream?output_format=pcm_16000`, { text })
    assert.equal(streamResponse.headers['content-length'], undefined)
    assert.equal(streamResponse.bytes.length, 2 * Math.round((text.length / 15) * 16_000))
    const more = { apply_text_normalization: 'off', seed: 1, voice_settings: { stability: 0.5, speed: 1 } }
    const timedSpeech = (await post(vendor, `text-to-speech/${voice}/with-timestamps`, { text, ...more })).json()
    assert.equal(timedSpeech['alignment'].characters.join(''), text)
    assert.equal(soundIn(Buffer.from(timedSpeech['audio_base64'], 'base64')), 'mp3')
    const lines = (await post(vendor, `text-to-speech/${voice}/stream/with-timestamps`, { text })).bytes.toString()
    const pieces = lines
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Json)
    assert.equal(pieces[0]?.['alignment'].characters.length, text.length)
    const audio = Buffer.concat(pieces.map((piece) => Buffer.from(piece['audio_base64'], 'base64')))
    assert.deepEqual(audio, whole.bytes)
  })

  test('lists voices, all at once or page by page', async () => {
    await using vendor = await elevenLabsMedia()
    const get = async (path: string) =>
      (await ask('GET', `${vendor.origin}${path}`, { headers: { 'xi-api-key': vendor.key } })).json()
    assert.equal((await get('/v1/voices'))['voices'].length, 3)
    const first = await get('/v2/voices?page_size=1&language=en')
    assert.deepEqual([first['voices'][0].name, first['has_more'], first['total_count']], ['Rachel', true, 2])
    const next = await get(`/v2/voices?page_size=1&language=en&next_page_token=${first['next_page_token']}`)
    assert.deepEqual([next['voices'][0].labels.gender, next['has_more']], ['male', false])
  })

  test('transcribes with the spaces between the words', async () => {
    await using vendor = await elevenLabsMedia({ otherwise: behavior })
    const form = { model_id: 'scribe_v2', file: sound(4, 'wav') }
    const transcript = (await post(vendor, 'speech-to-text', await asForm({ ...form, diarize: 'true' }))).json()
    assert.deepEqual(
      transcript['words']
        .slice(0, 3)
        .map((word: Json) => [word['text'], word['type'], word['start'], word['speaker_id']]),
      [
        ['One', 'word', 0, 'speaker_0'],
        [' ', 'spacing', 1, 'speaker_0'],
        ['two.', 'word', 1, 'speaker_0'],
      ],
    )
    assert.equal(transcript['words'].at(-1).speaker_id, 'speaker_1')
    assert.equal(transcript['audio_duration_secs'], 4)
    const none = (
      await post(vendor, 'speech-to-text', await asForm({ ...form, timestamps_granularity: 'none' }))
    ).json()
    assert.equal('start' in none['words'][0], false)
  })

  test('rejects requests with its own errors', async () => {
    await using vendor = await elevenLabsMedia()
    const status = async (path: string, body: Body | Json) => {
      const { status: code, json } = await post(vendor, path, body)
      const { detail } = json()
      return [code, detail.status ?? detail[0].loc.join('.')]
    }
    const say = `text-to-speech/${voice}`
    assert.deepEqual(await status(say, {}), [422, 'body.text'])
    assert.deepEqual(await status(say, { text, voice: 'x' }), [422, 'body.voice'])
    assert.deepEqual(await status(say, { text, voice_settings: { speed: 2 } }), [422, 'body.voice_settings.speed'])
    assert.deepEqual(await status(`${say}?output_format=ogg`, { text }), [422, 'query.output_format'])
    assert.deepEqual(await status('text-to-speech/nobody', { text }), [404, 'voice_not_found'])
    assert.deepEqual(await status(say, { text, model_id: 'eleven_v9' }), [400, 'model_not_found'])
    assert.deepEqual(await status(say, { text: 'x'.repeat(5_001) }), [400, 'max_character_limit_exceeded'])
    assert.deepEqual(await status('speech-to-text', await asForm({ model_id: 'scribe_v1' })), [400, 'invalid_request'])
    const file = { bytes: Buffer.from('no sound'), type: 'audio/wav' }
    assert.deepEqual(await status('speech-to-text', await asForm({ model_id: 'scribe_v1', file })), [
      400,
      'invalid_content',
    ])
    vendor.script({ refuses: 'quota' }, { media: { moderated: true } }, { refuses: 'throttle' })
    assert.deepEqual(await status(say, { text }), [401, 'quota_exceeded'])
    assert.deepEqual(await status(say, { text }), [400, 'content_against_policy'])
    assert.deepEqual(await status(say, { text }), [429, 'too_many_concurrent_requests'])
    assert.equal((await ask('GET', `${vendor.origin}/v1/voices`)).status, 401)
  })
})

describe('Deepgram', () => {
  const post = async ({ origin, key }: Vendor, path: string, body: Body | Json) =>
    await ask('POST', `${origin}/v1/${path}`, { headers: { authorization: `Token ${key}` }, body })
  const wav = (seconds: number): Body => ({ type: 'audio/wav', bytes: sound(seconds, 'wav').bytes })

  test('speaks in pieces, in the requested encoding and container', async () => {
    await using vendor = await deepgramMedia()
    const mp3 = await post(vendor, 'speak?model=aura-2-thalia-en', { text })
    assert.deepEqual([soundIn(mp3.bytes), mp3.headers['content-length']], ['mp3', undefined])
    const whole = await post(vendor, 'speak?encoding=linear16&container=wav&sample_rate=16000', { text })
    assert.ok(Math.abs(secondsOf(whole.bytes) - text.length / 15) < 0.01)
    const plain = await post(vendor, 'speak?encoding=linear16&container=none', { text })
    assert.equal(plain.bytes.length, 2 * Math.round((text.length / 15) * 24_000))
    assert.equal(soundIn((await post(vendor, 'speak?encoding=opus', { text })).bytes), 'ogg')
  })

  test('transcribes a raw body or a URL', async () => {
    await using vendor = await deepgramMedia({ otherwise: behavior })
    const query = 'listen?model=nova-3&smart_format=true&diarize=true&utterances=true&detect_language=true'
    const { metadata, results } = (await post(vendor, query, wav(4))).json()
    assert.equal(metadata.duration, 4)
    const [channel] = results.channels
    assert.equal(channel.detected_language, 'en')
    assert.equal(channel.alternatives[0].transcript, 'One two. Three four.')
    const { word, punctuated_word, start, end, speaker } = channel.alternatives[0].words[3]
    assert.deepEqual([word, punctuated_word, start, end, speaker], ['four', 'four.', 3, 4, 1])
    assert.equal(results.utterances.length, 2)
    const transcript = (await post(vendor, 'listen', { url: 'https://example.test/a.wav' })).json()
    assert.equal(transcript['results'].channels[0].alternatives[0].transcript, 'one two three four')
    assert.ok((await post(vendor, 'listen?callback=https://example.test/', wav(1))).json()['request_id'])
  })

  test('rejects requests with its own errors', async () => {
    await using vendor = await deepgramMedia()
    const status = async (path: string, body: Body | Json) => {
      const { status: code, json } = await post(vendor, path, body)
      assert.ok(json()['err_code'] && json()['request_id'])
      return code
    }
    assert.equal(await status('speak', { text, voice: 'x' }), 400)
    assert.equal(await status('speak', { text: 'x'.repeat(2_001) }), 413)
    assert.equal(await status('speak?encoding=mp3&sample_rate=8000', { text }), 400)
    assert.equal(await status('speak?encoding=mp3&container=wav', { text }), 400)
    assert.equal(await status('speak?voice=x', { text }), 400)
    assert.equal(await status('listen', { type: 'audio/wav', bytes: Buffer.from('no sound') }), 400)
    assert.equal(await status('listen?language_code=en', wav(1)), 400)
    assert.equal(await status('listen', {}), 400)
    assert.equal((await ask('POST', `${vendor.origin}/v1/listen`)).json()['err_code'], 'INVALID_AUTH')
  })
})

describe('Groq', () => {
  test('transcribes as OpenAI does, also by URL', async () => {
    await using vendor = await groqMedia({ otherwise: behavior })
    const { audio } = new OpenAI({
      apiKey: vendor.key,
      baseURL: `${vendor.origin}/openai/v1`,
      maxRetries: 0,
      logLevel: 'off',
    })
    const file = await toFile(sound(4, 'wav').bytes, 'a.wav')
    const model = 'whisper-large-v3-turbo'
    const plain = await audio.transcriptions.create({ file, model })
    assert.equal(plain.text, ' One two. Three four.')
    const verbose = await audio.transcriptions.create({
      file,
      model,
      response_format: 'verbose_json',
      timestamp_granularities: ['word', 'segment'],
    })
    assert.deepEqual([verbose.duration, verbose.words?.length, verbose.segments?.length], [4, 4, 2])
    await assert.rejects(audio.translations.create({ file, model }))
    assert.equal((await audio.translations.create({ file, model: 'whisper-large-v3' })).text, ' One two. Three four.')
    const at = `${vendor.origin}/openai/v1/audio/transcriptions`
    const response = await ask('POST', at, {
      headers: bearer(vendor),
      body: await asForm({ model, url: 'https://example.test/a.wav', response_format: 'text' }),
    })
    assert.equal(response.bytes.toString(), ' One two. Three four.')
  })

  test('rejects subtitles, both sources or none, and files above its plan’s limit', async () => {
    await using vendor = await groqMedia()
    const post = async ({ origin, key }: Vendor, fields: Parameters<typeof asForm>[0]) => {
      const form = await asForm({ model: 'whisper-large-v3', ...fields })
      const at = `${origin}/openai/v1/audio/transcriptions`
      return await ask('POST', at, { headers: { authorization: `Bearer ${key}` }, body: form })
    }
    const file = sound(1, 'wav')
    assert.equal((await post(vendor, { file, response_format: 'srt' })).json()['error'].param, 'response_format')
    assert.equal((await post(vendor, { file, url: 'https://example.test/a.wav' })).status, 400)
    assert.equal((await post(vendor, {})).status, 400)
    const large = { bytes: Buffer.concat([file.bytes, Buffer.alloc(25 * 1_048_576)]), type: 'audio/wav' }
    assert.equal((await post(vendor, { file: large })).json()['error'].code, 'request_too_large')
    await using paidVendor = await groqMedia({ paid: true })
    assert.equal((await post(paidVendor, { file: large })).status, 200)
  })
})
