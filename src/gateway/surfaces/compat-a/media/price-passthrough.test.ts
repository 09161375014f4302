import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { addEndpoint, studioServer } from '#test/media/studio.ts'
import type { Person, TestServer } from '#test/server.ts'
import { until } from '#test/until.ts'
import { wav } from '#test/vendors/media/made/sound.ts'
import type { MediaVendor } from '#test/vendors/media/jobs/jobs.ts'
import { openaiMedia } from '#test/vendors/media/openai/openai.ts'
import { stabilityMedia } from '#test/vendors/media/jobs/stability.ts'

let server: TestServer
let alice: Person
let vendor: MediaVendor
let stability: MediaVendor

before(async () => {
  server = await studioServer()
  alice = await server.person('Alice')
  vendor = await openaiMedia()
  const variants = [
    { when: { quality: 'low' }, image: 11_000 },
    { when: { quality: 'high', size: '1536x1024' }, image: 250_000 },
  ]
  await addEndpoint(alice, 'st', vendor, {
    models: [
      { id: 'gpt-image-2', kind: 'image', pricing: { image: 40_000, variants } },
      { id: 'dall-e-3', kind: 'image', pricing: { pixel: 0.02 } },
      { id: 'tts-1', kind: 'speech', pricing: { character: 15 } },
      { id: 'gpt-4o-mini-tts', kind: 'speech', pricing: { character: 15 } },
      { id: 'whisper-1', kind: 'transcription', pricing: { audio_second: 100 } },
    ],
  })
  stability = await stabilityMedia()
  await addEndpoint(alice, 'sta', stability, {
    shape: 'stability',
    base_url: `${stability.origin}/v2beta`,
    models: [
      {
        id: 'core',
        kind: 'image',
        pricing: { image: 30_000, variants: [{ when: { quality: 'high' }, image: 90_000 }] },
      },
    ],
  })
})
after(async () => {
  await server?.[Symbol.asyncDispose]()
  await vendor?.[Symbol.asyncDispose]()
  await stability?.[Symbol.asyncDispose]()
})

/** Returns the last call of this key, once it is in the ledger. */
async function ledgerEntry(keyId: string): Promise<{ cost_nano: bigint | null; images: bigint; characters: bigint }> {
  await server.app.engine.ledger.flush()
  const { pool } = server.app.engine.postgres
  const last = () => pool.query('select * from calls where key_id = $1 order by id desc limit 1', [keyId])
  const { rows } = await until(last, ({ rows: entries }) => entries.length === 1)
  return rows[0]
}

const picture = { prompt: 'a fox', n: 1 }
const speechBody = { voice: 'alloy', input: 'Grüße, 東京 🦊' }
const form = (fields: Record<string, string>): FormData => {
  const body = new FormData()
  for (const [name, value] of Object.entries(fields)) body.set(name, value)
  body.set('file', new Blob([wav(3, 8_000)]), 'talk.wav')
  return body
}

const cases: [title: string, path: string, body: object | FormData, nano: bigint][] = [
  ['a variant by quality', '/images/generations', { ...picture, model: 'st/gpt-image-2', quality: 'low' }, 11_000_000n],
  [
    'a variant by quality and size, of two pictures',
    '/images/generations',
    { ...picture, n: 2, model: 'st/gpt-image-2', quality: 'high', size: '1536x1024' },
    500_000_000n,
  ],
  ['pixels', '/images/generations', { ...picture, model: 'st/dall-e-3', size: '1024x1024' }, BigInt(1024 * 1024 * 20)],
  ['characters', '/audio/speech', { ...speechBody, model: 'st/tts-1' }, 11n * 15_000n],
  [
    'characters, told as events',
    '/audio/speech',
    { ...speechBody, model: 'st/gpt-4o-mini-tts', stream_format: 'sse' },
    11n * 15_000n,
  ],
  ['seconds that the vendor tells', '/audio/transcriptions', form({ model: 'st/whisper-1' }), 300_000n],
  [
    'seconds that nobody tells',
    '/audio/transcriptions',
    form({ model: 'st/whisper-1', response_format: 'text' }),
    300_000n,
  ],
]

for (const [title, path, body, nano] of cases)
  test(`OpenAI’s API costs the same without a cap as under one: ${title}`, async () => {
    const keys = [await alice.key(), await alice.key({ spend_cap_usd: 5, spend_cap_period: 'total' })]
    for (const { key, keyId } of keys) {
      const isForm = body instanceof FormData
      const answer = await fetch(`${server.origin}/compat-a/v1${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, ...(!isForm && { 'content-type': 'application/json' }) },
        body: isForm ? body : JSON.stringify(body),
      })
      const bytes = await answer.arrayBuffer()
      assert.equal(answer.status, 200, Buffer.from(bytes).toString().slice(0, 300))
      assert.equal(
        (await ledgerEntry(keyId)).cost_nano,
        nano,
        keyId === keys[0]!.keyId ? 'without a cap' : 'under a cap',
      )
    }
  })

test('a quality that the vendor doesn’t support isn’t charged: the sent request is', async () => {
  const key = await alice.key()
  const body = { model: 'sta/core', prompt: 'a fox', quality: 'high' }
  const response = await key.post('/compat-a/v1/images/generations', body)
  assert.deepEqual(
    [response.status, response.headers.get('x-uk-losses')],
    [200, 'quality'],
    response.text.slice(0, 300),
  )
  assert.equal((await ledgerEntry(key.keyId)).cost_nano, 30_000_000n)
  const storedResponse = await key.post('/inference/images', body)
  assert.deepEqual(
    [storedResponse.status, storedResponse.body.data.losses, storedResponse.body.data.cost_usd],
    [200, ['quality'], 0.03],
    storedResponse.text,
  )
})
