import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { addEndpoint, studioServer } from '#test/media/studio.ts'
import { SECRET, json, vendorAt } from '#test/media/wire.ts'
import { ended } from '#test/operations/ended.ts'
import type { Answer, Person, TestServer } from '#test/server.ts'

let server: TestServer
let alice: Person
let vendor: Awaited<ReturnType<typeof vendorAt>>
const posts = () => vendor.got.filter(({ method }) => method === 'POST').length

before(async () => {
  vendor = await vendorAt(({ method, path }, response) => {
    if (path.endsWith('/models') && path.startsWith('/eleven'))
      return json(response, [
        { model_id: 'short', name: 'Short', can_do_text_to_speech: true, maximum_text_length_per_request: 20 },
      ])
    if (method === 'POST' && /speech/.test(path))
      return void response.writeHead(200, { 'content-type': 'audio/mpeg' }).end('sound')
    json(response, { error: { message: 'No.' } }, 400)
  })
  server = await studioServer()
  alice = await server.person('Alice')
  const at = { ...vendor, key: SECRET }
  await addEndpoint(alice, 'eleven', at, {
    preset: 'elevenlabs',
    shape: 'elevenlabs',
    base_url: `${vendor.origin}/eleven/v1`,
    models: undefined,
  })
  // The catalogue has the limit of this model, 4,096.
  await addEndpoint(alice, 'oa', at, { preset: 'openai', models: [{ id: 'gpt-4o-mini-tts', kind: 'speech' }] })
  await addEndpoint(alice, 'film', at, {
    models: [
      { id: 'by-second', kind: 'video', pricing: { video_second: 100_000 } },
      { id: 'flat', kind: 'video', pricing: { request: 0.5 } },
      { id: 'unpriced', kind: 'video' },
    ],
  })
})
after(async () => {
  await server?.[Symbol.asyncDispose]()
  vendor?.[Symbol.dispose]()
})

const ways: [title: string, path: string, more: object][] = [
  ['REST', '/inference/speech', {}],
  ['the background', '/inference/speech', { background: true }],
  ['a stream', '/inference/speech/stream', { format: 'mp3' }],
  ['compat-a', '/compat-a/v1/audio/speech', { voice: 'alloy' }],
  ['compat-a as events', '/compat-a/v1/audio/speech', { voice: 'alloy', stream_format: 'sse' }],
]

const code = ({ status, body }: Answer) => [status, body?.error?.code, body?.error?.param]

for (const [title, path, more] of ways)
  for (const [model, most] of [
    ['eleven/short', 20],
    ['oa/gpt-4o-mini-tts', 4_096],
  ] as const)
    test(`a text over the limit of ${model} is refused with its field and not sent: ${title}`, async () => {
      const cappedKey = await alice.key()
      for (const by of [alice, cappedKey]) {
        if (by === alice && path.startsWith('/compat')) continue
        const before = posts()
        // A surrogate pair counts as one character.
        const refusal = await by.post(path, { model, input: '🦊'.repeat(most + 1), ...more })
        assert.deepEqual(code(refusal), [400, 'invalid_parameter', 'input'], refusal.text)
        assert.match(refusal.text, new RegExp(`accepts up to ${most}\\.`))
        assert.equal(posts(), before)
      }
    })

test('a text of exactly the maximum length is sent', async () => {
  const key = await alice.key()
  const before = posts()
  const response = await key.post('/compat-a/v1/audio/speech', {
    model: 'eleven/short',
    voice: 'x',
    input: '🦊'.repeat(20),
  })
  assert.equal(response.status, 200, response.text)
  assert.equal(posts(), before + 1)
})

test('a video without `seconds` is refused if its price depends on the length', async () => {
  const cappedKey = await alice.key({ spend_cap_usd: 5, spend_cap_period: 'total' })
  const ask = (model: string, more: object = {}) => cappedKey.post('/inference/videos', { model, prompt: 'x', ...more })
  assert.deepEqual(code(await ask('film/by-second')), [400, 'missing_parameter', 'seconds'])
  assert.deepEqual(code(await ask('film/unpriced')), [402, 'unpriced_model', undefined])
  for (const response of [await ask('film/by-second', { seconds: 4 }), await ask('film/flat')]) {
    assert.equal(response.status, 202, response.text)
    assert.equal((await ended(alice, response.body.data.id)).status, 'failed')
  }
  const shelf = await cappedKey.post('/compat-a/v1/videos', { model: 'film/by-second', prompt: 'x' })
  assert.deepEqual(code(shelf), [400, 'missing_parameter', 'seconds'], shelf.text)
  assert.equal((await alice.post('/inference/videos', { model: 'film/by-second', prompt: 'x' })).status, 202)
})
