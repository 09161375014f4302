import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { loadContracts } from '#modules/contracts.ts'
import { surfaces } from '#gateway/mount.ts'
import { SECRET, json, vendorAt } from '../../../media/wire.ts'
import { testServer } from '../../../server.ts'
import { type Answer, type Route, routes, speechAnswer } from './media-routes.ts'
import { type World, pricedModel, worldOn } from '../world.ts'
import { surfaces as silentSurfaces, eventsIn } from './surfaces.ts'

type Json = Record<string, any>

let world: World
let vendor: Awaited<ReturnType<typeof vendorAt>>
/** Answers every request to the vendor, including polls. */
let answer: Answer = (response) => void response.end()

before(async () => {
  vendor = await vendorAt((request, response, origin) => answer(response, request, origin))
  world = await worldOn(
    await testServer({
      waits: { silenceMs: 5 },
      environment: { UK_UPSTREAM_ALLOW: '127.0.0.0/8', UK_LIMIT_INFERENCE: '0' },
    }),
  )
  const media = [
    { id: 'draws', kind: 'image', pricing: { image: 40_000 } },
    { id: 'speaks', kind: 'speech', pricing: { character: 15 } },
    { id: 'hears', kind: 'transcription', pricing: { audio_second: 100 } },
  ]
  await world.bring({ ...vendor, key: SECRET }, 'own', { models: [...media, pricedModel('writes')] })
  for (const slug of ['racing-1', 'racing-2'])
    await world.bring({ ...vendor, key: SECRET }, slug, { models: [{ ...media[0]!, id: 'races' }] })
  await world.bring({ ...vendor, key: SECRET }, 'voices', {
    shape: undefined,
    preset: 'elevenlabs',
    models: [
      { id: 'eleven_v3', kind: 'speech' },
      { id: 'scribe_v1', kind: 'transcription' },
    ],
  })
  await world.bring({ ...vendor, key: SECRET }, 'flux', {
    shape: undefined,
    preset: 'black-forest-labs',
    models: [{ id: 'flux-kontext-pro', kind: 'image' }],
  })
})
after(async () => {
  await world?.[Symbol.asyncDispose]()
  vendor?.[Symbol.dispose]()
})

/** Routes whose answers never come as events. */
const alwaysWhole: Record<string, string> = {
  '/embeddings': 'OpenAI has no streams of vectors.',
  '/moderations': 'It has no `stream`.',
  '/images/variations': 'It has no `stream`.',
  '/audio/translations': 'It has no `stream`.',
  '/responses/compact': 'It has no `stream`.',
}

test('every route that answers events is tested with a silent provider, here or with the text surfaces', () => {
  const testedPaths = new Set([
    ...routes.map(({ path }) => path),
    ...Object.keys(alwaysWhole),
    ...silentSurfaces.map(({ path }) => path.replace(/^\/compat-\w\/v1/, '')),
  ])
  const generating = surfaces.flatMap((surface) =>
    Object.entries(surface.routes).flatMap(([path, methods]) =>
      Object.values(methods).includes('generate') ? [path] : [],
    ),
  )
  assert.deepEqual(
    [...new Set(generating)].filter((path) => !testedPaths.has(path)),
    [],
  )
})

/** REST streams that end with their caller and so start with a provider or a computer. */
const callerStreams: Record<string, string> = {
  'inference.text_stream': 'in silence.test.ts',
  'inference.speech_stream': 'below',
  'computers.exec': 'in the tests of silent computers',
}

test('REST streams that wait for a provider are tested with a silent one', async () => {
  const streams = (await loadContracts()).flatMap(({ name, endpoints }) =>
    Object.entries(endpoints).flatMap(([key, { reply }]) =>
      (reply.kind === 'stream' && reply.belongs === 'caller') ||
      (reply.kind === 'operation' && reply.events !== undefined)
        ? [`${name}.${key}`]
        : [],
    ),
  )
  assert.deepEqual(streams.toSorted(), Object.keys(callerStreams).toSorted())
})

test('the head of /inference/speech/stream is sent before its provider answers, and a late failure is an event', async () => {
  const { person } = world
  const ask = async (then: Answer) => {
    const go = Promise.withResolvers<void>()
    answer = (...args) => void go.promise.then(() => then(...args))
    const response = await fetch(`${person.origin}/v1/inference/speech/stream`, {
      method: 'POST',
      headers: { ...person.headers, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'voices/eleven_v3', input: 'Hello', format: 'mp3' }),
    })
    assert.equal(response.status, 200)
    go.resolve()
    return response.text()
  }
  assert.match(await ask(speechAnswer), /event: audio\.delta/)
  assert.match(await ask((response) => json(response, { detail: 'No foxes.' }, 400)), /event: audio\.failed/)
})

const BEAT = /^: keep-alive\n/gm

/** Reads a stream as far as a test needs. */
async function open({ path, fields, file }: Route, model: string, further: Record<string, string> = {}) {
  const { origin, headers } = world.key
  const body = { ...fields, model }
  const form = new FormData()
  for (const [name, value] of Object.entries(body)) form.set(name, value)
  if (file) form.set(file.name, new Blob([new Uint8Array(file.bytes)]), file.name === 'file' ? 'talk.wav' : 'fox.png')
  const response = await fetch(`${origin}/compat-a/v1${path}`, {
    method: 'POST',
    headers: { ...headers, ...further, ...(!file && { 'content-type': 'application/json' }) },
    body: file ? form : JSON.stringify(body),
  })
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const more = async (): Promise<boolean> => {
    const { done, value } = await reader.read()
    text += value ?? ''
    return !done
  }
  return {
    response,
    async beats(count: number): Promise<void> {
      const before = text.match(BEAT)?.length ?? 0
      while ((text.match(BEAT)?.length ?? 0) < before + count) assert.ok(await more(), `the stream is over: ${text}`)
    },
    async rest(): Promise<string> {
      while (await more());
      return text
    },
    async until(words: string): Promise<void> {
      while (!text.includes(words)) assert.ok(await more(), `the stream is over: ${text}`)
    },
    leave: () => reader.cancel(),
  }
}

const line = (event: object | string): string =>
  typeof event === 'string'
    ? `data: ${event}\n\n`
    : `event: ${(event as Json)['type'] ?? 'message'}\ndata: ${JSON.stringify(event)}\n\n`
const kindOf = (event: Json): string => event['type'] ?? event['object']

/** Opens a stream, keeps the vendor silent for two heartbeats, and reads the rest. */
async function afterSilence(route: Route, model: string, then: Answer): Promise<string> {
  const go = Promise.withResolvers<void>()
  answer = (...args) => void go.promise.then(() => then(...args))
  const stream = await open(route, model)
  assert.equal(stream.response.status, 200)
  assert.match(stream.response.headers.get('content-type')!, /^text\/event-stream/)
  await stream.beats(2)
  go.resolve()
  return stream.rest()
}

test('no comment splits an event of the first of two racing providers', async () => {
  const route = routes[0]!
  const [first] = route.events
  const speak = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  let count = 0
  answer = (response) => {
    // The second request is never answered and releases the first.
    if (++count === 2) speak.resolve()
    if (count > 1) return
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    void speak.promise.then(() => response.write(line(first!).slice(0, 20)))
    void end.promise.then(() => response.end(line(first!).slice(20)))
  }
  const stream = await open(route, 'races', { 'x-uk-hedge': '1' })
  await speak.promise
  await stream.until('event: ')
  const clock = await open(route, 'own/draws')
  await clock.beats(3)
  await clock.leave()
  end.resolve()
  const text = await stream.rest()
  assert.deepEqual(eventsIn(text), [first], text)
})

for (const route of routes) {
  const own = `own/${route.model}`

  test(`${route.path}: the stream isn't silent before its provider's first event, or between two`, async () => {
    const head = Promise.withResolvers<void>()
    const rest = Promise.withResolvers<void>()
    const [first, ...others] = route.events
    let count = 0
    answer = (response) => {
      // A second, never answered stream is the clock: its heartbeats have the same interval.
      if (count++ > 0) return
      void head.promise.then(async () => {
        // The first event comes in two pieces; no heartbeat may come between them.
        const bytes = line(first!)
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(bytes.slice(0, 20))
        const clock = await open(route, own)
        await clock.beats(3)
        await clock.leave()
        response.write(bytes.slice(20))
        await rest.promise
        response.end(others.map(line).join(''))
      })
    }
    const stream = await open(route, own)
    assert.match(stream.response.headers.get('content-type')!, /^text\/event-stream/)
    await stream.beats(2)
    head.resolve()
    await stream.beats(2)
    rest.resolve()
    const text = await stream.rest()
    const events = eventsIn(text)
    assert.deepEqual(
      events.map(kindOf),
      route.events.filter((event) => typeof event === 'object').map((event) => kindOf(event as Json)),
      text,
    )
    assert.match(text, /^: x-uk-route: provider=own/m)
  })

  test(`${route.path}: an error after the first comment is the stream's last event`, async () => {
    const text = await afterSilence(route, own, (response) => json(response, { error: { message: 'No foxes.' } }, 400))
    assert.match(eventsIn(text).at(-1)!['error'].message, /No foxes/, text)
  })

  if (route.whole !== null) {
    const { type, body } = route.whole
    test(`${route.path}: a whole answer after a comment is written as events`, async () => {
      const text = await afterSilence(
        route,
        own,
        (response) => void response.writeHead(200, { 'content-type': type }).end(body),
      )
      const last = eventsIn(text).at(-1)!
      assert.equal(last['type'], route.last, text)
      const output = JSON.stringify(eventsIn(text))
      assert.ok(output.includes(Buffer.isBuffer(body) ? body.toString('base64') : /Hi\.|iVBO/.exec(body)![0]), output)
      const garbage = await afterSilence(
        route,
        own,
        (response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('[]'),
      )
      assert.match(eventsIn(garbage).at(-1)!['error'].message, /event stream|JSON/, garbage)
    })
  }

  if (route.other !== undefined) {
    const { model, answer: then } = route.other
    test(`${route.path}: the same holds if the request is rewritten for ${model}`, async () => {
      const text = await afterSilence(route, model, then)
      assert.equal(eventsIn(text).at(-1)!['type'], route.last, text)
      assert.match(text, new RegExp(`^: x-uk-route: provider=${model.split('/')[0]}`, 'm'))
      const output = await afterSilence(route, model, (response) => json(response, { detail: 'No foxes.' }, 400))
      assert.ok(eventsIn(output).at(-1)!['error'].message.length > 0, output)
    })
  }
}
