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

// Of a payer only what caps it is looked at.
const capped = { key: { cap: 1n } } as unknown as Payer
const bound = (json: object) => inputBound(json, capped, null)
const rough = (json: string) => roughInputBound(readBody(Buffer.from(json), scanBody), capped)
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
const asked: fc.Arbitrary<WeighedRequest> = fc.record({
  system: text,
  texts: fc.array(text, { minLength: 1, maxLength: 6 }),
  name: fc.stringMatching(/^[a-z]{1,40}$/),
  description: text,
  // Names as the wire has them, too: in a schema they are somebody's own.
  schema: fc
    .dictionary(fc.oneof(key, fc.constantFrom('type', 'url', 'data', 'role')), fc.record({ description: text }))
    .map((properties) => ({ type: 'object', properties })),
  given: fc.dictionary(fc.oneof(key, fc.constantFrom('type', 'url', 'user', 'model')), text),
  result: text,
})

/** One token a byte: no tokeniser makes more of them. */
const truth = ({ system, texts, name, description, schema, given, result }: WeighedRequest): number =>
  [system, ...texts, name, description, JSON.stringify(schema), name, JSON.stringify(given), result].reduce(
    (sum, one) => sum + bytes(one),
    0,
  )

const turnOf = ({ system, texts, name, description, schema, given, result }: WeighedRequest): CanonicalRequest => ({
  model: 'm',
  messages: [
    { role: 'system', content: [{ type: 'text', text: system }] },
    ...texts.map((one) => ({ role: 'user' as const, content: [{ type: 'text' as const, text: one }] })),
    { role: 'assistant', content: [{ type: 'tool_call', id: 'c1', name, arguments: JSON.stringify(given) }] },
    {
      role: 'tool',
      content: [{ type: 'tool_result', id: 'c1', content: [{ type: 'text', text: result }], is_error: false }],
    },
  ],
  tools: [{ name, description, parameters: schema }],
})

const call = ({ name, given }: WeighedRequest) => ({ name, arguments: JSON.stringify(given) })

/** The same question as each shape of request has it. */
const requests: Record<string, (one: WeighedRequest) => object> = {
  'openai-chat': (one) => ({
    messages: [
      { role: 'system', content: one.system },
      ...one.texts.map((said) => ({ role: 'user', content: [{ type: 'text', text: said }] })),
      { role: 'assistant', tool_calls: [{ id: 'c1', type: 'function', function: call(one) }] },
      { role: 'tool', tool_call_id: 'c1', content: one.result },
    ],
    tools: [{ type: 'function', function: { name: one.name, description: one.description, parameters: one.schema } }],
  }),
  'openai-responses': (one) => ({
    instructions: one.system,
    input: [
      ...one.texts.map((said) => ({ role: 'user', content: [{ type: 'input_text', text: said }] })),
      { type: 'function_call', call_id: 'c1', ...call(one) },
      { type: 'function_call_output', call_id: 'c1', output: one.result },
    ],
    tools: [{ type: 'function', name: one.name, description: one.description, parameters: one.schema }],
  }),
  'anthropic-messages': (one) => ({
    system: [{ type: 'text', text: one.system }],
    messages: [
      ...one.texts.map((said) => ({ role: 'user', content: said })),
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: one.name, input: one.given }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: one.result }] },
    ],
    tools: [{ name: one.name, description: one.description, input_schema: one.schema }],
  }),
  'inference/text': (one) => turnOf(one),
}

/** The bytes that each message, each id and the tools may add. */
const AROUND = 16 + 512 + 200

for (const [shape, request] of Object.entries(requests))
  test(`${shape}: a bound is never less than a token a byte of what the model reads, and hardly more`, () => {
    fc.assert(
      fc.property(asked, (one) => {
        const most = bound({ model: 'm', ...request(one) })
        assert.ok(most >= truth(one), `${most} < ${truth(one)}`)
        assert.ok(most <= truth(one) + AROUND, `${most} > ${truth(one)} + ${AROUND}`)
        const machinery = { user: 'u'.repeat(500), metadata: { user_id: 'x'.repeat(500) }, model: 'm'.repeat(100) }
        assert.equal(bound({ ...request(one), ...machinery }), bound({ model: 'm', ...request(one) }))
      }),
    )
  })

test('a rough bound, for which a body is not parsed, is never less than the exact one', () => {
  const shapes = Object.values(requests).slice(0, 3)
  let found = 0
  fc.assert(
    fc.property(asked, fc.integer({ min: 0, max: 2 }), fc.boolean(), (one, shape, spaced) => {
      const body = { model: 'm', ...shapes[shape]!(one) }
      const most = rough(JSON.stringify(body, null, spaced ? 2 : 0))
      if (most === null) return
      found++
      assert.ok(most >= bound(body), `${most} < ${bound(body)}`)
    }),
  )
  assert.ok(found > 50, `only ${found} were bounded so`)
  // A name in somebody's own schema may look like that of media, and then the body is parsed.
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
      assert.ok(most === null || most >= bound(JSON.parse(json) as object), `${json}: ${most}`)
    }),
  )
})

test('who may send media, names what lies at a vendor or has it look further is bounded exactly', () => {
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

test('names that are somebody’s own count wherever they stand, for a model may read them', () => {
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
    const more = bound(place({ [own]: 1 })) - bound(place({}))
    assert.ok(more >= bytes(own), `${name}: ${more}`)
  }
  const numbers = bound({ tools: [{ name: 'f', input_examples: [{ x: Array(50).fill(123_456_789) }] }] })
  assert.ok(numbers >= 450, String(numbers))
})

test('embeddings: texts count by their bytes, tokens as tokens', () => {
  fc.assert(
    fc.property(fc.array(text), (input) => {
      const sum = input.reduce((all, one) => all + bytes(one), 0)
      const most = bound({ model: 'm', user: 'u'.repeat(99), input })
      assert.ok(most >= sum && most <= sum + 16)
    }),
  )
  assert.equal(bound({ input: [Array(500).fill(7), Array(500).fill(7)] }), 1_016)
})

const shapes: readonly Shape[] = ['openai-chat', 'openai-responses', 'anthropic-messages', 'gemini', 'ollama']
for (const shape of shapes)
  test(`what a translation sends to ${shape} is bounded, too`, () => {
    const endpoint = { shape, preset: null, baseUrl: 'http://127.0.0.1/v1', headers: {}, apiKey: null }
    // What a translation reads of an offer.
    const offer = {
      endpoint,
      slug: 'x/m',
      upstreamModel: 'm',
      capabilities: [],
      maxOutputTokens: null,
    } as unknown as Offer
    fc.assert(
      fc.property(asked, (one) => {
        const { body } = prepare(offer, turnOf(one))
        const said = bytes(one.system) + one.texts.reduce((sum, words) => sum + bytes(words), 0) + bytes(one.result)
        assert.ok(bound(body) >= said + bytes(one.name) + bytes(one.description))
      }),
      { numRuns: 50 },
    )
  })
