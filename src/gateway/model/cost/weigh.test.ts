import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { Payer } from '#infra/ledger/ledger.ts'
import type { Offer, Shape } from '../offer.ts'
import { inputBound, roughInputBound } from '../../call/money/metering.ts'
import { scanBody } from '../../scan-body.ts'
import { readBody } from '../body.ts'
import { prepare } from '../../translation/upstream-stream.ts'
import type { CanonicalRequest } from '../canonical-request.ts'

// Only the payer's cap is read here.
const cappedPayer = { key: { cap: 1n } } as unknown as Payer
const boundOf = (json: object) => inputBound(json, cappedPayer, null)
const rough = (json: string) => roughInputBound(readBody(Buffer.from(json), scanBody), cappedPayer)
const bytes = (text: string) => Buffer.byteLength(text)

interface WeighedRequest {
  system: string
  texts: string[]
  name: string
  description: string
  schema: object
  given: object
  result: string
}

const text = fc.string({ unit: 'grapheme', maxLength: 200 })
const key = fc.string({ minLength: 1, maxLength: 40 }).filter((name) => name !== '__proto__')
const requestArbitrary: fc.Arbitrary<WeighedRequest> = fc.record({
  system: text,
  texts: fc.array(text, { minLength: 1, maxLength: 6 }),
  name: fc.stringMatching(/^[a-z]{1,40}$/),
  description: text,
  // Includes protocol names: in a schema they are the user's own.
  schema: fc
    .dictionary(fc.oneof(key, fc.constantFrom('type', 'url', 'data', 'role')), fc.record({ description: text }))
    .map((properties) => ({ type: 'object', properties })),
  given: fc.dictionary(fc.oneof(key, fc.constantFrom('type', 'url', 'user', 'model')), text),
  result: text,
})

/** One token per byte: no tokenizer produces more. */
const truth = ({ system, texts, name, description, schema, given: args, result }: WeighedRequest): number =>
  [system, ...texts, name, description, JSON.stringify(schema), name, JSON.stringify(args), result].reduce(
    (sum, one) => sum + bytes(one),
    0,
  )

const turnOf = ({
  system,
  texts,
  name,
  description,
  schema,
  given: args,
  result,
}: WeighedRequest): CanonicalRequest => ({
  model: 'm',
  messages: [
    { role: 'system', content: [{ type: 'text', text: system }] },
    ...texts.map((one) => ({ role: 'user' as const, content: [{ type: 'text' as const, text: one }] })),
    { role: 'assistant', content: [{ type: 'tool_call', id: 'c1', name, arguments: JSON.stringify(args) }] },
    {
      role: 'tool',
      content: [{ type: 'tool_result', id: 'c1', content: [{ type: 'text', text: result }], is_error: false }],
    },
  ],
  tools: [{ name, description, parameters: schema }],
})

const call = ({ name, given: args }: WeighedRequest) => ({ name, arguments: JSON.stringify(args) })

/** The same request in each shape. */
const requests: Record<string, (one: WeighedRequest) => object> = {
  'openai-chat': (one) => ({
    messages: [
      { role: 'system', content: one.system },
      ...one.texts.map((text) => ({ role: 'user', content: [{ type: 'text', text: text }] })),
      { role: 'assistant', tool_calls: [{ id: 'c1', type: 'function', function: call(one) }] },
      { role: 'tool', tool_call_id: 'c1', content: one.result },
    ],
    tools: [{ type: 'function', function: { name: one.name, description: one.description, parameters: one.schema } }],
  }),
  'openai-responses': (one) => ({
    instructions: one.system,
    input: [
      ...one.texts.map((text) => ({ role: 'user', content: [{ type: 'input_text', text: text }] })),
      { type: 'function_call', call_id: 'c1', ...call(one) },
      { type: 'function_call_output', call_id: 'c1', output: one.result },
    ],
    tools: [{ type: 'function', name: one.name, description: one.description, parameters: one.schema }],
  }),
  'anthropic-messages': (one) => ({
    system: [{ type: 'text', text: one.system }],
    messages: [
      ...one.texts.map((text) => ({ role: 'user', content: text })),
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: one.name, input: one.given }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: one.result }] },
    ],
    tools: [{ name: one.name, description: one.description, input_schema: one.schema }],
  }),
  'inference/text': (one) => turnOf(one),
}

/** Overhead in bytes that each message, each ID, and the tools may add. */
const AROUND = 16 + 512 + 200

for (const [shape, request] of Object.entries(requests))
  test(`${shape}: the bound is never below one token per byte of what the model reads, and hardly above`, () => {
    fc.assert(
      fc.property(requestArbitrary, (one) => {
        const most = boundOf({ model: 'm', ...request(one) })
        assert.ok(most >= truth(one), `${most} < ${truth(one)}`)
        assert.ok(most <= truth(one) + AROUND, `${most} > ${truth(one)} + ${AROUND}`)
        const machinery = { user: 'u'.repeat(500), metadata: { user_id: 'x'.repeat(500) }, model: 'm'.repeat(100) }
        assert.equal(boundOf({ ...request(one), ...machinery }), boundOf({ model: 'm', ...request(one) }))
      }),
    )
  })

test('the rough bound, found without parsing, is never below the exact one', () => {
  const shapes = Object.values(requests).slice(0, 3)
  let count = 0
  fc.assert(
    fc.property(requestArbitrary, fc.integer({ min: 0, max: 2 }), fc.boolean(), (one, shape, isSpaced) => {
      const body = { model: 'm', ...shapes[shape]!(one) }
      const most = rough(JSON.stringify(body, null, isSpaced ? 2 : 0))
      if (most === null) return
      count++
      assert.ok(most >= boundOf(body), `${most} < ${boundOf(body)}`)
    }),
  )
  assert.ok(count > 50, `only ${count} were bounded so`)
  // A name in the user's own schema may look like a media field, and then the body is parsed.
  const names = fc.constantFrom('url', 'data', 'text', 'content', 'arguments', 'input', 'outputs', 'file_id', 'x')
  const odd = fc.letrec((tie) => ({
    value: fc.oneof(
      text,
      fc.constantFrom('@1e20@', '@1E+300@', '@-0@', '@0.0000001@', '@123456789@'),
      tie('list'),
      tie('object'),
    ),
    list: fc.array(tie('value'), { maxLength: 4 }),
    object: fc.dictionary(names, tie('value'), { maxKeys: 4 }),
  }))
  fc.assert(
    fc.property(odd.value, (value) => {
      const json = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: value }] }).replaceAll(
        /"@(.*?)@"/g,
        '$1',
      )
      const most = rough(json)
      assert.ok(most === null || most >= boundOf(JSON.parse(json) as object), `${json}: ${most}`)
    }),
  )
})

test('requests that may send media, name something stored at a vendor, or search further are bounded exactly', () => {
  const ask = { model: 'm', messages: [{ role: 'user', content: 'hi' }] }
  assert.equal(typeof rough(JSON.stringify(ask)), 'number')
  const user = (content: object) => ({ messages: [{ role: 'user', content: [content] }] })
  for (const more of [
    user({ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }),
    user({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }),
    user({ type: 'input_file', file_id: 'file_1' }),
    { messages: [{ role: 'assistant', content: 'x', annotations: [{ url: 'https://example.com' }] }] },
    { previous_response_id: 'resp_1' },
    { tools: [{ type: 'web_search' }] },
    { tools: [{ type: 'web_search', function: {} }] },
    { plugins: [{ id: 'web' }] },
    { input: [{ type: 'item_reference', id: 'msg_1' }] },
    { temperature: '@1e0@' },
  ])
    assert.equal(rough(JSON.stringify({ ...ask, ...more }).replaceAll(/"@(.*?)@"/g, '$1')), null, JSON.stringify(more))
  assert.equal(rough(String.raw`{"model":"m","messages":[{"role":"user","content":[{"url":"x"}]}]}`), null)
})

test('the user’s own names count wherever they appear, because a model may read them', () => {
  const own = 'a name that nobody knows '.repeat(40)
  const places: Record<string, (mine: object) => object> = {
    'an example of a tool': (mine) => ({ tools: [{ name: 'f', input_schema: {}, input_examples: [mine] }] }),
    'an environment': (env) => ({
      input: [{ type: 'local_shell_call', action: { type: 'exec', command: ['ls'], env } }],
    }),
    'a paper of a conversation': (mine) => ({ messages: [], documents: [{ data: mine }] }),
    'what a template is given': (mine) => ({ messages: [], chat_template_kwargs: mine }),
    'a list of results': (mine) => ({ input: [{ type: 'x_call_output', output: [mine] }] }),
    'arguments in a list': (mine) => ({
      messages: [{ role: 'assistant', tool_calls: [{ function: { arguments: [mine] } }] }],
    }),
  }
  for (const [name, place] of Object.entries(places)) {
    const more = boundOf(place({ [own]: 1 })) - boundOf(place({}))
    assert.ok(more >= bytes(own), `${name}: ${more}`)
  }
  const numbers = boundOf({ tools: [{ name: 'f', input_examples: [{ x: Array(50).fill(123_456_789) }] }] })
  assert.ok(numbers >= 450, String(numbers))
})

test('embeddings: texts count by their bytes, tokens as tokens', () => {
  fc.assert(
    fc.property(fc.array(text), (input) => {
      const sum = input.reduce((all, one) => all + bytes(one), 0)
      const most = boundOf({ model: 'm', user: 'u'.repeat(99), input })
      assert.ok(most >= sum && most <= sum + 16)
    }),
  )
  assert.equal(boundOf({ input: [Array(500).fill(7), Array(500).fill(7)] }), 1_016)
})

const shapes: readonly Shape[] = ['openai-chat', 'openai-responses', 'anthropic-messages', 'gemini', 'ollama']
for (const shape of shapes)
  test(`a translation to ${shape} is bounded, too`, () => {
    const endpoint = { shape, preset: null, baseUrl: 'http://127.0.0.1/v1', headers: {}, apiKey: null }
    // The fields of an offer that a translation reads.
    const offer = {
      endpoint,
      slug: 'x/m',
      upstreamModel: 'm',
      capabilities: [],
      maxOutputTokens: null,
    } as unknown as Offer
    fc.assert(
      fc.property(requestArbitrary, (one) => {
        const { body } = prepare(offer, turnOf(one))
        const textBytes =
          bytes(one.system) + one.texts.reduce((sum, words) => sum + bytes(words), 0) + bytes(one.result)
        assert.ok(boundOf(body) >= textBytes + bytes(one.name) + bytes(one.description))
      }),
      { numRuns: 50 },
    )
  })
