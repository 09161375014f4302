import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type World, gatewayWorld } from '../world.ts'
import { answers } from './answers.ts'
import {
  type Event,
  type ScriptedVendor,
  asAsked,
  bringWires,
  modelOf,
  startScripted,
  streamEvents,
  wires,
} from './scripted.ts'
import { call, surfaces } from './surfaces.ts'

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

const args: [sent: string, means: Json][] = [
  ['{"note":"milk\nbread"}', { note: 'milk\nbread' }],
  ['null', {}],
  ['', {}],
  ['{}{"note":"x"}', { note: 'x' }],
  ['"{\\"note\\":\\"x\\"}"', { note: 'x' }],
  [`{'note': 'x', 'on': True,}`, { note: 'x', on: true }],
  ['just words', { arguments: 'just words' }],
]

test('malformed arguments reach every surface as the object that they mean, whole and streamed', async () => {
  for (const wire of [wires.chat, wires.ollama, wires.responses])
    for (const [sentText, means] of args) {
      const { whole, events } = answers[wire.name]({ calls: [{ id: 'call_x1', name: 'save', arguments: sentText }] })
      vendor.script = asAsked(wire, { whole, events })
      // Where bytes pass unchanged, so does the model's own text.
      for (const surface of surfaces.filter(({ path }) => path.endsWith('messages')))
        for (const stream of [true, false]) {
          const body = surface.ask(modelOf(wire), 'Save my note.', [], { tools: [surface.tool('save')] })
          const { calls, text } = await call(world.key, surface, body, stream)
          assert.deepEqual(
            calls.map((one) => JSON.parse(one.arguments)),
            [means],
            `${wire.name}, ${sentText}: ${text}`,
          )
        }
    }
})

test('malformed arguments in a history reach every provider as the object that they mean', async () => {
  const surface = surfaces[0]!
  const input: Record<string, (body: Json) => unknown> = {
    anthropic: ({ messages }) => messages[1].content.find(({ type }: Json) => type === 'tool_use').input,
    converse: ({ messages }) => messages[1].content.find(({ toolUse }: Json) => toolUse).toolUse.input,
    gemini: ({ contents }) => contents[1].parts.find(({ functionCall }: Json) => functionCall).functionCall.args,
    responses: ({ input: items }) => JSON.parse(items.find(({ type }: Json) => type === 'function_call').arguments),
  }
  for (const [name, reader] of Object.entries(input)) {
    const wire = wires[name as keyof typeof wires]
    const { whole, events } = answers[wire.name]({ text: 'Saved.' })
    vendor.script = asAsked(wire, { whole, events })
    for (const [text, means] of args) {
      const toolCall = { id: 'call_x1', type: 'function', function: { name: 'save', arguments: text } }
      const history = [
        { role: 'assistant', content: null, tool_calls: [toolCall] },
        ...surface.results([{ id: 'call_x1', content: 'done' }]),
      ]
      const more = { tools: [surface.tool('save')] }
      const turn = await call(world.key, surface, surface.ask(modelOf(wire), 'x', history, more), false)
      assert.equal(turn.status, 200, turn.text)
      assert.deepEqual(reader(vendor.received.at(-1)!.body), means, `${name}, ${text}`)
    }
  }
})

const REASON = 'The answer was stopped by the content policy.'
const response = (more: Json) => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  model: 'm',
  status: 'failed',
  output: [],
  error: null,
  ...more,
})
const openingEvents: Event[] = [
  { type: 'response.created', response: response({ status: 'in_progress' }) },
  {
    type: 'response.output_item.added',
    output_index: 0,
    item: { id: 'msg_1', type: 'message', role: 'assistant', status: 'in_progress', content: [] },
  },
  { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, content_index: 0, delta: 'Sure' },
]
const reason = { code: 'content_filter', message: REASON, param: null }
const failedEvent = (more: Json = {}): Event => ({ type: 'response.failed', response: response(more) })

/** The events that may end a failed response, with the reason in each possible place. */
const failures: Record<string, Event[]> = {
  'in the error of response.failed': [failedEvent({ error: reason })],
  'in the status details of response.failed': [failedEvent({ status_details: { type: 'failed', error: reason } })],
  'in an error behind response.failed': [
    failedEvent(),
    { type: 'error', error: { type: 'invalid_request_error', ...reason } },
  ],
  'in a flat error behind response.failed': [failedEvent(), { type: 'error', ...reason }],
  'in an error behind an empty one': [
    failedEvent({ error: { code: 'server_error', message: '' } }),
    { type: 'error', error: reason },
  ],
  'in an error before response.failed': [{ type: 'error', error: reason }, failedEvent()],
  'in response.failed behind an error without words': [{ type: 'error', error: {} }, failedEvent({ error: reason })],
  'in an error of a name of its own': [{ type: 'response.error', error: reason }],
  'in response.failed, and [DONE]': [failedEvent({ error: reason }), '[DONE]'],
}

for (const [place, events] of Object.entries(failures))
  test(`a failed response, with the reason ${place}: every surface reports it`, async () => {
    vendor.script = asAsked(wires.responses, {
      whole: response({ error: reason }),
      events: [...openingEvents, ...events],
    })
    for (const surface of surfaces)
      for (const stream of [true, false]) {
        const turn = await call(world.key, surface, surface.ask(modelOf(wires.responses), 'Hello'), stream)
        // Where bytes pass unchanged, so does the failure.
        assert.ok(turn.text.includes(REASON), `${surface.name}, ${stream ? 'streamed' : 'whole'}: ${turn.text}`)
      }
  })

test('a failed response without a reason is still reported as failed', async () => {
  for (const events of [[failedEvent()], [failedEvent(), '[DONE]']]) {
    vendor.script = streamEvents(wires.responses, [...openingEvents, ...events])
    const surface = surfaces[0]!
    const { text } = await call(world.key, surface, surface.ask(modelOf(wires.responses), 'Hello'), true)
    assert.match(text, /The provider failed during the response/)
  }
})
