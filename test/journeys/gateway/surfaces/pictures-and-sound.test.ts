import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import OpenAI from 'openai'
import { createOpenRouter } from '@openrouter/ai-sdk-provider'
import { OpenRouter } from '@openrouter/sdk'
import { generateText } from 'ai'
import { startAnthropic } from '../../../vendors/anthropic/anthropic.ts'
import { googleMedia } from '../../../vendors/media/google.ts'
import { measure } from '../../../vendors/media/made/picture.ts'
import { startOpenRouter } from '../../../vendors/openrouter/openrouter.ts'
import type { Json, Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel, userMessages } from '../world.ts'

let world: World
let google: Vendor
let router: Vendor
let claude: Vendor

const DRAWS = 'gemini-2.5-flash-image'
const SPEAKS = 'gemini-2.5-flash-preview-tts'

before(async () => {
  world = await gatewayWorld()
  google = await googleMedia()
  router = await startOpenRouter()
  claude = await startAnthropic()
  const gemini = { shape: 'gemini', base_url: `${google.origin}/v1beta` }
  const tokens = { input: 0.3, output: 2.5 }
  await world.bring(google, 'go', {
    ...gemini,
    models: [
      { id: DRAWS, kind: 'image', max_output_tokens: 2_000, pricing: { ...tokens, image_output: 30 } },
      { id: SPEAKS, kind: 'speech', pricing: { input: 0.5, output: 10 } },
    ],
  })
  await world.bring(router, 'or', {
    preset: 'openrouter',
    base_url: `${router.origin}/api/v1`,
    models: [pricedModel('google/gemini-3-pro-image'), pricedModel('openai/gpt-audio')],
  })
  // The same wire from a provider that reports no cost and charges per image.
  await world.bring(router, 'by', {
    base_url: `${router.origin}/api/v1`,
    models: [{ id: 'google/gemini-3-pro-image', kind: 'image', pricing: { input: 1, output: 2, image: 40_000 } }],
  })
  await world.bring(claude, 'an', {
    shape: 'anthropic-messages',
    base_url: claude.origin,
    models: [pricedModel('claude-haiku-4-5')],
  })
})
after(async () => {
  await world[Symbol.asyncDispose]()
  for (const vendor of [google, router, claude]) await vendor[Symbol.asyncDispose]()
})

const chat = '/compat-c/v1/chat/completions'
const fox = userMessages('a red fox')
const both = ['image', 'text']
const pngOf = (image: Json) => Buffer.from((image['image_url'].url as string).split(',')[1]!, 'base64')
const drawnIn = async (images: Json[]) => Promise.all(images.map(async (image) => (await measure(pngOf(image)))?.width))

const client = () => new OpenAI({ apiKey: world.key.key, baseURL: `${world.server.origin}/compat-c/v1`, maxRetries: 0 })

test('an OpenRouter client gets a Gemini image in its answer, at the price of the image’s tokens', async () => {
  google.script({ usage: { input: 10, output: 1_290 } })
  const { status, body } = await world.key.post(chat, {
    model: `go/${DRAWS}`,
    messages: fox,
    modalities: both,
    image_config: { aspect_ratio: '16:9' },
  })
  assert.equal(status, 200, JSON.stringify(body).slice(0, 300))
  const { message } = body.choices[0]
  assert.equal(message.content, 'Here is your picture.')
  assert.deepEqual(
    message.images.map(({ type, index }: Json) => [type, index]),
    [['image_url', 0]],
  )
  assert.deepEqual(await drawnIn(message.images), [1_344], 'in the ratio that was asked for')
  assert.equal(body.usage.completion_tokens_details.image_tokens, 1_290)
  const usd = (10 * 0.3 + 1_290 * 30) / 1e6
  assert.equal(body.usage.cost, usd)
  const record = await world.record(body.id.slice('gen-'.length))
  assert.equal(Number(record.cost_nano), Math.round(usd * 1e9))
  const { generationConfig } = google.requests.findLast(({ path }) => path.includes(DRAWS))!.json()
  assert.deepEqual(generationConfig, { responseModalities: ['TEXT', 'IMAGE'], imageConfig: { aspectRatio: '16:9' } })
})

test('streamed, the image comes in its own delta, and returns to the model in the next turn', async () => {
  const params = { model: `go/${DRAWS}`, modalities: both, messages: fox, stream: true }
  const stream = await client().chat.completions.create(params as never)
  const images: Json[] = []
  let cost = 0
  for await (const chunk of stream as unknown as AsyncIterable<Json>) {
    images.push(...(chunk['choices'][0]?.delta.images ?? []))
    cost = chunk['usage']?.cost ?? cost
  }
  assert.deepEqual(await drawnIn(images), [1_024])
  assert.ok(cost >= (1_290 * 30) / 1e6, String(cost))
  const messages = [...fox, { role: 'assistant', content: 'Here.', images }, ...userMessages('make it blue')]
  const next = await world.key.post(chat, { model: `go/${DRAWS}`, modalities: both, messages })
  assert.equal(next.status, 200)
  assert.equal(next.headers.get('x-uk-losses'), null)
  const { contents } = google.requests.findLast(({ path }) => path.includes(DRAWS))!.json()
  const [, model] = contents
  assert.deepEqual(
    [model.role, model.parts.map((part: Json) => part['inlineData']?.mimeType ?? part['text'])],
    ['model', ['Here.', 'image/png']],
  )
})

test('OpenRouter’s own SDK and the AI SDK read the images of Gemini’s model', async () => {
  const sdk = new OpenRouter({ apiKey: world.key.key, serverURL: `${world.server.origin}/compat-c/v1` })
  const answer = (await sdk.chat.send({
    chatRequest: { model: `go/${DRAWS}`, messages: fox, modalities: ['image', 'text'], stream: false },
  } as never)) as Json
  assert.match(answer['choices'][0].message.images[0].imageUrl.url, /^data:image\/png;base64,/)
  const provider = createOpenRouter({ apiKey: world.key.key, baseURL: `${world.server.origin}/compat-c/v1` })
  const model = provider.chat(`go/${DRAWS}`, { extraBody: { modalities: both } })
  const { files } = await generateText({ model, prompt: 'a red fox', maxRetries: 0 })
  assert.deepEqual(
    await Promise.all(files.map(async ({ uint8Array }) => (await measure(Buffer.from(uint8Array)))?.width)),
    [1_024],
  )
})

test('Gemini’s audio: a WAV file as a whole, samples as a stream, other formats refused with the reason', async () => {
  const body = { model: `go/${SPEAKS}`, modalities: ['text', 'audio'], messages: userMessages('Say hello to the fox.') }
  const whole = await client().chat.completions.create({
    ...body,
    audio: { voice: 'Puck', format: 'wav' },
  } as never)
  const { audio } = (whole as Json)['choices'][0].message
  const wav = Buffer.from(audio.data, 'base64')
  assert.equal(wav.toString('latin1', 0, 4) + wav.toString('latin1', 8, 12), 'RIFFWAVE')
  assert.equal(wav.readUInt32LE(24), 24_000)
  assert.equal(wav.readUInt32LE(40), wav.length - 44)
  const { generationConfig } = google.requests.findLast(({ path }) => path.includes(SPEAKS))!.json()
  assert.equal(generationConfig.speechConfig.voiceConfig.prebuiltVoiceConfig.voiceName, 'Puck')
  const stream = await client().chat.completions.create({
    ...body,
    audio: { voice: 'alloy', format: 'pcm16' },
    stream: true,
  } as never)
  let bytes = 0
  for await (const chunk of stream as unknown as AsyncIterable<Json>)
    bytes += Buffer.from(chunk['choices'][0]?.delta.audio?.data ?? '', 'base64').length
  assert.equal(bytes, wav.length - 44, 'the same samples')
  const response = await world.key.post(chat, { ...body, audio: { voice: 'alloy', format: 'wav' } })
  assert.equal(response.headers.get('x-uk-losses'), 'audio.voice', 'a voice of another vendor is named')
  for (const [more, param] of [
    [{ audio: { voice: 'Puck', format: 'mp3' } }, 'audio.format'],
    [{ audio: { voice: 'Puck', format: 'wav' }, stream: true }, 'audio.format'],
    [{}, 'audio'],
  ] as const) {
    const refusal = await world.key.post(chat, { ...body, ...more })
    assert.equal(refusal.status, 400, JSON.stringify(more))
    assert.match(refusal.body.error.message, new RegExp(`\`${param}\``))
  }
})

test('OpenRouter’s images and audio pass unchanged, whole and streamed, at the cost that it reports', async () => {
  const response = await world.key.post(chat, {
    model: 'or/google/gemini-3-pro-image',
    messages: fox,
    modalities: both,
  })
  assert.deepEqual(await drawnIn(response.body.choices[0].message.images), [1_024])
  const record = await world.record(response.body.id.slice('gen-'.length))
  assert.equal(record.cost_source, 'reported')
  const speaks = {
    model: 'or/openai/gpt-audio',
    messages: userMessages('Say hello.'),
    modalities: ['text', 'audio'],
    audio: { voice: 'alloy', format: 'pcm16' },
  }
  const speechResponse = await world.key.post(chat, speaks)
  const { audio } = speechResponse.body.choices[0].message
  assert.equal(audio.transcript, 'Say hello.')
  const stream = await client().chat.completions.create({ ...speaks, stream: true } as never)
  let data = ''
  for await (const chunk of stream as unknown as AsyncIterable<Json>) {
    const piece = chunk['choices'][0]?.delta.audio?.data
    if (piece) data += Buffer.from(piece, 'base64').toString('latin1')
  }
  assert.equal(data.length, Buffer.from(audio.data, 'base64').length)
})

test('a provider that charges per image is paid per image, streamed or not', async () => {
  const model = 'by/google/gemini-3-pro-image'
  const whole = await world.key.post(chat, { model, messages: fox, modalities: both })
  assert.deepEqual(await drawnIn(whole.body.choices[0].message.images), [1_024])
  const { prompt_tokens, completion_tokens } = whole.body.usage
  const usd = (prompt_tokens + 2 * (completion_tokens - 1_290)) / 1e6 + 0.04
  const record = await world.record(whole.body.id.slice('gen-'.length))
  assert.equal(Number(record.cost_nano), Math.round(usd * 1e9))
  assert.equal(record.images, 1n)
  assert.equal(whole.body.usage.cost, usd)
  const streamResponse = await world.key.post(chat, { model, messages: fox, modalities: both, stream: true })
  assert.match(streamResponse.text, /"images":\[/)
  const [last] = await world.calls()
  assert.equal(Number(last!.cost_nano), Math.round(usd * 1e9))
})

test('a cap reserves the maximum cost of images, and a call above it is refused before anything is sent', async () => {
  const cappedKey = (usd: number) => world.person.key({ spend_cap_usd: usd, spend_cap_period: 'total' })
  const poor = await cappedKey(0.05)
  const rich = await cappedKey(0.1)
  const requestCount = google.requests.length
  const ask = (key: typeof poor) =>
    key.post(chat, { model: `go/${DRAWS}`, messages: fox, modalities: both, max_tokens: 2_000 })
  const refusal = await ask(poor)
  assert.equal(refusal.status, 402, 'up to 2,000 tokens of a picture')
  assert.equal(google.requests.length, requestCount)
  assert.equal((await ask(rich)).status, 200)
  assert.equal((await ask(rich)).status, 200)
  assert.equal((await ask(rich)).status, 402, 'two pictures cost 0.0774 USD')
})

test('a model without image output is refused: 400 with the field', async () => {
  const requestCount = claude.requests.length
  const { status, body } = await world.key.post(chat, { model: 'an/claude-haiku-4-5', messages: fox, modalities: both })
  assert.deepEqual([status, body.error.code], [400, 400])
  assert.match(body.error.message, /^`modalities` can’t be translated for this model/)
  assert.equal(claude.requests.length, requestCount)
})
