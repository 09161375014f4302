// Slow: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { sql } from 'kysely'
import { addEndpoint, studioServer } from '#test/media/studio.ts'
import { ended } from '#test/operations/ended.ts'
import type { Answer, Person, TestServer } from '#test/server.ts'
import { wav as waveFile } from '#test/vendors/media/made/sound.ts'
import { picture } from '#test/vendors/media/made/picture.ts'
import { until } from '#test/until.ts'
import { type Raw, type RawAsked, startRaw, writeAnswer } from '#test/vendors/raw.ts'

const KEY = 'sk-the-key-of-the-endpoint'
const models = [
  {
    id: 'draws',
    kind: 'image',
    pricing: { image: 40_000, variants: [{ when: { quality: 'high' }, image: 200_000 }] },
  },
  { id: 'films', kind: 'video', pricing: { video_second: 100_000 } },
  { id: 'whisper-1', kind: 'transcription', pricing: { audio_second: 100 } },
  { id: 'tts-1', kind: 'speech', pricing: { character: 15 } },
]

let server: TestServer
let alice: Person
let vendor: Raw
let png: string
let wav: string
/** The response body. */
let answers: (request: RawAsked) => string
before(async () => {
  server = await studioServer()
  alice = await server.person('Alice')
  png = Buffer.from((await picture('64x64')).bytes).toString('base64')
  wav = waveFile(1, 8_000).toString('base64')
  vendor = await startRaw((request, socket) => writeAnswer(socket, { body: answers(request) }))
  await addEndpoint(alice, 'liar', { origin: vendor.origin, key: KEY }, { models })
})
beforeEach(() => {
  answers = () => JSON.stringify({ data: [{ b64_json: png }] })
})
after(async () => {
  await server?.[Symbol.asyncDispose]()
  await vendor?.[Symbol.asyncDispose]()
})

const draw = (more: object = {}) => alice.post('/inference/images', { model: 'liar/draws', prompt: 'x', ...more })
const write = (more: object = {}) =>
  alice.post('/inference/transcriptions', {
    model: 'liar/whisper-1',
    audio: { kind: 'base64', media_type: 'audio/wav', data: wav },
    ...more,
  })
const refusal = ({ status, body }: Answer) => [status, body.error?.code, body.error?.param]

for (const [says, reportedLength] of [
  ['an enormous number', '1e308'],
  ['infinity', '1e400'],
  ['a negative number', '-5'],
  ['more than a year', '1e15'],
] as const)
  test(`a provider that reports ${says} as the length of audio is paid for what was sent`, async () => {
    answers = () =>
      `{"text":"hi","duration":${reportedLength},"segments":[{"start":${reportedLength},"end":${reportedLength},"text":"hi"}]}`
    const transcription = await write({ subtitles: 'srt' })
    assert.equal(transcription.status, 200, transcription.text)
    assert.deepEqual([transcription.body.data.cost_usd, transcription.body.data.usage.audio_seconds], [0.0001, 1])
    assert.deepEqual(transcription.body.data.segments, [
      { start_seconds: 0, end_seconds: 0, text: 'hi', speaker: null },
    ])
    answers = () =>
      `{"data":[{"b64_json":"${png}"}],"usage":{"input_tokens":${reportedLength},"output_tokens":${reportedLength}}}`
    const imageResponse = await draw()
    assert.equal(imageResponse.status, 200, imageResponse.text)
    assert.deepEqual([imageResponse.body.data.cost_usd, imageResponse.body.data.usage.total_tokens], [0.04, 0])
  })

test('none of hundreds of image links in a response are fetched', async () => {
  const url = `${vendor.origin}/picture.png`
  answers = () => JSON.stringify({ data: Array.from({ length: 500 }, () => ({ url })) })
  const before = vendor.asked.length
  assert.deepEqual(refusal(await draw()), [502, 'bad_provider_answer', undefined])
  assert.equal(vendor.asked.length, before + 1)
  answers = () => JSON.stringify({ data: [{ url: 'data:image/png,%' }] })
  assert.deepEqual(refusal(await draw()), [502, 'bad_provider_answer', undefined])
})

test('a response over the memory limit isn’t read further', async () => {
  let sentBytes = 0
  const piece = Buffer.alloc(1 << 20, 'A')
  await using flood = await startRaw((_, socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n{"data":[{"b64_json":"')
    const more = () => {
      while (!socket.destroyed && sentBytes < 1_000) {
        sentBytes += 1
        if (!socket.write(piece)) return
      }
    }
    socket.on('drain', more)
    more()
  })
  await addEndpoint(alice, 'flood', { origin: flood.origin, key: KEY }, { models })
  const answer = await alice.post('/inference/images', { model: 'flood/draws', prompt: 'x', n: 10 })
  assert.deepEqual(refusal(answer), [502, 'bad_provider_answer', undefined])
  assert.ok(sentBytes < 200, `${sentBytes} MiB were taken`)
})

test('a failed job’s message is stored without the key and with limited length', async () => {
  const words = `\0 the key ${KEY} \ud800 ${'is wrong '.repeat(1_000)}`
  answers = ({ method }) =>
    JSON.stringify(method === 'POST' ? { id: 'v' } : { status: 'failed', error: { message: words } })
  const operationResponse = await alice.post('/inference/videos', { model: 'liar/films', prompt: 'x', seconds: 4 })
  const { status, error } = await ended(alice, operationResponse.body.data.id)
  assert.deepEqual([status, error.code], ['failed', 'provider_error'])
  assert.match(error.message, /^ the key \[key\] � is wrong/)
  assert.equal(error.message.length, 1_000)
})

test('provider_options can’t change the amount or the price', async () => {
  const expectedRefusal = [400, 'invalid_parameter', 'provider_options']
  const requestCount = vendor.asked.length
  for (const options of [{ n: 10 }, { num_images: 3 }, { generationConfig: { candidateCount: 8 } }, { model: 'dear' }])
    assert.deepEqual(refusal(await draw({ provider_options: options })), expectedRefusal, JSON.stringify(options))
  assert.deepEqual(refusal(await write({ provider_options: { url: 'https://example.com/long.mp3' } })), expectedRefusal)
  const film = { model: 'liar/films', prompt: 'x', seconds: 1 }
  const videoResponse = await alice.post('/inference/videos', { ...film, provider_options: { duration: 60 } })
  assert.deepEqual(refusal(videoResponse), expectedRefusal)
  const speechRequest = { model: 'liar/tts-1', input: 'x', provider_options: { gen_text: 'much more' } }
  assert.deepEqual(refusal(await alice.post('/inference/speech', speechRequest)), expectedRefusal)
  assert.deepEqual(refusal(await alice.post('/inference/speech/stream', speechRequest)), expectedRefusal)
  assert.equal(vendor.asked.length, requestCount)
  const imageResponse = await draw({ provider_options: { quality: 'high' } })
  assert.deepEqual([imageResponse.status, imageResponse.body.data.cost_usd], [200, 0.2])
  assert.equal((await draw({ quality: 'high' })).body.data.cost_usd, 0.2)
  assert.equal((await draw({ provider_options: { moderation: 'low' } })).body.data.cost_usd, 0.04)
})

test('a job whose ID can’t be stored is followed as far as possible', async () => {
  answers = ({ method }) =>
    JSON.stringify(method === 'POST' ? { id: 'a\0', urls: { get: '/v1/a\0' } } : { status: 'failed', error: 'no' })
  const endpoint = { shape: 'replicate', models: [{ id: 'o/draws', kind: 'image', pricing: { image: 40_000 } }] }
  await addEndpoint(alice, 'jobs', { origin: vendor.origin, key: KEY }, endpoint)
  const answer = await alice.post('/inference/images', { model: 'jobs/o/draws', prompt: 'x' })
  assert.deepEqual(refusal(answer), [502, 'provider_error', undefined])
})

test('a call that fails inside a running server is still settled', async () => {
  const { db } = server.app.engine.postgres
  await sql`create function broken() returns trigger language plpgsql as $$ begin raise 'the disk is gone'; end $$`.execute(
    db,
  )
  await sql`create trigger broken before update on media_jobs for each row when (new.status = 'made') execute function broken()`.execute(
    db,
  )
  assert.equal((await draw({ name: 'breaks' })).status, 500)
  await sql`drop trigger broken on media_jobs`.execute(db)
  const open = () => sql<{ id: string }>`select id from media_jobs where status <> 'over'`.execute(db)
  await until(open, ({ rows }) => rows.length === 0)
})

test('NUL and unpaired surrogates are refused with their field', async () => {
  for (const bad of ['a\0b', 'a\ud800b'])
    assert.deepEqual(refusal(await draw({ provider_options: { deep: [{ [bad]: 1 }] } })), [
      400,
      'invalid_parameter',
      'provider_options',
    ])
  for (const field of ['voice', 'language'])
    for (const path of ['speech', 'speech/stream']) {
      const answer = await alice.post(`/inference/${path}`, { model: 'liar/tts-1', input: 'x', [field]: 'a\0b' })
      assert.deepEqual(refusal(answer), [400, 'invalid_parameter', field])
    }
  assert.deepEqual(refusal(await draw({ quality: 'a\0b' })), [400, 'invalid_parameter', 'quality'])
  assert.equal((await draw({ provider_options: { regex: '\\u0000' } })).status, 200)
  const part = (head: string) => `--b\r\nContent-Disposition: form-data; ${head}\r\n\r\n`
  const formBody = `${part('name="model"')}sim/transcription\r\n${part('name="file"; filename="a\0b.wav"')}`
  const form = Buffer.concat([Buffer.from(formBody), Buffer.from(wav, 'base64'), Buffer.from('\r\n--b--\r\n')])
  const type = { 'content-type': 'multipart/form-data; boundary=b' }
  assert.equal((await alice.request('POST', '/inference/transcriptions', form, type)).status, 200)
})

test('a generated image at a forbidden address is billed, because the provider did its work', async () => {
  const key = await alice.key({ spend_cap_usd: 1, spend_cap_period: 'total' })
  const readSpending = async () =>
    (await alice.get('/api-keys')).body.data.find(({ id }: { id: string }) => id === key.keyId).spent_usd
  const draw = () => key.post('/inference/images', { model: 'liar/draws', prompt: 'x', quality: 'high' })
  for (const [url, price] of [
    ['http://10.255.255.1/picture.png', 0.2],
    ['file:///etc/passwd', 0.4],
  ] as const) {
    answers = () => JSON.stringify({ data: [{ url }] })
    assert.equal((await draw()).status, 502)
    await until(readSpending, (usd) => usd === price)
  }
})

test('a model name can’t redirect a request with the endpoint’s key to another path', async () => {
  const requests: string[] = []
  await using shop = await startRaw(({ path }, socket) => {
    requests.push(path)
    writeAnswer(socket, { body: '{}' })
  })
  for (const shape of ['replicate', 'fal'])
    await addEndpoint(
      alice,
      `up-${shape}`,
      { origin: shop.origin, key: KEY },
      {
        shape,
        models: [{ id: 'owner/../../account', kind: 'image', pricing: { image: 1 } }],
      },
    )
  for (const shape of ['replicate', 'fal']) {
    const answer = await draw({ model: `up-${shape}/owner/../../account` })
    assert.deepEqual([answer.status, answer.body.error.code], [400, 'invalid_parameter'])
    assert.match(answer.body.error.message, /^`owner\/\.\.\/\.\.\/account` isn’t a valid name of a model/)
  }
  assert.deepEqual(requests, [])
})
