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
  wires,
} from './scripted.ts'
import { eventsIn } from './surfaces.ts'

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

const parameters = { type: 'object', properties: { zone: { type: 'string' } } }
const tools = [{ name: 'get_time', parameters }]

/** Returns the content of a REST completion, whole or streamed, without the fields that requests don't accept. */
async function complete(model: string, messages: Json[], stream: boolean): Promise<Json[]> {
  const answer = await world.person.post(`/inference/text${stream ? '/stream' : ''}`, { model, messages, tools })
  assert.equal(answer.status, 200, answer.text)
  if (!stream) return answer.body.data.content
  return eventsIn(answer.text).find(({ message }) => message?.status === 'completed')!['message'].content
}

const question = { role: 'user', content: 'What time is it?' }
const calledIn = (content: Json[]) => content.filter(({ type }) => type === 'tool_call')
const resultsOf = (content: Json[], output: string): Json => ({
  role: 'tool',
  content: calledIn(content).map(({ id }) => ({ type: 'tool_result', tool_call_id: id, output })),
})

for (const wire of allWires)
  test(`${wire.name}: over three turns no call ID repeats on REST, and results find their calls`, async () => {
    for (const [first, second] of [
      ['call_0', 'call_1'],
      ['call', 'call'],
    ] as const) {
      const { whole, events } = answers[wire.name as WireName]({
        calls: [
          { id: first, name: 'get_time', arguments: '{"zone":"UTC"}' },
          { id: second, name: 'get_time', arguments: '{"zone":"Asia/Tokyo"}' },
        ],
      })
      vendor.script = asAsked(wire, { whole, events })
      for (const stream of [false, true]) {
        const ids: string[] = []
        const messages: Json[] = [question]
        for (let turn = 0; turn < 3; turn++) {
          const content = await complete(modelOf(wire), messages, stream)
          assert.deepEqual(
            calledIn(content).map(({ arguments: words }) => JSON.parse(words).zone),
            ['UTC', 'Asia/Tokyo'],
          )
          ids.push(...calledIn(content).map(({ id }) => id))
          messages.push({ role: 'assistant', content }, resultsOf(content, `09:0${turn}`))
        }
        assert.equal(new Set(ids).size, 6, ids.join(' '))
        const body = JSON.stringify(vendor.received.at(-1)!.body)
        for (const words of ['09:00', '09:01']) assert.equal(body.split(words).length - 1, 2, body)
      }
    }
  })

test('Gemini’s signatures on thoughts, texts, and calls return over REST, whole and streamed', async () => {
  const SEAL = 'c2lnbmF0dXJl'
  const functionCall = { name: 'get_time', args: { zone: 'UTC' } }
  const cases: [parts: Json[], at: number][] = [
    [[{ text: 'I look.', thought: true, thoughtSignature: SEAL }, { functionCall }], 0],
    [[{ text: 'I look.', thoughtSignature: SEAL }, { functionCall }], 0],
    [[{ functionCall, thoughtSignature: SEAL }], 0],
    [[{ functionCall, thoughtSignature: SEAL }, { functionCall: { ...functionCall, args: { zone: 'CET' } } }], 0],
  ]
  const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 5 }
  for (const [parts, at] of cases) {
    const piece = (some: Json[], more: Json = {}) => ({
      candidates: [{ content: { role: 'model', parts: some }, ...more }],
    })
    vendor.script = asAsked(wires.gemini, {
      whole: { ...piece(parts, { finishReason: 'STOP' }), usageMetadata },
      events: [...parts.map((part) => piece([part])), { ...piece([], { finishReason: 'STOP' }), usageMetadata }],
    })
    for (const stream of [false, true]) {
      const content = await complete(modelOf(wires.gemini), [question], stream)
      await complete(
        modelOf(wires.gemini),
        [question, { role: 'assistant', content }, resultsOf(content, '09:00')],
        stream,
      )
      const { contents } = vendor.received.at(-1)!.body
      const back = contents.filter(({ role }: Json) => role === 'model').flatMap((one: Json) => one['parts'])
      assert.equal(back.length, parts.length, JSON.stringify(back))
      assert.equal(back[at].thoughtSignature, SEAL, JSON.stringify(back))
      assert.ok(!JSON.stringify(back).includes('skip_thought'), JSON.stringify(back))
    }
  }
})
