import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type World, gatewayWorld } from '../world.ts'
import { answers } from './answers.ts'
import {
  type ScriptedVendor,
  type WireName,
  allWires,
  asAsked,
  bringWires,
  modelOf,
  startScripted,
} from './scripted.ts'
import { call, surfaces } from './surfaces.ts'

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

/** A model server that counts calls from 0 in every answer, or gives all calls of an answer one ID. */
const habits: Record<string, readonly [string, string]> = { counted: ['call_0', 'call_1'], same: ['call', 'call'] }

for (const wire of allWires)
  for (const [habit, [first, second]] of Object.entries(habits))
    test(`${wire.name}, ${habit} IDs: over three turns no surface returns an ID twice, and results find their calls`, async () => {
      const { whole, events } = answers[wire.name as WireName]({
        calls: [
          { id: first, name: 'get_time', arguments: '{"zone":"UTC"}' },
          { id: second, name: 'get_time', arguments: '{"zone":"Asia/Tokyo"}' },
        ],
      })
      vendor.script = asAsked(wire, { whole, events })
      vendor.received.length = 0
      await Promise.all(
        surfaces.flatMap((surface) =>
          [true, false].map(async (stream) => {
            const at = `${surface.name}, ${stream ? 'streamed' : 'whole'}`
            const ids: string[] = []
            let history: Record<string, any>[] = []
            for (let turn = 0; turn < 3; turn++) {
              const body = surface.ask(modelOf(wire), 'What time is it?', history, {
                tools: [surface.tool('get_time')],
              })
              const answerTurn = await call(world.key, surface, body, stream)
              assert.equal(answerTurn.status, 200, `${at}: ${answerTurn.text}`)
              assert.deepEqual(
                answerTurn.calls.map(({ name, arguments: words }) => [name, JSON.parse(words).zone]),
                [
                  ['get_time', 'UTC'],
                  ['get_time', 'Asia/Tokyo'],
                ],
                at,
              )
              ids.push(...answerTurn.calls.map(({ id }) => id))
              const results = answerTurn.calls.map(({ id }) => ({ id, content: `09:0${turn}` }))
              history = [...history, ...answerTurn.history, ...surface.results(results)]
            }
            assert.equal(new Set(ids).size, 6, `${at}: ${ids.join(' ')}`)
          }),
        ),
      )
      // In the last turn each call has its own result.
      const last = vendor.received.map(({ body }) => JSON.stringify(body)).filter((text) => text.includes('09:01'))
      assert.equal(last.length, 2 * surfaces.length)
      for (const text of last)
        for (const words of ['09:00', '09:01']) assert.equal(text.split(words).length - 1, 2, text)
    })

test('IDs that are already unique stay as the provider sent them', async () => {
  for (const wire of allWires) {
    const { whole, events } = answers[wire.name as WireName]({
      calls: [{ id: 'toolu_unique01', name: 'get_time', arguments: '{}' }],
    })
    vendor.script = asAsked(wire, { whole, events })
    for (const surface of surfaces) {
      const body = surface.ask(modelOf(wire), 'What time is it?', [], { tools: [surface.tool('get_time')] })
      const { calls } = await call(world.key, surface, body, true)
      assert.deepEqual(
        calls.map(({ id }) => id),
        ['toolu_unique01'],
        `${wire.name}, ${surface.name}`,
      )
    }
  }
})
