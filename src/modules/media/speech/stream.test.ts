import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findProgram } from '#packages/media-tools/programs.ts'
import { type SentEvent, allEvents, readEvents, types } from '#test/events.ts'
import { type Caller, type Person, type TestServer, testServer } from '#test/server.ts'
import { until } from '#test/until.ts'
import { needs } from '#test/needs.ts'
import { openaiMedia } from '#test/vendors/media/openai/openai.ts'

let server: TestServer
let vendor: Awaited<ReturnType<typeof openaiMedia>>
let alice: Person
before(async () => {
  vendor = await openaiMedia()
  server = await testServer({ environment: { UK_UPSTREAM_ALLOW: '127.0.0.1' } })
  alice = await server.person('Alice')
  const { status, text } = await alice.post('/ai-gateway/provider-endpoints', endpointTo(vendor.origin))
  assert.equal(status, 201, text)
})
after(async () => {
  await server[Symbol.asyncDispose]()
  await vendor[Symbol.asyncDispose]()
})

const endpointTo = (origin: string) => ({
  slug: 'studio',
  name: 'Studio',
  shape: 'openai-chat',
  base_url: `${origin}/v1`,
  api_key: vendor.key,
  models: [
    { id: 'tts-1', kind: 'speech', pricing: { character: 15 } },
    { id: 'gpt-4o-mini-tts', kind: 'speech', pricing: { character: 15 } },
  ],
})
const at = '/inference/speech/stream'
const long = 'It was a dark and stormy night, and the rain fell in torrents upon the roofs of the town. '.repeat(8)

const soundIn = (events: readonly SentEvent[]): Buffer =>
  Buffer.concat(
    events.filter(({ event }) => event === 'audio.delta').map(({ data }) => Buffer.from(data.audio, 'base64')),
  )

/** Inspects the bytes like a media player. */
async function facts(bytes: Uint8Array) {
  const folder = await mkdtemp(join(tmpdir(), 'uk-stream-'))
  const path = join(folder, 'sound')
  await writeFile(path, bytes)
  try {
    return await server.app.engine.media.probe.facts(alice.id, path)
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function callOf(id: string): Promise<{ status: string; characters: string; cost_nano: string } | undefined> {
  await server.app.engine.ledger.flush()
  const { rows } = await server.app.engine.postgres.pool.query('select * from calls where id = $1', [id])
  return rows[0]
}

test('without a model, the built-in engine streams short deltas, then its usage and the end', async () => {
  const events = await allEvents(alice, at, { body: { input: long } })
  const deltas = events.filter(({ event }) => event === 'audio.delta')
  assert.deepEqual(types(events).slice(-2), ['usage', 'audio.completed'])
  assert.equal(deltas.length, events.length - 2)
  assert.deepEqual(
    events.map(({ id, data }) => [id, data.seq]),
    events.map((_, i) => [String(i + 1), i + 1]),
  )
  const { run_id } = events[0]!.data
  assert.ok(events.every(({ data }) => data.run_id === run_id && data.at.endsWith('Z')))
  assert.ok(deltas.every(({ data }) => data.format === 'pcm' && data.sample_rate === 16_000))
  assert.ok(deltas.every(({ data }) => Buffer.from(data.audio, 'base64').length <= 16_000 * 2 * 0.2))
  const sound = soundIn(events)
  const seconds = sound.length / 2 / 16_000
  assert.ok(seconds > 25, `${seconds} s`)
  const { id, format, sample_rate, duration_seconds, size_bytes, file } = events.at(-1)!.data
  assert.deepEqual(
    [id, format, sample_rate, duration_seconds, size_bytes, file],
    [run_id, 'pcm', 16_000, Math.round(seconds * 1_000) / 1_000, sound.length, null],
  )
  const { usage, cost_usd } = events.at(-2)!.data
  assert.deepEqual([usage.characters, cost_usd], [long.length, 0])
  const call = await callOf(run_id)
  assert.deepEqual([call?.status, Number(call?.characters)], ['succeeded', long.length])
})

test('the joined mp3 or opus deltas form one file with a single header and the text’s full length', async () => {
  const pcm = soundIn(await allEvents(alice, at, { body: { input: long, voice: 'kal16' } }))
  for (const format of ['mp3', 'opus'] as const)
    for (const model of ['local/flite', 'sim/speech']) {
      const events = await allEvents(alice, at, {
        body: { input: long, format, model, ...(model === 'local/flite' && { voice: 'kal16' }) },
      })
      const sound = soundIn(events)
      const { durationSeconds, extension } = await facts(sound)
      const lastEvent = events.at(-1)!.data
      assert.equal(extension, format)
      assert.ok(Math.abs(durationSeconds! - lastEvent.duration_seconds) < 0.2, `${model} ${format} ${durationSeconds}`)
      if (model === 'local/flite') assert.ok(Math.abs(durationSeconds! - pcm.length / 32_000) < 0.2)
      assert.equal(lastEvent.size_bytes, sound.length)
      assert.equal(lastEvent.sample_rate, null)
      assert.ok(sound.toString('latin1').split(format === 'opus' ? 'OpusHead' : 'ID3').length <= 2)
    }
})

test('provider audio is streamed as it arrives, billed per character, and saved on request', async () => {
  for (const model of ['studio/tts-1', 'studio/gpt-4o-mini-tts']) {
    const events = await allEvents(alice, at, {
      body: { model, input: 'Hello there, dear listener.', voice: 'nova', format: 'mp3', save: true, name: 'greeting' },
    })
    const lastEvent = events.at(-1)!
    assert.equal(lastEvent.event, 'audio.completed', JSON.stringify(lastEvent.data))
    const { usage, cost_usd } = events.at(-2)!.data
    assert.deepEqual([usage.characters, cost_usd], [27, 0.000405])
    const sound = soundIn(events)
    const { file } = lastEvent.data
    assert.match(file.name, /^greeting( \(2\))?\.mp3$/)
    assert.deepEqual([file.mime_type, file.size_bytes], ['audio/mpeg', sound.length])
    assert.equal(file.duration_seconds, lastEvent.data.duration_seconds)
    const savedBytes = Buffer.from(await (await fetch(file.url)).arrayBuffer())
    assert.deepEqual(savedBytes, sound)
  }
  const [first] = vendor.requests.filter(({ path }) => path === '/v1/audio/speech')
  assert.deepEqual([first!.json().model, first!.json().voice, first!.json().response_format], ['tts-1', 'nova', 'mp3'])
})

test('a voice can be named by slug, ID or provider name, and unknown voices are refused', async () => {
  const { data } = (await alice.get('/audio/voices?limit=100&provider=local&language=en')).body
  const rms = data.find(({ slug }: { slug: string }) => slug === 'local/rms')
  assert.ok(rms, JSON.stringify(data.slice(0, 3)))
  const sounds = await Promise.all(
    ['rms', 'local/rms', rms.id].map(async (voice) =>
      soundIn(await allEvents(alice, at, { body: { input: 'Hello.', voice } })),
    ),
  )
  assert.ok(sounds[0]!.length > 5_000)
  assert.deepEqual([sounds[1], sounds[2]], [sounds[0], sounds[0]])
  const response = await alice.post('/inference/speech', { input: 'Hello.', voice: 'local/rms', format: 'wav' })
  assert.equal(response.status, 200, response.text)
  const bytes = Buffer.from(await (await fetch(response.body.data.files[0].url)).arrayBuffer())
  assert.deepEqual(bytes.subarray(44), sounds[0])
  for (const path of ['/inference/speech', at]) {
    const { status, body } = await alice.post(path, { input: 'Hello.', voice: 'local/nobody' })
    assert.deepEqual([status, body.error.param], [400, 'voice'], path)
  }
})

test(
  'with only a language or a voice, a matching built-in engine is used',
  {
    ...needs((await findProgram('espeak-ng')) !== null, 'espeak-ng'),
  },
  async () => {
    for (const more of [{ language: 'fr' }, { voice: 'local/de' }, { voice: 'de' }]) {
      const response = await fetch(`${server.origin}/v1${at}`, {
        method: 'POST',
        headers: { ...alice.headers, 'content-type': 'application/json' },
        body: JSON.stringify({ input: 'Bonjour tout le monde', ...more }),
      })
      assert.equal(response.status, 200, JSON.stringify(more))
      assert.match(await response.text(), /"sample_rate":22050[^]*audio\.completed/)
    }
  },
)

test('a disconnect aborts the provider’s request, nothing is saved, and the sent text is billed', async () => {
  vendor.script({ perChunkDelayMs: 50, times: 1 })
  const before = vendor.requests.length
  const input = 'word '.repeat(800)
  let run = ''
  for await (const { data } of readEvents(alice, at, {
    body: { model: 'studio/tts-1', input, format: 'mp3', save: true },
  })) {
    run = data.run_id
    break
  }
  const request = vendor.requests[before]!
  await request.ended
  assert.equal(request.aborted, true)
  const call = await until(
    () => callOf(run),
    (row) => row !== undefined,
  )
  assert.deepEqual([call!.status, Number(call!.characters)], ['cancelled', input.length])
  assert.equal(Number(call!.cost_nano), input.length * 15_000)
  const { body } = await alice.get(`/drive/search?q=word&workspace_id=${alice.workspaceId}`)
  assert.equal(JSON.stringify(body).includes('word word word'), false)
  const again = await allEvents(alice, at, { body: { input: 'Hello.' } })
  assert.equal(again.at(-1)!.event, 'audio.completed')
})

test('disabling an endpoint ends its running stream and request', async () => {
  const own = { ...endpointTo(vendor.origin), slug: 'annex' }
  const { id } = (await alice.post('/ai-gateway/provider-endpoints', own)).body.data
  vendor.script({ perChunkDelayMs: 50, times: 1 })
  const before = vendor.requests.length
  const events: SentEvent[] = []
  for await (const event of readEvents(alice, at, {
    body: { model: 'annex/tts-1', input: 'word '.repeat(800), format: 'mp3' },
  })) {
    if (events.length === 0) await alice.patch(`/ai-gateway/provider-endpoints/${id}`, { enabled: false })
    events.push(event)
  }
  assert.deepEqual(types(events).slice(-2), ['usage', 'audio.failed'])
  assert.equal(events.at(-1)!.data.error.code, 'no_route')
  await vendor.requests[before]!.ended
  assert.equal(vendor.requests[before]!.aborted, true)
})

test('errors before the first audio are HTTP errors, and later ones are events', async () => {
  const wrong = async (body: object, who: Caller = alice) => {
    const { status, body: answer } = await who.post(at, { input: 'Hello.', ...body })
    return [status, answer.error?.code ?? answer.error?.type, answer.error?.param]
  }
  assert.deepEqual(await wrong({ input: '  ' }), [400, 'invalid_parameter', 'input'])
  assert.deepEqual(await wrong({ format: 'wav' }), [400, 'invalid_parameter', 'format'])
  assert.deepEqual(await wrong({ background: true }), [400, 'unknown_parameter', 'background'])
  assert.deepEqual(await wrong({ voice: 'nobody' }), [400, 'invalid_parameter', 'voice'])
  assert.deepEqual(await wrong({ language: 'fr', model: 'local/flite' }), [400, 'invalid_parameter', 'language'])
  assert.deepEqual((await wrong({ model: 'studio/nothing' }))[0], 404)
  assert.deepEqual((await wrong({ model: 'local/whisper' })).slice(0, 2), [503, 'no_route'])
  assert.deepEqual(await wrong({ model: 'sim/echo' }), [400, 'unsupported_model', 'model'])
  const reader = await alice.key({ scopes: ['chat:write'] })
  assert.deepEqual(await wrong({}, reader), [403, 'missing_scope', undefined])

  vendor.script({ media: { spoiled: 'web page' } })
  const page = await wrong({ model: 'studio/tts-1', format: 'mp3' })
  assert.deepEqual(page.slice(0, 2), [502, 'bad_provider_answer'])
  vendor.script({ garbage: 'closes socket', times: 1 })
  const events = await allEvents(alice, at, { body: { model: 'studio/tts-1', format: 'mp3', input: long } })
  assert.deepEqual(types(events).slice(-2), ['usage', 'audio.failed'])
  assert.ok(events.at(-1)!.data.error.message.length > 10)
  const call = await callOf(events[0]!.data.run_id)
  assert.deepEqual([call?.status, Number(call?.cost_nano)], ['failed', long.length * 15_000])
})
