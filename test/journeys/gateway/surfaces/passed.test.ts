import assert from 'node:assert/strict'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import OpenAI, { BadRequestError, NotFoundError, toFile } from 'openai'
import { startOllama } from '../../../vendors/ollama/ollama.ts'
import { until } from '../../../until.ts'
import { startOpenAI } from '../../../vendors/openai/openai.ts'
import type { Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel } from '../world.ts'

let world: World
let openai: Vendor
let ollama: Vendor
let client: OpenAI

/** The received requests. Answers follow OpenAI's reference, because no other fixture plays images and audio. */
const requests: { path: string; headers: IncomingHttpHeaders; body: Buffer }[] = []
let answer: (response: ServerResponse) => void
const studio = createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    requests.push({ path: request.url!, headers: request.headers, body: Buffer.concat(parts) })
    answer(response)
  })
})
const json = (body: object) => (response: ServerResponse) =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))

before(async () => {
  openai = await startOpenAI()
  ollama = await startOllama()
  await new Promise<void>((resolve) => studio.listen(0, '127.0.0.1', resolve))
  world = await gatewayWorld()
  await world.bring(openai, 'oa', { models: [pricedModel('text-embedding-3-small'), pricedModel('gpt-4o')] })
  await world.bring(ollama, 'll', { shape: 'ollama', base_url: ollama.origin, models: [pricedModel('llama3.2')] })
  const pictures = { id: 'dall-e-3', pricing: { input: 0, output: 0, image: 40_000 } }
  const sound = { id: 'gpt-4o-transcribe', pricing: { input: 2.5, output: 10, audio_input: 6 } }
  const body = {
    name: 'st',
    slug: 'st',
    shape: 'openai-chat',
    base_url: `http://127.0.0.1:${(studio.address() as AddressInfo).port}/v1`,
    api_key: 'sk-studio',
    models: [
      pictures,
      sound,
      pricedModel('gpt-image-1'),
      pricedModel('tts-1'),
      { id: 'unpriced' },
      pricedModel('omni-moderation-latest'),
    ],
  }
  assert.equal((await world.person.post('/ai-gateway/provider-endpoints', { ...body, test: false })).status, 201)
  client = new OpenAI({ apiKey: world.key.key, baseURL: `${world.server.origin}/compat-a/v1`, maxRetries: 0 })
})
after(async () => {
  await world[Symbol.asyncDispose]()
  await openai[Symbol.asyncDispose]()
  await ollama[Symbol.asyncDispose]()
  studio.closeAllConnections()
  studio.close()
})

const recordOf = async (response: Response) => await world.record(response.headers.get('x-request-id')!)

test('embeddings return as the vendor made them, in base64 or as numbers, and their input is billed', async () => {
  const body = { model: 'oa/text-embedding-3-small', input: ['one two', 'three'], dimensions: 8 }
  openai.script({ usage: { input: 1000 } })
  const { data, response } = await client.embeddings.create(body).withResponse()
  const plain = await client.embeddings.create({ ...body, encoding_format: 'float' })
  assert.deepEqual(data.data, plain.data)
  assert.equal(openai.requests[0]?.json()['encoding_format'], 'base64')
  const call = await recordOf(response)
  assert.deepEqual([call.input_tokens, call.output_tokens, call.cost_nano], [1000n, 0n, 1_000_000n])
  const tokens = await client.embeddings.create({ ...body, input: [[1, 2, 3]] })
  assert.equal(tokens.data.length, 1)
  const large = await client.embeddings.create({
    ...body,
    dimensions: 1536,
    input: Array(200).fill('x'),
    encoding_format: 'float',
  })
  assert.equal(large.data.length, 200)
})

test('a moderation needs no model, as at the vendor, and costs nothing', async () => {
  const results = [{ flagged: false, categories: {}, category_scores: {} }]
  answer = json({ id: 'modr-1', model: 'omni-moderation-latest', results })
  for (const more of [{}, { model: 'st/omni-moderation-latest' }]) {
    const { data, response } = await client.moderations.create({ input: 'hello', ...more }).withResponse()
    assert.equal(data.results[0]!.flagged, false)
    const { path, body } = requests.at(-1)!
    assert.equal(path, '/v1/moderations')
    const { model = 'omni-moderation-latest', ...rest } = JSON.parse(body.toString())
    assert.deepEqual([model, rest], ['omni-moderation-latest', { input: 'hello' }])
    assert.equal((await recordOf(response)).cost_nano, 0n)
  }
})

test('models without embeddings get a specific error: a simulated model, a conversation model', async () => {
  const embed = async (model: string) => await client.embeddings.create({ model, input: 'x' })
  await assert.rejects(embed('sim/echo'), (error) => {
    assert.ok(error instanceof BadRequestError)
    assert.match(error.message, /doesn’t support \/embeddings/)
    return true
  })
  await assert.rejects(embed('oa/gpt-4o'), NotFoundError)
  await assert.rejects(embed('oa/nothing'), { status: 404, code: 'model_not_found' })
})

test('an embedding under a cap reserves only its input, and a cap that is too small refuses it', async () => {
  const cappedKey = await world.person.key({ spend_cap_usd: 0.0003 })
  const body = { model: 'oa/text-embedding-3-small', input: [Array(500).fill(7)] }
  const refusal = await cappedKey.post('/compat-a/v1/embeddings', body)
  assert.deepEqual([refusal.status, refusal.body.error.type], [402, 'billing_error'])
  const roomy = await world.person.key({ spend_cap_usd: 0.01 })
  const response = await roomy.post('/compat-a/v1/embeddings', body)
  assert.equal(response.status, 200, response.text)
  assert.equal(openai.requests.at(-1)?.json()['max_tokens'], undefined)
})

test('images: requested as JSON or edited by a form, priced individually if the price is per image', async () => {
  answer = json({ created: 1, data: [{ b64_json: 'AAAA' }, { b64_json: 'BBBB' }] })
  const generation = await client.images.generate({ model: 'st/dall-e-3', prompt: 'a cat', n: 2 }).withResponse()
  assert.equal(generation.data.data?.[1]?.b64_json, 'BBBB')
  assert.deepEqual(JSON.parse(requests.at(-1)!.body.toString()), { model: 'dall-e-3', prompt: 'a cat', n: 2 })
  const call = await recordOf(generation.response)
  // Two images at four cents.
  assert.deepEqual([call.images, call.cost_nano, call.cost_source], [2n, 80_000_000n, 'computed'])

  const usage = {
    input_tokens: 50,
    output_tokens: 1000,
    total_tokens: 1050,
    input_tokens_details: { image_tokens: 40, text_tokens: 10 },
  }
  answer = json({ created: 1, data: [{ b64_json: 'CCCC' }], usage })
  const image = await toFile(Buffer.from('\x89PNG\r\n--x\r\n', 'latin1'), 'a.png', { type: 'image/png' })
  const edit = await client.images.edit({ image, model: 'st/gpt-image-1', prompt: 'größer' }).withResponse()
  assert.equal(edit.data.usage?.output_tokens, 1000)
  const form = requests.at(-1)!
  assert.match(form.headers['content-type']!, /^multipart\/form-data; boundary=/)
  assert.match(form.body.toString('latin1'), /name="model"\r\n\r\ngpt-image-1\r\n/)
  assert.ok(form.body.includes(Buffer.from('\x89PNG\r\n--x\r\n', 'latin1')))
  const tokens = await recordOf(edit.response)
  assert.deepEqual([tokens.input_tokens, tokens.output_tokens, tokens.images], [50n, 1000n, 0n])
})

test('a client that drops an image before its last byte pays for it', async () => {
  answer = (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100_001 })
    response.write(`{"data":[{"b64_json":"${'A'.repeat(100_000 - 23)}`)
  }
  const leaving = new AbortController()
  const body = { model: 'st/dall-e-3', prompt: 'a cat' }
  const half = await client.images.generate(body, { signal: leaving.signal }).asResponse()
  await half.body!.getReader().read()
  leaving.abort()
  const call = await until(
    () => recordOf(half).catch(() => null),
    (call) => call !== null,
  )
  assert.deepEqual([call?.status, call?.images, call?.cost_nano], ['cancelled', 1n, 40_000_000n])
})

test('a large answer dropped midway is billed for the part that arrived', async () => {
  answer = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.write(`{"choices":[{"message":{"content":"${'word '.repeat(400_000)}`)
  }
  const leaving = new AbortController()
  const messages = [{ role: 'user' as const, content: 'hello' }]
  const half = await client.chat.completions
    .create({ model: 'st/gpt-image-1', messages }, { signal: leaving.signal })
    .asResponse()
  await half.body!.getReader().read()
  leaving.abort()
  const call = await until(
    () => recordOf(half).catch(() => null),
    (call) => call !== null,
  )
  assert.equal(call?.status, 'cancelled')
  assert.ok(call.output_tokens > 250_000n && call.output_tokens < 600_000n, `${call.output_tokens}`)
})

test('a vendor that answers a stream with endless data is disconnected', async () => {
  const connectionClosed = Promise.withResolvers<void>()
  answer = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.on('close', () => connectionClosed.resolve())
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536, ' ')));
    }
    response.on('drain', more)
    more()
  }
  const messages = [{ role: 'user' as const, content: 'hello' }]
  await assert.rejects(client.chat.completions.create({ model: 'st/gpt-image-1', messages, stream: true }), {
    status: 502,
  })
  await connectionClosed.promise
})

test('completions reserve for each prompt and all their answers', async () => {
  const cappedKey = await world.person.key({ spend_cap_usd: 1 })
  const post = async (more: object) =>
    await cappedKey.post('/compat-a/v1/completions', { model: 'oa/gpt-4o', prompt: 'x', max_tokens: 1_000, ...more })
  const requestCount = openai.requests.length
  // At two dollars per million tokens, a thousand times a thousand are two dollars.
  for (const more of [
    { prompt: Array(1_000).fill('x') },
    { prompt: Array.from({ length: 1_000 }, () => [1, 2]) },
    { best_of: 1_000 },
  ])
    assert.equal((await post(more)).status, 402, JSON.stringify(more).slice(0, 40))
  assert.equal(openai.requests.length, requestCount)
  assert.notEqual((await post({ prompt: Array(1_000).fill(7) })).status, 402, 'one prompt, in tokens')
})

test('audio: bytes out, bytes in, a transcript by its tokens or seconds; uncounted use has no cost', async () => {
  const noise = Buffer.from(Array.from({ length: 100_000 }, (_, n) => n % 256))
  answer = (response) => void response.writeHead(200, { 'content-type': 'audio/mpeg' }).end(noise)
  const speech = await client.audio.speech.create({ model: 'st/tts-1', voice: 'alloy', input: 'Hello' })
  assert.equal(speech.headers.get('content-type'), 'audio/mpeg')
  assert.ok(noise.equals(Buffer.from(await speech.arrayBuffer())))
  const unknown = await recordOf(speech)
  assert.deepEqual([unknown.status, unknown.cost_nano], ['succeeded', null])

  answer = (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<script>')
  const page = await client.audio.speech.create({ model: 'st/tts-1', voice: 'alloy', input: 'Hello' })
  assert.equal(page.headers.get('content-type'), 'application/octet-stream')
  assert.equal(page.headers.get('x-content-type-options'), 'nosniff')

  const usage = {
    type: 'tokens',
    input_tokens: 100,
    output_tokens: 10,
    total_tokens: 110,
    input_token_details: { audio_tokens: 90, text_tokens: 10 },
  }
  answer = json({ text: 'Hello "usage"', usage })
  const file = await toFile(noise, 'a.wav')
  const heardText = await client.audio.transcriptions.create({ file, model: 'st/gpt-4o-transcribe' }).withResponse()
  assert.equal(heardText.data.text, 'Hello "usage"')
  assert.ok(requests.at(-1)!.body.includes(noise))
  const call = await recordOf(heardText.response)
  // 10 text tokens in at 2500 nano, 90 of audio at 6000, 10 out at 10000.
  assert.deepEqual([call.input_tokens, call.output_tokens, call.cost_nano], [100n, 10n, 665_000n])

  const events = `data: {"type":"transcript.text.delta","delta":"Hi"}\n\ndata: ${JSON.stringify({ type: 'transcript.text.done', text: 'Hi', usage })}\n\n`
  answer = (response) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(events)
  const stream = await client.audio.transcriptions
    .create({ file, model: 'st/gpt-4o-transcribe', stream: true })
    .withResponse()
  const contentTypes: string[] = []
  for await (const event of stream.data) contentTypes.push(event.type)
  assert.deepEqual(contentTypes, ['transcript.text.delta', 'transcript.text.done'])
  assert.equal((await recordOf(stream.response)).cost_nano, 665_000n)
})

test('under a cap only bounded requests run; a vendor’s refusal is reported; an invalid form is refused', async () => {
  const cappedKey = await world.person.key({ spend_cap_usd: 1 })
  answer = json({ created: 1, data: [{ b64_json: 'AAAA' }] })
  const post = async (path: string, body: object) => await cappedKey.post(`/compat-a/v1${path}`, body)
  const count = requests.length
  assert.equal((await post('/images/generations', { model: 'st/dall-e-3', prompt: 'x' })).status, 200)
  const many = await post('/images/generations', { model: 'st/dall-e-3', prompt: 'x', n: 1000 })
  assert.equal(many.status, 402)
  for (const model of ['st/gpt-image-1', 'st/unpriced']) {
    const { code, message } = (await post('/images/generations', { model, prompt: 'x' })).body.error
    assert.deepEqual(
      [code, message],
      [
        'unpriced_model',
        `The model \`${model}\` has no known image price, so it can’t generate images with a credit balance or a spend cap. Set an \`image\` price in USD per million images in \`models[].pricing\` of the endpoint \`st\`. An administrator can also set it with \`PUT /v1/admin/model-overrides\`.`,
      ],
    )
  }
  const response = await post('/audio/speech', { model: 'st/tts-1', input: 'x', voice: 'alloy' })
  assert.deepEqual(
    [response.status, response.body.error.message],
    [
      402,
      'The cost of audio from the model `st/tts-1` is known only afterwards, so it can’t be used with a credit balance or a spend cap. Use your own provider key, with an API key and a workspace that have no cap.',
    ],
  )
  assert.equal(requests.length, count + 1)

  answer = (response) =>
    void response.writeHead(400, { 'content-type': 'application/json' }).end(
      JSON.stringify({
        error: { message: 'Not that', type: 'invalid_request_error', code: 'moderation_blocked', param: 'prompt' },
      }),
    )
  await assert.rejects(client.images.generate({ model: 'st/dall-e-3', prompt: 'x' }), {
    status: 400,
    code: 'moderation_blocked',
    param: 'prompt',
  })
  const twice =
    '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nst/dall-e-3\r\n--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nst/unpriced\r\n--b--\r\n'
  const headers = { 'content-type': 'multipart/form-data; boundary=b' }
  const lie = await world.key.post('/compat-a/v1/images/edits', twice, headers)
  assert.match(lie.body.error.message, /`model` was sent twice/)
  const part = (head: string, value: string): string => `--b\r\n${head}\r\n\r\n${value}\r\n`
  const model = part('content-disposition: form-data; name="model"', 'st/dall-e-3')
  const forms = [
    `${model}${part('content-disposition: form-data; name="x"\r\ncontent-disposition: form-data; name="n"', '10')}--b--\r\n`,
    `${model}${part('content-disposition: form-data; name="x"', '1\n--b\ncontent-disposition: form-data; name="n"\n\n10')}--b--\r\n`,
    `${model}${part('content-disposition: form-data; name="x"', '1\r\n--bc\r\ncontent-disposition: form-data; name="n"\r\n\r\n10')}--b--\r\n`,
  ]
  for (const form of forms)
    assert.equal((await world.key.post('/compat-a/v1/images/edits', form, headers)).status, 400, form)
  const endless = `{"model":"st/dall-e-3","prompt":"x","n":1e400}`
  const type = { 'content-type': 'application/json' }
  assert.equal((await cappedKey.post('/compat-a/v1/images/generations', endless, type)).status, 402)
  for (const form of ['', '--b', '--b\r\n\r\nx\r\n--b--', twice.slice(0, 60)]) {
    const response = await world.key.post('/compat-a/v1/images/edits', form, headers)
    assert.equal(response.status, 400, form)
  }
})

test('a client that disconnects ends the vendor’s request; audio that breaks off isn’t taken for complete', async () => {
  const connectionClosed = Promise.withResolvers<void>()
  answer = (response) => {
    response.writeHead(200, { 'content-type': 'audio/mpeg' }).write(Buffer.alloc(5000, 1))
    response.on('close', () => connectionClosed.resolve())
  }
  const ask = async (signal?: AbortSignal) =>
    await client.audio.speech.create({ model: 'st/tts-1', voice: 'alloy', input: 'Hello' }, signal ? { signal } : {})
  const leaving = new AbortController()
  const half = await ask(leaving.signal)
  await half.body!.getReader().read()
  leaving.abort()
  await connectionClosed.promise
  assert.deepEqual((await recordOf(half)).status, 'cancelled')

  answer = (response) => {
    response.writeHead(200, { 'content-type': 'audio/mpeg', 'content-length': '9000' })
    response.write(Buffer.alloc(5000, 1), () => response.destroy())
  }
  const truncated = await ask()
  await assert.rejects(truncated.arrayBuffer())
  const call = await recordOf(truncated)
  assert.deepEqual([call.status, call.cost_nano], ['failed', null])
})
