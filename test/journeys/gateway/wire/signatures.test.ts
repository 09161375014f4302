import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type World, gatewayWorld } from '../world.ts'
import { answers } from './answers.ts'
import {
  type Event,
  type ScriptedVendor,
  type Wire,
  type WireName,
  asAsked,
  bringWires,
  modelOf,
  startScripted,
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
  const endpoint = await world.person.post('/ai-gateway/provider-endpoints', {
    name: 'google',
    slug: 'google-chat',
    shape: 'openai-chat',
    api_key: 'sk-test',
    test: false,
    base_url: `${vendor.origin}/v1`,
    models: [{ id: 'gemini-3-pro-preview', pricing: { input: 1, output: 2 }, capabilities: ['tools', 'reasoning'] }],
  })
  assert.equal(endpoint.status, 201, endpoint.text)
})
after(async () => {
  await world[Symbol.asyncDispose]()
  await vendor[Symbol.asyncDispose]()
})

const SEAL = 'c2lnbmF0dXJl'
const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 5 }
const args = { zone: 'UTC' }

/** An opaque field in one place where a provider's schema allows it. */
interface Place {
  field: string
  wire: Wire
  model?: string
  whole: Json
  events: Event[]
  /** Where it must appear in the next request. */
  back(body: Json): unknown
  /** Surfaces that pass the field through unchanged, in their own place. */
  except?: readonly string[]
}

const gemini = (field: string, parts: Json[], back: (parts: Json[]) => unknown, pieces = parts): Place => {
  const piece = (some: Json[], more: Json = {}) => ({
    candidates: [{ content: { role: 'model', parts: some }, ...more }],
  })
  return {
    field: `Gemini, ${field}`,
    wire: wires.gemini,
    whole: { ...piece(parts, { finishReason: 'STOP' }), usageMetadata },
    events: [...pieces.map((part) => piece([part])), { ...piece([], { finishReason: 'STOP' }), usageMetadata }],
    back: ({ contents }) =>
      back(contents.filter(({ role }: Json) => role === 'model').flatMap((content: Json) => content['parts'])),
  }
}
const functionCall = { name: 'get_time', args }
const calledBy = (parts: Json[]) => parts.find((part) => part['functionCall'])

const thinking = (block: Json, deltas: Json[]): Place => {
  const answer = answers.anthropic({ calls: [{ id: 'toolu_1', name: 'get_time', arguments: JSON.stringify(args) }] })
  const start = {
    type: 'content_block_start',
    index: 0,
    content_block: { ...block, ...(deltas.length > 0 && { thinking: '', signature: '' }) },
  }
  return {
    field: `Anthropic, ${String(block['type'])}`,
    wire: wires.anthropic,
    whole: { ...answer.whole, content: [block, ...answer.whole['content']] },
    events: [
      answer.events[0]!,
      start,
      ...deltas.map((delta) => ({ type: 'content_block_delta', index: 0, delta })),
      { type: 'content_block_stop', index: 0 },
      ...answer.events.slice(1).map((event) => ('index' in (event as Json) ? { ...(event as Json), index: 1 } : event)),
    ],
    back: ({ messages }) => {
      const content = messages.find(({ role }: Json) => role === 'assistant').content
      const { cache_control: _, ...first } = content[0]
      return first
    },
  }
}

const responses = (): Place => {
  const answer = answers.responses({ calls: [{ id: 'call_1', name: 'get_time', arguments: JSON.stringify(args) }] })
  const item = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: SEAL }
  const whole = { ...answer.whole, output: [item, ...answer.whole['output']] }
  return {
    field: 'OpenAI responses, encrypted_content',
    wire: wires.responses,
    whole,
    events: [
      answer.events[0]!,
      { type: 'response.output_item.added', output_index: 0, item: { ...item, encrypted_content: undefined } },
      { type: 'response.output_item.done', output_index: 0, item },
      ...answer.events
        .slice(1, -1)
        .map((event) => ({ ...(event as Json), output_index: Number((event as Json)['output_index']) + 1 })),
      { type: 'response.completed', response: whole },
    ],
    back: ({ input }) => input.find(({ type }: Json) => type === 'reasoning')?.encrypted_content,
  }
}

const converse = (field: string, content: Json, deltas: Json[], back: (block: Json) => unknown): Place => {
  const answer = answers.converse({ calls: [{ id: 'tooluse_1', name: 'get_time', arguments: JSON.stringify(args) }] })
  const calls = answer.whole['output'].message.content
  return {
    field: `Bedrock, ${field}`,
    wire: wires.converse,
    whole: {
      ...answer.whole,
      output: { message: { role: 'assistant', content: [{ reasoningContent: content }, ...calls] } },
    },
    events: [
      answer.events[0]!,
      ...deltas.map((reasoningContent): Event => [
        'contentBlockDelta',
        { contentBlockIndex: 0, delta: { reasoningContent } },
      ]),
      ['contentBlockStop', { contentBlockIndex: 0 }],
      ...answer.events.slice(1).map((event): Event => {
        const [name, data] = event as [string, Json]
        return [name, 'contentBlockIndex' in data ? { ...data, contentBlockIndex: 1 } : data]
      }),
    ],
    back: ({ messages }) =>
      back(
        messages.find(({ role }: Json) => role === 'assistant').content.find((block: Json) => block['reasoningContent'])
          ?.reasoningContent ?? {},
      ),
  }
}

const googleChat = (): Place => {
  const answer = answers.chat({ calls: [{ id: 'call_1', name: 'get_time', arguments: JSON.stringify(args) }] })
  const sign = (message: Json) => ({
    ...message,
    ...(message['tool_calls'] && {
      tool_calls: message['tool_calls'].map((one: Json) => ({
        ...one,
        extra_content: { google: { thought_signature: SEAL } },
      })),
    }),
  })
  const withSignature = (answer: Json): Json => ({
    ...answer,
    choices: answer['choices'].map((choice: Json) => ({
      ...choice,
      ...(choice['message'] && { message: sign(choice['message']) }),
      ...(choice['delta'] && { delta: sign(choice['delta']) }),
    })),
  })
  return {
    field: 'Google’s endpoint in OpenAI’s shape, thought_signature',
    wire: { ...wires.chat, name: 'google-chat', model: 'gemini-3-pro-preview' },
    whole: withSignature(answer.whole),
    events: answer.events.map((event) => withSignature(event as Json)),
    back: ({ messages }) =>
      messages.find(({ role }: Json) => role === 'assistant').tool_calls[0].extra_content?.google.thought_signature,
    // Its clients join only the fields of the shape that they know.
    except: ['chat', 'OpenRouter chat'],
  }
}

const thoughtPart = { text: 'I should look that up.', thought: true, thoughtSignature: SEAL }
const places: Place[] = [
  gemini('a thought', [thoughtPart, { functionCall }], (parts) => [
    parts.find((part) => part['thought']),
    calledBy(parts)?.['thoughtSignature'],
  ]),
  gemini(
    'a thought in pieces, the signature behind it',
    [thoughtPart, { functionCall }],
    (parts) => [parts.find((part) => part['thought']), calledBy(parts)?.['thoughtSignature']],
    [
      { text: 'I should ', thought: true },
      { text: 'look that up.', thought: true },
      { text: '', thought: true, thoughtSignature: SEAL },
      { functionCall },
    ],
  ),
  gemini('a call', [{ functionCall, thoughtSignature: SEAL }], (parts) => calledBy(parts)?.['thoughtSignature']),
  gemini('the first of two calls', [{ functionCall, thoughtSignature: SEAL }, { functionCall }], (parts) =>
    parts.filter((part) => part['functionCall']).map((part) => part['thoughtSignature']),
  ),
  gemini('a text', [{ text: 'I look.', thoughtSignature: SEAL }, { functionCall }], (parts) => [
    parts.find((part) => part['text'] === 'I look.')?.['thoughtSignature'],
  ]),
  gemini(
    'a text in pieces, the signature behind it',
    [{ text: 'I look.', thoughtSignature: SEAL }],
    (parts) => [parts.find((part) => part['text'] === 'I look.')?.['thoughtSignature']],
    [{ text: 'I ' }, { text: 'look.' }, { text: '', thoughtSignature: SEAL }],
  ),
  thinking({ type: 'thinking', thinking: 'Hm.', signature: SEAL }, [
    { type: 'thinking_delta', thinking: 'Hm.' },
    { type: 'signature_delta', signature: SEAL },
  ]),
  thinking({ type: 'redacted_thinking', data: SEAL }, []),
  responses(),
  converse(
    'signature',
    { reasoningText: { text: 'Hm.', signature: SEAL } },
    [{ text: 'Hm.' }, { signature: SEAL }],
    ({ reasoningText }) => reasoningText,
  ),
  converse(
    'redactedContent',
    { redactedContent: SEAL },
    [{ redactedContent: SEAL }],
    ({ redactedContent }) => redactedContent,
  ),
  googleChat(),
]
const expected: Record<string, unknown> = {
  'Gemini, a thought': [thoughtPart, undefined],
  'Gemini, a thought in pieces, the signature behind it': [thoughtPart, undefined],
  'Gemini, the first of two calls': [SEAL, undefined],
  'Gemini, a text': [SEAL],
  'Gemini, a text in pieces, the signature behind it': [SEAL],
  'Anthropic, thinking': { type: 'thinking', thinking: 'Hm.', signature: SEAL },
  'Anthropic, redacted_thinking': { type: 'redacted_thinking', data: SEAL },
  'Bedrock, signature': { text: 'Hm.', signature: SEAL },
}

for (const { field, wire, whole, events, back, except = [] } of places)
  test(`${field}: opaque values return byte for byte over every surface, whole and streamed`, async () => {
    vendor.script = asAsked(wire, { whole, events })
    for (const surface of surfaces.filter(({ name }) => !except.includes(name)))
      for (const stream of [true, false]) {
        const at = `${surface.name}, ${stream ? 'streamed' : 'whole'}`
        const more = {
          tools: [surface.tool('get_time')],
          ...(surface.path.endsWith('messages') && { thinking: { type: 'enabled', budget_tokens: 1024 } }),
        }
        const first = await call(world.key, surface, surface.ask(modelOf(wire), 'What time is it?', [], more), stream)
        assert.equal(first.status, 200, `${at}: ${first.text}`)
        const results = surface.results(first.calls.map(({ id }) => ({ id, content: '09:00' })))
        const history = [...first.history, ...(results.length > 0 ? results : [{ role: 'user', content: 'And now?' }])]
        const next = await call(
          world.key,
          surface,
          surface.ask(modelOf(wire), 'What time is it?', history, more),
          stream,
        )
        assert.equal(next.status, 200, `${at}: ${next.text}`)
        const { body } = vendor.received.at(-1)!
        assert.deepEqual(back(body), expected[field] ?? SEAL, `${at}: ${JSON.stringify(body)}`)
      }
  })

test('Gemini: a call from an answer without a signature gets the vendor’s placeholder', async () => {
  const { whole, events } = answers['gemini' satisfies WireName]({
    calls: [{ id: 'c', name: 'get_time', arguments: '{}' }],
  })
  vendor.script = asAsked(wires.gemini, { whole, events })
  const surface = surfaces[0]!
  const more = { tools: [surface.tool('get_time')] }
  const { history, calls } = await call(world.key, surface, surface.ask(modelOf(wires.gemini), 'x', [], more), false)
  const results = surface.results(calls.map(({ id }) => ({ id, content: '09:00' })))
  await call(world.key, surface, surface.ask(modelOf(wires.gemini), 'x', [...history, ...results], more), false)
  const { contents } = vendor.received.at(-1)!.body
  assert.equal(contents[1].parts[0].thoughtSignature, 'skip_thought_signature_validator')
})
