import assert from 'node:assert/strict'
import { test } from 'node:test'
import { made, read } from '#test/media/run.ts'
import { imageRequest, speechRequest, transcriptionRequest } from '#test/media/requests.ts'
import { type Got, SECRET, endpointAt, inputOf, json, vendorAt, wireTo } from '#test/media/wire.ts'
import { adapterOf } from './every-adapter.ts'

const png = inputOf(Buffer.from('a picture'), 'image/png', 'fox.png')
const wav = inputOf(Buffer.from('RIFF sound'), 'audio/wav', 'talk.wav')
const bodyOf = ({ body }: Got) => JSON.parse(body.toString())
const formOf = ({ body, headers }: Got): Promise<FormData> =>
  new Response(new Uint8Array(body), { headers: { 'content-type': headers['content-type']! } }).formData()

test('Gemini returns an image among its parts, explains a filtered one, and has no masks', async () => {
  let answer: object = {
    candidates: [
      {
        content: {
          parts: [
            { thought: true, inlineData: { mimeType: 'image/png', data: Buffer.from('draft').toString('base64') } },
            { text: 'Here you are.' },
            { inlineData: { mimeType: 'image/png', data: Buffer.from('a fox').toString('base64') } },
          ],
        },
        finishReason: 'STOP',
      },
    ],
    usageMetadata: {
      promptTokenCount: 20,
      candidatesTokenCount: 1_290,
      thoughtsTokenCount: 10,
      candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1_290 }],
    },
  }
  using vendor = await vendorAt((_, response) => json(response, answer))
  const endpoint = endpointAt(`${vendor.origin}/v1beta`, 'gemini')
  const { image, mostImages } = adapterOf(endpoint)
  await using wire = wireTo(endpoint)
  assert.equal(mostImages?.('gemini-3-image'), 1)
  const request = imageRequest({
    model: 'gemini-3-image',
    images: [png],
    size: { width: 1920, height: 1080 },
    seed: 4,
    providerOptions: { generationConfig: { temperature: 0.5 } },
  })
  assert.deepEqual(await read(await made(image, wire, request)), {
    files: [{ text: 'a fox', revisedPrompt: null }],
    units: { images: 1, inputTokens: 20, outputTokens: 1_300, outputImageTokens: 1_290 },
    losses: ['size'],
  })
  const [received] = vendor.got as [Got]
  assert.deepEqual(
    [received.path, received.headers['x-goog-api-key']],
    ['/v1beta/models/gemini-3-image:generateContent', SECRET],
  )
  assert.deepEqual(bodyOf(received), {
    contents: [
      {
        role: 'user',
        parts: [
          { text: 'a red fox' },
          { inlineData: { mimeType: 'image/png', data: Buffer.from('a picture').toString('base64') } },
        ],
      },
    ],
    generationConfig: {
      temperature: 0.5,
      responseModalities: ['IMAGE'],
      seed: 4,
      imageConfig: { aspectRatio: '16:9' },
    },
  })
  await assert.rejects(made(image, wire, imageRequest({ images: [png], mask: png })), { kind: 'bad_request' })
  assert.equal(vendor.got.length, 1)
  answer = { candidates: [{ finishReason: 'IMAGE_SAFETY' }] }
  await assert.rejects(made(image, wire, imageRequest({})), { kind: 'refused_content' })
  answer = { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } }
  await assert.rejects(made(image, wire, imageRequest({})), { kind: 'refused_content' })
  answer = { candidates: [{ finishReason: 'STOP', content: { parts: [{ text: 'I cannot draw.' }] } }] }
  await assert.rejects(made(image, wire, imageRequest({})), { kind: 'bad_answer', message: /I cannot draw/ })
})

test('Gemini returns PCM with its sample rate; older models get the style in the text, newer ones in a field', async () => {
  const part = {
    inlineData: { mimeType: 'audio/L16;codec=pcm;rate=22050', data: Buffer.from('sound').toString('base64') },
  }
  using vendor = await vendorAt((_, response) => json(response, { candidates: [{ content: { parts: [part] } }] }))
  const endpoint = endpointAt(`${vendor.origin}/v1beta`, 'gemini')
  const { speech } = adapterOf(endpoint)
  await using wire = wireTo(endpoint)
  const options = { instructions: 'Say it softly', speed: 1.2, language: 'de-DE' }
  const audio = await read(
    await made(speech, wire, speechRequest({ model: 'gemini-2.5-flash-preview-tts', ...options })),
  )
  assert.deepEqual(audio, {
    format: 'pcm',
    sampleRate: 22_050,
    text: 'sound',
    units: { characters: 14 },
    losses: ['speed'],
  })
  await made(speech, wire, speechRequest({ model: 'gemini-3.8-tts', voice: 'Puck', format: 'wav', ...options }))
  const [older, newer] = vendor.got.map(bodyOf)
  assert.equal(older.contents[0].parts[0].text, 'Say it softly: Hello, wörld 🦊')
  assert.equal(older.generationConfig.speechConfig.voiceConfig.prebuiltVoiceConfig.voiceName, 'Kore')
  assert.deepEqual(newer.contents[0].parts, [{ text: 'Hello, wörld 🦊', speechMetadata: { style: 'Say it softly' } }])
  assert.equal(newer.generationConfig.responseFormat.audio.mimeType, 'AUDIO_WAV')
  assert.equal(newer.generationConfig.speechConfig.voiceConfig.prebuiltVoiceConfig.voiceName, 'Puck')
})

test('ElevenLabs streams speech in a supported format, and returns words with their speakers', async () => {
  using vendor = await vendorAt(({ path }, response) => {
    if (path.startsWith('/v1/text-to-speech/')) return void response.end('sound')
    json(response, {
      language_code: 'eng',
      text: 'Hello. Yes, hi.',
      words: [
        { text: 'Hello.', type: 'word', start: 0, end: 0.5, speaker_id: 'speaker_0' },
        { text: ' ', type: 'spacing', start: 0.5, end: 0.6 },
        { text: 'Yes,', type: 'word', start: 0.6, end: 0.9, speaker_id: 'speaker_1' },
        { text: '(laughs)', type: 'audio_event', start: 0.9, end: 1 },
        { text: 'hi.', type: 'word', start: 1, end: 1.4, speaker_id: 'speaker_1' },
      ],
    })
  })
  const endpoint = endpointAt(`${vendor.origin}/v1`, 'elevenlabs')
  const { speech, transcription } = adapterOf(endpoint)
  await using wire = wireTo(endpoint)
  const options = { enable_logging: false, seed: 5, voice_settings: { stability: 0.5 } }
  const request = speechRequest({
    model: 'eleven_v3',
    voice: 'abc',
    speed: 1.1,
    language: 'en-GB',
    instructions: 'x',
    providerOptions: options,
  })
  assert.deepEqual(await read(await made(speech, wire, request)), {
    format: 'mp3',
    sampleRate: null,
    text: 'sound',
    units: { characters: 14 },
    losses: ['instructions'],
  })
  const [received] = vendor.got as [Got]
  assert.deepEqual(
    [received.path, Object.fromEntries(received.query), received.headers['xi-api-key'], received.headers.authorization],
    ['/v1/text-to-speech/abc/stream', { output_format: 'mp3_44100_128', enable_logging: 'false' }, SECRET, undefined],
  )
  assert.deepEqual(bodyOf(received), {
    seed: 5,
    text: 'Hello, wörld 🦊',
    model_id: 'eleven_v3',
    language_code: 'en',
    voice_settings: { stability: 0.5, speed: 1.1 },
  })
  const wave = await read(await made(speech, wire, speechRequest({ format: 'flac' })))
  assert.deepEqual(
    [wave.format, wave.sampleRate, vendor.got[1]!.query.get('output_format')],
    ['pcm', 24_000, 'pcm_24000'],
  )

  const answer = await read(
    await made(transcription, wire, transcriptionRequest(wav, { model: 'scribe_v2', speakers: true, prompt: 'x' })),
  )
  assert.deepEqual(answer.transcript, {
    text: 'Hello. Yes, hi.',
    language: 'en',
    durationSeconds: null,
    segments: [
      { startSeconds: 0, endSeconds: 0.5, text: 'Hello.', speaker: 'speaker_0' },
      { startSeconds: 0.6, endSeconds: 1.4, text: 'Yes, hi.', speaker: 'speaker_1' },
    ],
    words: null,
  })
  assert.deepEqual(answer.losses, ['prompt'])
  const form = await formOf(vendor.got[2]!)
  assert.deepEqual(
    ['model_id', 'diarize', 'timestamps_granularity', 'tag_audio_events'].map((name) => form.get(name)),
    ['scribe_v2', 'true', 'word', 'false'],
  )
  assert.equal(await (form.get('file') as File).text(), 'RIFF sound')
})

test('Deepgram receives the audio itself as the body, and a voice is a model', async () => {
  using vendor = await vendorAt(({ path }, response) => {
    if (path === '/v1/speak') return void response.end('sound')
    const words = [{ word: 'hello', punctuated_word: 'Hello.', start: 0.1, end: 0.5, speaker: 0 }]
    json(response, {
      metadata: { duration: 2.25 },
      results: {
        channels: [{ detected_language: 'en', alternatives: [{ transcript: 'Hello.', words }] }],
        utterances: [{ start: 0.1, end: 0.5, transcript: 'Hello.', speaker: 0 }],
      },
    })
  })
  const endpoint = endpointAt(`${vendor.origin}/v1`, 'deepgram')
  const { speech, transcription } = adapterOf(endpoint)
  await using wire = wireTo(endpoint)
  const request = transcriptionRequest(wav, {
    model: 'nova-3',
    timestamps: 'word',
    speakers: true,
    providerOptions: { keyterm: ['fox', 'den'], callback: 'https://example.com', model: 'base' },
  })
  const answer = await read(await made(transcription, wire, request))
  const segment = { startSeconds: 0.1, endSeconds: 0.5, text: 'Hello.', speaker: 'speaker_0' }
  assert.deepEqual(answer, {
    transcript: { text: 'Hello.', language: 'en', durationSeconds: 2.25, segments: [segment], words: [segment] },
    units: {},
    losses: [],
  })
  const [received] = vendor.got as [Got]
  assert.deepEqual(
    [received.headers.authorization, received.headers['content-type'], received.body.toString()],
    [`Token ${SECRET}`, 'audio/wav', 'RIFF sound'],
  )
  assert.deepEqual(
    [received.query.get('model'), received.query.get('detect_language'), received.query.has('callback')],
    ['nova-3', 'true', false],
  )
  assert.deepEqual(received.query.getAll('keyterm'), ['fox', 'den'])

  const family = await read(
    await made(speech, wire, speechRequest({ model: 'aura-2', voice: 'luna', language: 'en-US', format: 'opus' })),
  )
  const audio = await read(
    await made(speech, wire, speechRequest({ model: 'aura-2-thalia-en', voice: 'luna', speed: 2 })),
  )
  assert.deepEqual([family.losses, audio.losses], [[], ['speed', 'voice']])
  assert.deepEqual(Object.fromEntries(vendor.got[1]!.query), {
    model: 'aura-2-luna-en',
    encoding: 'opus',
    container: 'ogg',
  })
  assert.deepEqual(
    [vendor.got[2]!.query.get('model'), audio.text, audio.units],
    ['aura-2-thalia-en', 'sound', { characters: 14 }],
  )
})

test('Stability takes a form even without a file, and an image blurred by its filter is a refusal', async () => {
  let reason = 'SUCCESS'
  using vendor = await vendorAt((_, response) => {
    response.writeHead(200, { 'content-type': 'image/png', 'finish-reason': reason }).end('a fox')
  })
  const endpoint = endpointAt(`${vendor.origin}/v2beta`, 'stability')
  const { image } = adapterOf(endpoint)
  await using wire = wireTo(endpoint)
  const request = imageRequest({
    model: 'sd3.5-large',
    size: { width: 1024, height: 1024 },
    seed: 9,
    negativePrompt: 'dogs',
    quality: 'high',
  })
  assert.deepEqual(await read(await made(image, wire, request)), {
    files: [{ text: 'a fox', revisedPrompt: null }],
    units: { images: 1 },
    losses: ['size', 'quality'],
  })
  const [received] = vendor.got as [Got]
  assert.deepEqual([received.path, received.headers.accept], ['/v2beta/stable-image/generate/sd3', 'image/*'])
  assert.deepEqual(Object.fromEntries(await formOf(received)), {
    prompt: 'a red fox',
    model: 'sd3.5-large',
    mode: 'text-to-image',
    aspect_ratio: '1:1',
    seed: '9',
    negative_prompt: 'dogs',
  })
  await made(image, wire, imageRequest({ model: 'stable-image-ultra', images: [png], mask: png }))
  assert.equal(vendor.got[1]!.path, '/v2beta/stable-image/edit/inpaint')
  assert.equal(await ((await formOf(vendor.got[1]!)).get('mask') as File).text(), 'a picture')
  await assert.rejects(made(image, wire, imageRequest({ model: 'core', images: [png] })), { kind: 'bad_request' })
  reason = 'CONTENT_FILTERED'
  await assert.rejects(made(image, wire, imageRequest({ model: 'ultra' })), { kind: 'refused_content' })
})

test('Fireworks returns the image bytes, and Groq speaks WAV for any requested format', async () => {
  using vendor = await vendorAt((_, response) => void response.end('bytes'))
  const fireworks = endpointAt(`${vendor.origin}/inference/v1`, 'openai-chat', { preset: 'fireworks' })
  await using wire = wireTo(fireworks)
  const request = imageRequest({
    model: 'accounts/fireworks/models/flux-1-schnell-fp8',
    size: { width: 800, height: 600 },
  })
  const picture = await read(await made(adapterOf(fireworks).image, wire, request))
  assert.deepEqual([picture.files?.[0]?.text, picture.losses], ['bytes', ['size']])
  const [received] = vendor.got as [Got]
  assert.equal(received.path, '/inference/v1/workflows/accounts/fireworks/models/flux-1-schnell-fp8/text_to_image')
  assert.deepEqual([received.headers.accept, bodyOf(received).aspect_ratio], ['image/png', '4:3'])
  const groq = endpointAt(`${vendor.origin}/openai/v1`, 'openai-chat', { preset: 'groq' })
  const adapter = adapterOf(groq)
  const audio = await read(await made(adapter.speech, wire, speechRequest({ voice: 'troy', format: 'mp3' })))
  assert.deepEqual([audio.format, bodyOf(vendor.got[1]!).response_format, adapter.image], ['wav', 'wav', undefined])
})
