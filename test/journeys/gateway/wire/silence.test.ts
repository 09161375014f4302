import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { testServer } from '../../../server.ts'
import { type World, pricedModel, worldOn } from '../world.ts'
import { answers } from './answers.ts'
import {
  type ScriptedVendor,
  type WireName,
  allWires,
  bringWires,
  modelOf,
  startScripted,
  streamEvents,
  whole,
  wires,
} from './scripted.ts'
import { type ClientSurface, eventsIn, surfaces } from './surfaces.ts'

let world: World
let vendor: ScriptedVendor
let other: ScriptedVendor

before(async () => {
  vendor = await startScripted()
  other = await startScripted()
  world = await worldOn(
    await testServer({
      waits: { silenceMs: 5 },
      environment: { UK_UPSTREAM_ALLOW: '127.0.0.0/8', UK_LIMIT_INFERENCE: '0' },
    }),
  )
  await bringWires(world, vendor)
  // One model per surface: a provider that failed for a model is tried last for it afterwards.
  const shared = { models: surfaces.map((_, i) => pricedModel(`shared-${i}`)) }
  await world.bring({ ...vendor, key: 'sk-test' }, 'first', { ...shared, priority: 1 })
  await world.bring({ ...other, key: 'sk-test' }, 'second', { ...shared, priority: 2 })
})
after(async () => {
  await world[Symbol.asyncDispose]()
  await vendor[Symbol.asyncDispose]()
  await other[Symbol.asyncDispose]()
})

/** The heartbeat of each surface: a comment, or Anthropic's own event. */
const BEAT = /^: (?:keep-alive|OPENROUTER PROCESSING)\n|^event: ping\n/gm

/** Shapes whose first half of this answer contains text. */
const SPEAKS_EARLY: ReadonlySet<string> = new Set(['chat', 'ollama', 'responses', 'anthropic'])

/** Returns the content of the complete events so far, without heartbeats. */
const saidIn = (text: string) =>
  eventsIn(text.slice(0, text.lastIndexOf('\n\n') + 2)).filter(({ type }) => type !== 'ping')

/** Reads a stream as far as a test needs. */
async function open(surface: ClientSurface, model: string) {
  const { origin, headers } = world.key
  const response = await fetch(`${origin}${surface.path}`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ ...surface.ask(model, 'Hello'), stream: true }),
  })
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const until = async (holds: (text: string) => boolean): Promise<string> => {
    while (!holds(text)) {
      const { done, value } = await reader.read()
      if (done) throw new Error(`the stream is over: ${text}`)
      text += value
    }
    return text
  }
  return {
    response,
    until,
    beats: (text: string) => text.match(BEAT)?.length ?? 0,
    async rest(): Promise<string> {
      for (let next = await reader.read(); !next.done; next = await reader.read()) text += next.value
      return text
    },
  }
}

for (const wire of allWires)
  test(`${wire.name}: no surface’s stream is silent, before the first token or in the middle`, async () => {
    const { events } = answers[wire.name as WireName]({ text: 'Hello there' })
    const middle = Math.ceil(events.length / 2)
    for (const surface of surfaces) {
      const head = Promise.withResolvers<void>()
      const rest = Promise.withResolvers<void>()
      vendor.script = (response) => {
        const bytes = wire.stream(events)
        const first = wire.stream(events.slice(0, middle))
        // The end marker of a chunk stream follows the first half too.
        const half = first.length - (first.subarray(-14).toString() === 'data: [DONE]\n\n' ? 14 : 0)
        void head.promise.then(() => {
          response.writeHead(200, { 'content-type': wire.type })
          response.write(bytes.subarray(0, half))
          return rest.promise.then(() => response.end(bytes.subarray(half)))
        })
      }
      const stream = await open(surface, modelOf(wire))
      assert.equal(stream.response.status, 200)
      assert.match(stream.response.headers.get('content-type')!, /^text\/event-stream/)
      const silent = await stream.until((text) => stream.beats(text) >= 2)
      assert.equal(saidIn(silent).length, 0, silent)
      head.resolve()
      // In some shapes, the first half of an answer has no content yet.
      const firstText = await stream.until((text) => saidIn(text).length > 0 || !SPEAKS_EARLY.has(wire.name))
      const before = stream.beats(firstText)
      await stream.until((text) => stream.beats(text) > before + 1)
      rest.resolve()
      const text = await stream.rest()
      const turn = surface.read({ status: 200, headers: stream.response.headers, text, body: null }, true)
      assert.equal(turn.words, 'Hello there', `${surface.name}: ${text}`)
      assert.match(text, /^: x-uk-route: provider=/m)
    }
  })

test('while only comments were sent, another provider is tried and answers into the same stream', async () => {
  const { events } = answers.chat({ text: 'Hello there' })
  for (const [i, surface] of surfaces.entries()) {
    const fails = Promise.withResolvers<void>()
    vendor.script = (response, request) =>
      void fails.promise.then(() => whole({ error: { message: 'The model is not there.' } }, 404)(response, request))
    other.script = streamEvents(wires.chat, events)
    const stream = await open(surface, `shared-${i}`)
    await stream.until((text) => stream.beats(text) >= 1)
    fails.resolve()
    const text = await stream.rest()
    const { words } = surface.read({ status: 200, headers: stream.response.headers, text, body: null }, true)
    assert.equal(words, 'Hello there', `${surface.name}: ${text}`)
    assert.match(text, /^: x-uk-route: provider=second/m)
  }
})

test('the stream of /inference/text starts before its provider does, and reports a late failure as its run', async () => {
  const { person } = world
  const { events } = answers.chat({ text: 'Hello there' })
  const ask = async () => {
    const response = await fetch(`${person.origin}/v1/inference/text/stream`, {
      method: 'POST',
      headers: { ...person.headers, 'content-type': 'application/json' },
      body: JSON.stringify({ model: modelOf(wires.chat), messages: [{ role: 'user', content: 'Hello' }] }),
    })
    return { status: response.status, text: response.text() }
  }
  const go = Promise.withResolvers<void>()
  vendor.script = (response, request) => void go.promise.then(() => streamEvents(wires.chat, events)(response, request))
  // The head has arrived although the provider is still silent.
  const late = await ask()
  assert.equal(late.status, 200)
  go.resolve()
  assert.match(await late.text, /event: run\.started[^]*"delta":"Hello there"[^]*event: run\.completed/)
  const fails = Promise.withResolvers<void>()
  vendor.script = (response, request) =>
    void fails.promise.then(() => whole({ error: { message: 'temperature is odd' } }, 400)(response, request))
  const response = await ask()
  assert.equal(response.status, 200)
  fails.resolve()
  const [event, ...more] = eventsIn(await response.text)
  assert.deepEqual(more, [])
  assert.deepEqual([event!['seq'], event!['run'].status, event!['run'].model], [1, 'failed', modelOf(wires.chat)])
  assert.match(event!['error'].message, /temperature is odd/)
})

test('a provider whose first events have no content, followed by an error, is replaced by another', async () => {
  const { events } = answers.anthropic({ text: 'Hello there' })
  const messages = surfaces.find(({ name }) => name === 'messages')!
  const asAnthropic = { shape: 'anthropic-messages', models: [pricedModel('claude-x')] }
  await world.bring({ ...vendor, key: 'sk-test' }, 'claude-one', {
    ...asAnthropic,
    base_url: vendor.origin,
    priority: 1,
  })
  await world.bring({ ...other, key: 'sk-test' }, 'claude-two', { ...asAnthropic, base_url: other.origin, priority: 2 })
  vendor.script = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(': hello\n\n')
    response.write('event: ping\ndata: {"type": "ping"}\n\n')
    response.end('event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n')
  }
  other.script = streamEvents(wires.anthropic, events)
  const stream = await open(messages, 'claude-x')
  const text = await stream.rest()
  const turn = messages.read({ status: 200, headers: stream.response.headers, text, body: null }, true)
  assert.equal(turn.words, 'Hello there', text)
})

test('a failure after the first comment is reported in the stream, as the surface’s own error event', async () => {
  for (const surface of surfaces) {
    const fails = Promise.withResolvers<void>()
    vendor.script = (response, request) =>
      void fails.promise.then(() =>
        whole({ error: { message: 'temperature is odd', type: 'invalid_request_error' } }, 400)(response, request),
      )
    const stream = await open(surface, modelOf(wires.chat))
    await stream.until((text) => stream.beats(text) >= 1)
    fails.resolve()
    const text = await stream.rest()
    const error = eventsIn(text).at(-1)!
    assert.match(error['error']?.message ?? error['message'], /temperature is odd/, `${surface.name}: ${text}`)
    assert.ok(!text.includes('message_stop') && !text.includes('response.completed'), text)
  }
})
