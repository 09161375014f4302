import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { usageOf } from '#core/usage.ts'
import { type World, gatewayWorld } from '../world.ts'
import { type ScriptedVendor, asAsked, bringWires, modelOf, startScripted, wires } from './scripted.ts'
import { call, surfaces } from './surfaces.ts'
import { chunk, completion, textChunk } from './usage-places.ts'
import { places } from './usage-variants.ts'

type Json = Record<string, any>

let world: World
let vendor: ScriptedVendor

before(async () => {
  vendor = await startScripted()
  world = await gatewayWorld({ UK_LIMIT_INFERENCE: '0' })
  await bringWires(world, vendor)
})
after(async () => {
  await world[Symbol.asyncDispose]()
  await vendor[Symbol.asyncDispose]()
})

for (const { provider, wire, whole, events, tokens } of places)
  test(`${wire.name}: the figures of ${provider} reach the ledger from every surface, whole and streamed`, async () => {
    vendor.script = asAsked(wire, { whole, events })
    const cases = surfaces.flatMap((surface) => [true, false].map((stream) => ({ surface, stream })))
    const turns = await Promise.all(
      cases.map(({ surface, stream }) => call(world.key, surface, surface.ask(modelOf(wire), 'Hello'), stream)),
    )
    const { audio_seconds: _, video_seconds: __, total_tokens: ___, ...expected } = usageOf(tokens)
    for (const [index, { status, headers, text }] of turns.entries()) {
      const { surface, stream } = cases[index]!
      const at = `${surface.name}, ${stream ? 'streamed' : 'whole'}`
      assert.equal(status, 200, `${at}: ${text}`)
      const record: Json = await world.record(headers.get('x-request-id')!)
      const counts = Object.fromEntries(Object.keys(expected).map((name) => [name, Number(record[name])]))
      assert.deepEqual({ source: record['cost_source'], ...counts }, { source: 'computed', ...expected }, at)
    }
  })

test('without figures the usage is an estimate: empty objects and zeros don’t count', async () => {
  for (const usage of [{}, { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }]) {
    vendor.script = asAsked(wires.chat, {
      whole: completion({ usage }),
      events: [textChunk, chunk({}, 'stop', { usage })],
    })
    for (const surface of surfaces) {
      const { headers } = await call(world.key, surface, surface.ask(modelOf(wires.chat), 'Hello'), true)
      const { cost_source } = await world.record(headers.get('x-request-id')!)
      assert.equal(cost_source, 'estimated', `${surface.name} ${JSON.stringify(usage)}`)
    }
  }
})

test('input figures count however late and fragmented the first event arrives', async () => {
  const { events, tokens } = places.find(({ provider }) => provider === 'Anthropic')!
  const surface = surfaces.find(({ name }) => name === 'messages')!
  const bytes = wires.anthropic.stream(events)
  vendor.script = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`: ${'x'.repeat(10_000)}\n\n`)
    let at = 0
    const next = (): void => {
      if (at >= bytes.length) return void response.end()
      response.write(bytes.subarray(at, (at += 64)), next)
    }
    next()
  }
  const { headers, text } = await call(world.key, surface, surface.ask(modelOf(wires.anthropic), 'Hello'), true)
  const record = await world.record(headers.get('x-request-id')!)
  assert.deepEqual(
    [record.input_tokens, record.cache_read_tokens, record.output_tokens].map(Number),
    [tokens.input_tokens, tokens.cache_read_tokens, tokens.output_tokens],
    text,
  )
})
