import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import OpenAI, { toFile } from 'openai'
import sharp from 'sharp'
import { at } from '#test/endpoints/house.ts'
import { SECRET, json, vendorAt } from '#test/media/wire.ts'
import { wav } from '#test/vendors/media/made/sound.ts'
import { type Person, type TestServer, testServer } from '#test/server.ts'

let server: TestServer
let alice: Person
let openai: OpenAI

before(async () => {
  server = await testServer({ environment: { UK_UPSTREAM_ALLOW: '127.0.0.1' } })
  alice = await server.person('Alice')
  openai = new OpenAI({
    apiKey: (await alice.key()).key,
    baseURL: `${server.origin}/compat-a/v1`,
    maxRetries: 0,
  })
})
after(() => server[Symbol.asyncDispose]())

const sizeIn = async (base64: string) => {
  const { width, height, format } = await sharp(Buffer.from(base64, 'base64')).metadata()
  return { width, height, format }
}

test('the OpenAI SDK generates, edits, and streams images with a model of another shape', async () => {
  const images = await openai.images.generate({
    model: 'sim/image',
    prompt: 'a red fox',
    n: 2,
    size: '512x256',
    output_format: 'webp',
  })
  assert.equal(images.data?.length, 2)
  for (const { b64_json: base64 } of images.data)
    assert.deepEqual(await sizeIn(base64!), { width: 512, height: 256, format: 'webp' })
  const linkResponse = await openai.images.generate({ model: 'sim/image', prompt: 'a fox', response_format: 'url' })
  assert.match(linkResponse.data![0]!.url!, /^data:image\/png;base64,/)

  const png = await sharp({ create: { width: 64, height: 32, channels: 3, background: 'red' } })
    .png()
    .toBuffer()
  const file = await toFile(png, 'fox.png', { type: 'image/png' })
  const { data, response } = await openai.images
    .edit({ model: 'sim/image', prompt: 'bluer', image: file, user: 'u1' })
    .withResponse()
  assert.deepEqual(await sizeIn(data.data![0]!.b64_json!), { width: 64, height: 32, format: 'png' })
  assert.match(response.headers.get('x-uk-losses')!, /user/)
  assert.match(response.headers.get('x-uk-route')!, /provider=sim/)

  const events = []
  for await (const event of await openai.images.generate({ model: 'sim/image', prompt: 'a fox', stream: true }))
    events.push(event)
  assert.deepEqual(
    events.map(({ type }) => type),
    ['image_generation.completed'],
  )
  await assert.rejects(openai.images.generate({ model: 'sim/image', prompt: 'a fox', n: 11 }), {
    status: 400,
    param: 'n',
  })
  await assert.rejects(
    openai.images.edit({ model: 'sim/image', prompt: 'x', image: await toFile(Buffer.from('no picture'), 'a.png') }),
    { status: 400, param: 'image' },
  )
  await assert.rejects(openai.images.generate({ model: 'sim/speech', prompt: 'x' }), { status: 400 })
})

test('the SDK receives speech as bytes and as events, in the requested format', async () => {
  const response = await openai.audio.speech.create({ model: 'sim/speech', input: 'Hello you.', voice: 'alloy' })
  assert.equal(response.headers.get('content-type'), 'audio/mpeg')
  assert.ok((await response.arrayBuffer()).byteLength > 100)
  const own = await openai.audio.speech.create({
    model: 'local/flite',
    input: 'Hello.',
    voice: 'nova',
    response_format: 'wav',
  })
  assert.equal(Buffer.from(await own.arrayBuffer()).toString('latin1', 0, 4), 'RIFF')
  assert.equal(own.headers.get('x-uk-losses'), 'voice')
  // 24 kHz, as OpenAI's clients play it.
  const length = async (format: 'wav' | 'pcm') => {
    const body = { model: 'local/flite', input: 'She sells sea shells.', voice: 'nova', response_format: format }
    return (await (await openai.audio.speech.create(body)).arrayBuffer()).byteLength
  }
  assert.equal(Math.round((((await length('wav')) - 44) / 32_000 - (await length('pcm')) / 48_000) * 1_000), 0)

  const stream = await openai.audio.speech.create({
    model: 'sim/speech',
    input: 'Hello you.',
    voice: 'alloy',
    response_format: 'pcm',
    stream_format: 'sse',
  })
  const text = await stream.text()
  const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!))
  assert.equal(events.at(-1).type, 'speech.audio.done')
  assert.ok(events.slice(0, -1).every(({ type }) => type === 'speech.audio.delta'))
  await assert.rejects(openai.audio.speech.create({ model: 'sim/speech', input: 'x', voice: 'alloy', speed: 9 }), {
    status: 400,
    param: 'speed',
  })
})

test('the SDK reads a transcript in each format, and as a stream', async () => {
  const file = () => toFile(wav(3), 'talk.wav', { type: 'audio/wav' })
  const ask = async (format: string, more: object = {}): Promise<any> =>
    openai.audio.transcriptions.create({
      model: 'sim/transcription',
      file: await file(),
      response_format: format as never,
      ...more,
    })
  const { text, usage } = await ask('json')
  assert.ok(text.length > 3)
  assert.deepEqual(usage, { type: 'duration', seconds: 3 })
  assert.equal(String(await ask('text')).trim(), text)
  assert.match(await ask('srt'), /^1\n00:00:00,\d{3} --> 00:00:0/)
  assert.match(await ask('vtt'), /^WEBVTT\n/)
  const verbose = await ask('verbose_json', { timestamp_granularities: ['word', 'segment'] })
  assert.equal(verbose.language, 'english')
  assert.ok(verbose.words.length > 0 && verbose.segments.length > 0)
  const diarizedTranscript = await ask('diarized_json')
  assert.ok(diarizedTranscript.segments.every(({ speaker }: { speaker: string }) => speaker !== ''))
  const events: any[] = []
  const stream = (await ask('json', { stream: true })) as AsyncIterable<any>
  for await (const event of stream) events.push(event)
  assert.equal(events.at(-1).type, 'transcript.text.done')
  assert.equal(
    events
      .filter(({ type }) => type === 'transcript.text.delta')
      .map(({ delta }) => delta)
      .join(''),
    events.at(-1).text,
  )
  await assert.rejects(
    openai.audio.transcriptions.create({ model: 'sim/transcription', file: await toFile(Buffer.from('no'), 'a.wav') }),
    {
      status: 400,
      param: 'file',
    },
  )
})

test('a vendor of another shape serves an SDK that names an OpenAI voice; the call is counted and priced', async () => {
  using vendor = await vendorAt((_, response) => {
    response.writeHead(200, { 'content-type': 'audio/mpeg' })
    response.write('first ')
    response.end('second')
  })
  const endpoint = await alice.post(at, {
    preset: 'elevenlabs',
    slug: 'voices',
    base_url: `${vendor.origin}/v1`,
    api_key: SECRET,
    models: [{ id: 'eleven_v3', kind: 'speech', pricing: { input: 0, output: 0, character: 100 } }],
  })
  assert.equal(endpoint.status, 201, endpoint.text)
  const response = await openai.audio.speech.create({ model: 'voices/eleven_v3', input: 'Hello', voice: 'alloy' })
  assert.equal(await response.text(), 'first second')
  assert.equal(response.headers.get('x-uk-losses'), 'voice')
  const spoke = () => vendor.got.flatMap(({ method, path }) => (method === 'POST' ? [path] : []))
  assert.equal(spoke()[0], '/v1/text-to-speech/21m00Tcm4TlvDq8ikWAM/stream')
  await openai.audio.speech.create({ model: 'voices/eleven_v3', input: 'Hello', voice: 'voices/abc' })
  assert.equal(spoke()[1], '/v1/text-to-speech/abc/stream')
  const { total } = (await alice.get('/ai-gateway/usage?provider=voices')).body.data
  assert.deepEqual([total.calls, total.cost_usd, total.usage.characters], [2, 0.001, 10])
})

test('a vendor’s job is awaited, and its refusal is reported in OpenAI’s format', async () => {
  const png = await sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } })
    .png()
    .toBuffer()
  let status: object = { status: 'Pending' }
  using vendor = await vendorAt(({ method, path }, response, origin) => {
    if (method === 'POST') return json(response, { id: 'j', polling_url: `${origin}/v1/get_result?id=j` })
    if (path === '/sample.png') return void response.end(png)
    json(response, status)
    status = { status: 'Ready', result: { sample: `${origin}/sample.png` } }
  })
  await alice.post(at, {
    preset: 'black-forest-labs',
    slug: 'flux',
    base_url: `${vendor.origin}/v1`,
    api_key: SECRET,
    models: [{ id: 'flux-pro-1.1', kind: 'image' }],
  })
  const response = await openai.images.generate({ model: 'flux/flux-pro-1.1', prompt: 'a fox' })
  assert.deepEqual(Buffer.from(response.data![0]!.b64_json!, 'base64'), png)
  status = { status: 'Request Moderated' }
  await assert.rejects(openai.images.generate({ model: 'flux/flux-pro-1.1', prompt: 'a fox' }), {
    status: 400,
    code: 'content_refused',
  })
})

test('a compressed answer from a vendor of another shape is reported, for an answer, an error, and a result', async () => {
  const png = await sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } })
    .png()
    .toBuffer()
  let place = ''
  let coding = ''
  using vendor = await vendorAt(({ method, path }, response, origin) => {
    const at = path === '/sample.png' ? 'result' : method === 'POST' ? 'answer' : 'poll'
    if (at === place || (at === 'answer' && place === 'refusal')) {
      const status = place === 'refusal' ? 400 : 200
      response.writeHead(status, { 'content-type': 'application/json', 'content-encoding': coding })
      return void response.end(gzipSync('{}'))
    }
    if (at === 'result') return void response.end(png)
    json(
      response,
      at === 'answer'
        ? { id: 'j', polling_url: `${origin}/v1/get_result?id=j` }
        : { status: 'Ready', result: { sample: `${origin}/sample.png` } },
    )
  })
  const endpoint = await alice.post(at, {
    preset: 'black-forest-labs',
    slug: 'packed',
    base_url: `${vendor.origin}/v1`,
    api_key: SECRET,
    models: [{ id: 'flux-pro-1.1', kind: 'image' }],
  })
  assert.equal(endpoint.status, 201, endpoint.text)
  for (place of ['answer', 'refusal', 'result'])
    for (coding of ['gzip', 'br', 'zstd', 'x-gzip'])
      await assert.rejects(
        openai.images.generate({ model: 'packed/flux-pro-1.1', prompt: 'a fox' }),
        (error: Error) => error.message.includes(`\`content-encoding: ${coding}\`, which wasn’t requested`),
        `${place} in ${coding}`,
      )
})
