// Slow: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { adapterOf } from '#gateway/media/vendors/every-adapter.ts'
import { everyProvider } from '#gateway/providers/every-provider.ts'
import { addEndpoint, studioServer } from '#test/media/studio.ts'
import { type Got, SECRET, endpointAt, json, vendorAt } from '#test/media/wire.ts'
import { ended } from '#test/operations/ended.ts'
import type { Person, TestServer } from '#test/server.ts'
import { until } from '#test/until.ts'
import { wav } from '#test/vendors/media/made/sound.ts'

/** Length of the audio and end of its last word, in seconds. The rest is silent. */
const SECONDS = 6
const LAST_WORD = 1.25
const USD = 0.0006

const sound = wav(SECONDS, 8_000)
const word = { start: 0, end: LAST_WORD }
/** In OpenAI's format. */
const VENDORS_OWN = { text: 'Hi.', duration: LAST_WORD, segments: [{ ...word, id: 0, text: 'Hi.' }] }

/** Responses of every transcription vendor in its own format, without billable usage. */
function answer({ method, path }: Got, response: Parameters<typeof json>[0], origin: string): void {
  if (path.endsWith('/speech-to-text'))
    return json(response, { text: 'Hi.', language_code: 'en', words: [{ ...word, text: 'Hi.', type: 'word' }] })
  if (path.endsWith('/listen'))
    return json(response, {
      metadata: { duration: LAST_WORD },
      results: { channels: [{ alternatives: [{ transcript: 'Hi.', words: [{ ...word, word: 'Hi.' }] }] }] },
    })
  if (path.endsWith('/transcriptions') || path.endsWith('/inference')) return json(response, VENDORS_OWN)
  if (path.endsWith('/status')) return json(response, { status: 'COMPLETED' })
  if (path.endsWith('/requests/1'))
    return json(response, { text: 'Hi.', chunks: [{ text: 'Hi.', timestamp: [0, LAST_WORD] }] })
  if (method === 'POST')
    return json(response, {
      request_id: '1',
      status_url: `${origin}/v1/fal-ai/whisper-1/requests/1/status`,
      response_url: `${origin}/v1/fal-ai/whisper-1/requests/1`,
    })
  json(response, { data: [] })
}

let server: TestServer
let alice: Person
let vendor: Awaited<ReturnType<typeof vendorAt>>
before(async () => {
  vendor = await vendorAt(answer)
  server = await studioServer()
  alice = await server.person('Alice')
})
after(async () => {
  await server?.[Symbol.asyncDispose]()
  vendor?.[Symbol.dispose]()
})

const transcribers = everyProvider.filter(
  ({ id, shape }) => adapterOf(endpointAt('http://127.0.0.1', shape, { preset: id })).transcription !== undefined,
)

test('all transcription providers are covered', () => {
  for (const id of ['openai', 'groq', 'elevenlabs', 'deepgram', 'fal', 'whisper-cpp'])
    assert.ok(
      transcribers.some((one) => one.id === id),
      id,
    )
})

/** Providers whose responses are passed through under a spend cap. */
const passedThrough = new Set<string>()

for (const { id, shape } of transcribers)
  test(`a transcript from ${id} is billed and timed by the audio’s length, not by its last word`, async () => {
    const slug = `t-${id}`
    await addEndpoint(
      alice,
      slug,
      { ...vendor, key: SECRET },
      {
        preset: id,
        shape,
        models: [{ id: 'fal-ai/whisper-1', kind: 'transcription', pricing: { audio_second: 100 } }],
      },
    )
    const ask = {
      model: `${slug}/fal-ai/whisper-1`,
      audio: { kind: 'base64', media_type: 'audio/wav', data: sound.toString('base64') },
    }
    const cappedKey = await alice.key({ spend_cap_usd: 5, spend_cap_period: 'total' })
    const [inline, background, ...transcripts] = await Promise.all([
      alice.post('/inference/transcriptions', ask),
      alice
        .post('/inference/transcriptions', { ...ask, background: true })
        .then(async ({ body }) => (await ended(alice, body.data.id)).result),
      formTo(await alice.key(), ask.model),
      formTo(cappedKey, ask.model),
    ])
    assert.equal(inline.status, 200, inline.text)
    for (const { duration_seconds, cost_usd, usage } of [inline.body.data, background])
      assert.deepEqual([duration_seconds, cost_usd, usage.audio_seconds], [SECONDS, USD, SECONDS])
    // Under a spend cap, a response is rewritten with the billed length or passed through.
    const cappedBody = JSON.parse(transcripts[1])
    if (isDeepStrictEqual(cappedBody, VENDORS_OWN)) passedThrough.add(id)
    else assert.deepEqual(cappedBody.usage, { type: 'duration', seconds: SECONDS })
    assert.match(transcripts[0], /Hi\./)
    const { total } = await until(
      async () => (await alice.get(`/ai-gateway/usage?provider=${slug}`)).body.data,
      ({ total: all }) => all.calls === 4,
    )
    assert.deepEqual([total.cost_usd, total.usage.audio_seconds], [4 * USD, 4 * SECONDS])
  })

test('only responses in OpenAI’s own format are passed through under a spend cap', () => {
  assert.ok(passedThrough.has('openai') && passedThrough.has('groq'), [...passedThrough].join())
  for (const id of ['elevenlabs', 'deepgram', 'fal', 'whisper-cpp']) assert.ok(!passedThrough.has(id), id)
})

async function formTo({ key }: Awaited<ReturnType<Person['key']>>, model: string): Promise<string> {
  const body = new FormData()
  body.set('model', model)
  body.set('file', new Blob([Uint8Array.from(sound)]), 'talk.wav')
  const response = await fetch(`${server.origin}/compat-a/v1/audio/transcriptions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body,
  })
  const text = await response.text()
  assert.equal(response.status, 200, text)
  return text
}
