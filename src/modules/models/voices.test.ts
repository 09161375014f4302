import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { addEndpoint, studioServer } from '#test/media/studio.ts'
import type { Caller, Person, TestServer } from '#test/server.ts'
import { startGemini } from '#test/vendors/gemini/gemini.ts'
import type { MediaVendor } from '#test/vendors/media/jobs/jobs.ts'
import { kokoroMedia } from '#test/vendors/media/local/kokoro.ts'
import { deepgramMedia } from '#test/vendors/media/sound/deepgram.ts'
import { elevenLabsMedia } from '#test/vendors/media/sound/elevenlabs.ts'
import { startOpenAI } from '#test/vendors/openai/openai.ts'
import type { Vendor } from '#test/vendors/vendor.ts'

let server: TestServer
let alice: Person
let mallory: Person
let eleven: MediaVendor
let kokoro: MediaVendor
let openai: Vendor
let gemini: Vendor
before(async () => {
  eleven = await elevenLabsMedia({ key: 'xi-alice' })
  kokoro = await kokoroMedia()
  openai = await startOpenAI()
  gemini = await startGemini()
  server = await studioServer({
    environment: {
      OPENAI_API_KEY: openai.key,
      OPENAI_BASE_URL: `${openai.origin}/v1`,
      GEMINI_API_KEY: gemini.key,
      GEMINI_BASE_URL: `${gemini.origin}/v1beta`,
    },
  })
  alice = await server.person('Alice')
  mallory = await server.person('Mallory')
  await addEndpoint(alice, 'eleven', eleven, { shape: 'elevenlabs', models: [] })
  await addEndpoint(alice, 'kokoro', kokoro, {
    preset: 'kokoro-fastapi',
    models: [{ id: 'kokoro', kind: 'speech' }],
    api_key: null,
  })
})
after(async () => {
  await Promise.all([server, eleven, kokoro, openai, gemini].map((one) => one[Symbol.asyncDispose]()))
})

interface Voice {
  id: string
  slug: string
  name: string
  gender: string | null
  languages: string[]
  styles: string[]
  models: string[]
}
async function listed(who: Caller, query: string): Promise<Voice[]> {
  const { status, body, text } = await who.get(`/audio/voices?limit=100&${query}`)
  assert.equal(status, 200, text)
  return body.data
}
const found = async (who: Caller, query: string): Promise<string[]> => {
  const { status, body, text } = await who.get(`/audio/voices/search?limit=100&${query}`)
  assert.equal(status, 200, text)
  return body.items.map(({ slug }: Voice) => slug)
}
const asked = (vendor: MediaVendor, path: string): number =>
  vendor.requests.filter((request) => request.path === path).length

test('voices of an account at a vendor are visible only to its owner and fetched once', async () => {
  const voices = await listed(alice, 'provider=eleven')
  assert.deepEqual(
    voices.map(({ slug, name, gender, languages }) => [slug, name, gender, languages]),
    [
      ['eleven/21m00Tcm4TlvDq8ikWAM', 'Rachel', 'female', ['en-US', 'en']],
      ['eleven/JBFqnCBsd6RMkjVDRZzb', 'George', 'male', ['en-GB', 'en']],
      ['eleven/pFZP5JQG7iQjIQuC4Bku', 'Lena', 'female', ['de-DE', 'de']],
    ],
  )
  assert.ok(voices.every(({ models }) => models.includes('eleven/eleven_v3')))
  const [rachel, george] = voices.map(({ slug }) => slug)
  assert.deepEqual(await found(alice, 'provider=eleven&language=en'), [george, rachel])
  assert.deepEqual(await found(alice, 'provider=eleven&language=en-GB'), [george])
  assert.deepEqual(await found(alice, 'gender=female&provider=eleven&model=eleven/eleven_v3&sort=name&order=desc'), [
    rachel,
    'eleven/pFZP5JQG7iQjIQuC4Bku',
  ])
  assert.deepEqual(await found(alice, 'provider=eleven&language=fr'), [])
  assert.equal(asked(eleven, '/v1/voices'), 1, 'they are kept')

  assert.deepEqual(await found(mallory, 'q=eleven'), [])
  assert.deepEqual(await listed(mallory, 'provider=eleven'), [])
  const { text } = await (await mallory.key()).get('/audio/voices?limit=100')
  assert.ok(!text.includes('Rachel') && !text.includes('xi-alice'))
  assert.equal(asked(eleven, '/v1/voices'), 1)
  assert.ok(eleven.requests.every(({ headers }) => headers['xi-api-key'] === 'xi-alice'))
})

test('a self-hosted server lists its voices, with language and gender taken from their names', async () => {
  assert.deepEqual(
    (await listed(alice, 'provider=kokoro')).map(({ slug, gender, languages }) => [slug, gender, languages]),
    [
      ['kokoro/af_bella', 'female', ['en-US']],
      ['kokoro/af_heart', 'female', ['en-US']],
      ['kokoro/af_sky', 'female', ['en-US']],
      ['kokoro/am_adam', 'male', ['en-US']],
      ['kokoro/bf_emma', 'female', ['en-GB']],
      ['kokoro/jf_alpha', 'female', ['ja']],
    ],
  )
  assert.deepEqual(await found(alice, 'provider=kokoro&language=en-GB'), ['kokoro/bf_emma'])
})

test('at Deepgram a voice is a model, and a model family has all of its voices', async () => {
  await using deepgram = await deepgramMedia()
  await addEndpoint(alice, 'deep', deepgram, { shape: 'deepgram', models: [{ id: 'aura-2', kind: 'speech' }] })
  const voices = await listed(alice, 'provider=deep')
  assert.deepEqual(
    voices.map(({ slug, name, gender, languages, styles, models }) => [slug, name, gender, languages, styles, models]),
    ['apollo-en', 'celeste-es', 'thalia-en'].map((voice) => [
      `deep/aura-2-${voice}`,
      voice.slice(0, -3),
      'female',
      [voice.slice(-2), `${voice.slice(-2)}-US`],
      ['American'],
      ['deep/aura-2'],
    ]),
  )
  const spoken = await alice.post('/inference/speech', {
    model: 'deep/aura-2',
    input: 'Good morning.',
    voice: 'celeste',
  })
  assert.equal(spoken.status, 200, spoken.text)
  assert.equal(deepgram.requests.findLast(({ method }) => method === 'POST')!.query.get('model'), 'aura-2-celeste-es')
  const other = await alice.post('/inference/speech', { model: 'deep/aura-2', input: 'x', voice: 'aura-asteria-en' })
  assert.deepEqual([other.status, other.body.error.param], [400, 'voice'])
})

test('voices from vendor documentation and of this server are available to everyone', async () => {
  assert.deepEqual(await found(mallory, 'provider=openai&q=marin'), ['openai/marin'])
  const [charon] = await listed(mallory, 'provider=google&gender=male')
  assert.deepEqual([charon!.slug, charon!.styles, charon!.languages], ['google/Charon', ['informative'], []])
  assert.ok(charon!.models.includes('google/gemini-2.5-pro-tts'))
  const own = await listed(mallory, 'provider=local&language=en')
  assert.ok(own.some(({ slug, models }) => slug === 'local/slt' && String(models) === 'local/flite'))
  assert.deepEqual(await found(mallory, 'style=Breezy&provider=google'), ['google/Aoede'])
})

test('speech accepts a voice by slug, ID or provider name and rejects an unknown one before sending anything', async () => {
  const [, george] = await listed(alice, 'provider=eleven')
  const say = (voice: string, model = 'eleven/eleven_v3') =>
    alice.post('/inference/speech', { model, input: 'Good morning.', voice })
  for (const voice of [george!.slug, george!.id, 'George', 'JBFqnCBsd6RMkjVDRZzb']) {
    const { status, text } = await say(voice)
    assert.equal(status, 200, text)
    assert.match(
      eleven.requests.findLast(({ method }) => method === 'POST')!.path,
      /^\/v1\/text-to-speech\/JBFqnCBsd6RMkjVDRZzb\//,
    )
  }
  const before = eleven.requests.length
  for (const voice of ['Nobody', 'kokoro/af_heart', 'openai/nova']) {
    const { status, body } = await say(voice)
    assert.deepEqual([status, body.error.code, body.error.param], [400, 'invalid_parameter', 'voice'])
  }
  assert.equal(eleven.requests.length, before)
  const { status, body } = await say('George', 'sim/image')
  assert.deepEqual([status, body.error.code, body.error.param], [400, 'unsupported_model', 'model'])
  const absent = await say('anna', 'local/piper')
  assert.deepEqual([absent.status, absent.body.error.code], [503, 'no_route'])
  assert.match(absent.body.error.message, /Install the model on your computer/)
})

test('spoken responses measure how fast the model is', async () => {
  const speed = async (): Promise<number | null> =>
    (await alice.get('/audio/models?provider=local&kind=speech')).body.data.find(
      ({ slug }: Voice) => slug === 'local/flite',
    ).speed
  assert.equal(await speed(), null)
  const spoken = await mallory.post('/inference/speech', { input: 'The quick brown fox jumps over the lazy dog.' })
  assert.equal(spoken.status, 200, spoken.text)
  await server.app.engine.ledger.flush()
  assert.ok((await speed())! > 0)
})
