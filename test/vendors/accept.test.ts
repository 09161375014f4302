import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { providerOf } from '#gateway/providers/every-provider.ts'
import { encode as encodeMessages } from '#gateway/wire/anthropic-messages/encode/encode.ts'
import { encode as encodeConverse } from '#gateway/wire/converse/encode.ts'
import { encode as encodeGemini } from '#gateway/wire/gemini/encode.ts'
import { encode as encodeChat } from '#gateway/wire/openai-chat/encode/encode.ts'
import { encode as encodeResponses } from '#gateway/wire/openai-responses/encode.ts'
import type { Target } from '#gateway/wire/shared/target.ts'
import type { Tool, CanonicalRequest, CanonicalMessage, CanonicalPart } from '#gateway/model/canonical-request.ts'
import { Refusal } from '#core/errors.ts'
import * as anthropic from './anthropic/rules.ts'
import * as bedrock from './bedrock/rules.ts'
import * as gemini from './gemini/rules.ts'
import * as openai from './openai/rules.ts'
import * as responses from './openai/responses-rules.ts'
import { check } from './rules.ts'
import type { Json } from './vendor.ts'

// A client may send anything in any order: its translation must be a request that the vendor accepts.

const words = fc.string({ unit: 'grapheme', maxLength: 12 })
const id = fc.constantFrom('call_1', 'call_2', 'toolu_01', `call_${'x'.repeat(60)}`, 'id with space/ü')
const name = fc.constantFrom('get', 'get.it', '1st', 'ünï', 'a'.repeat(70), 'b')
const cache = fc.option(fc.constantFrom('5m' as const, '1h' as const), { nil: undefined, freq: 6 })
const withMark = <T extends object>(part: T, mark: '5m' | '1h' | undefined): T =>
  mark === undefined ? part : { ...part, cache: mark }
const text = fc
  .tuple(words, cache)
  .map(([content, mark]): CanonicalPart => withMark({ type: 'text', text: content }, mark))
const image = fc.constantFrom<CanonicalPart>(
  { type: 'image', source: { kind: 'base64', media_type: 'image/jpeg', data: 'iVBORw0KGgo=' } },
  { type: 'image', source: { kind: 'url', url: 'https://a.example/b.png' } },
  { type: 'file', source: { kind: 'base64', media_type: 'application/pdf', data: 'JVBE' }, name: 'a.pdf' },
)
const reasoning = fc.constantFrom<CanonicalPart>(
  { type: 'reasoning', text: 'hm' },
  { type: 'reasoning', text: '', signature: 'c2ln', format: 'anthropic-claude-v1' },
  { type: 'reasoning', text: '', redacted: 'c2ln', format: 'openai-responses-v1', id: 'rs_1' },
  {
    type: 'reasoning',
    text: '',
    redacted: Buffer.from('signed: hm').toString('base64'),
    format: 'google-gemini-v1',
    id: 'call_1',
  },
)
const call = fc
  .tuple(id, name, fc.constantFrom('{}', '', '{"a":1}', '[1]', '{"cut', 'null'))
  .map(([one, toolName, args]): CanonicalPart => ({ type: 'tool_call', id: one, name: toolName, arguments: args }))
const result = fc
  .tuple(id, fc.array(fc.oneof(text, image), { maxLength: 2 }), fc.boolean())
  .map(([one, content, is_error]): CanonicalPart => ({ type: 'tool_result', id: one, content, is_error }))
/** The calls of a message have different IDs: no vendor could tell two of one ID apart. */
const onceEach = (content: CanonicalPart[]): CanonicalPart[] =>
  content.filter((part, n) =>
    part.type === 'tool_call'
      ? content.findIndex((other) => other.type === 'tool_call' && other.id === part.id) === n
      : true,
  )
const message = fc.oneof(
  fc.array(text, { maxLength: 2 }).map((content): CanonicalMessage => ({ role: 'system', content })),
  fc.array(fc.oneof(text, image), { maxLength: 3 }).map((content): CanonicalMessage => ({ role: 'user', content })),
  fc
    .tuple(fc.array(reasoning, { maxLength: 1 }), fc.array(text, { maxLength: 2 }), fc.array(call, { maxLength: 3 }))
    .map((parts): CanonicalMessage => ({ role: 'assistant', content: onceEach(parts.flat()) })),
  fc.array(result, { minLength: 1, maxLength: 3 }).map((content): CanonicalMessage => ({ role: 'tool', content })),
)
const tool: fc.Arbitrary<Tool> = fc
  .tuple(
    name,
    fc.constantFrom<object>(
      { type: 'object', properties: { a: { type: ['string', 'null'], pattern: '^x' } }, required: ['a', 'b'] },
      {},
      { type: 'object', $defs: { D: { const: 1 } }, properties: { d: { $ref: '#/$defs/D' } } },
    ),
    fc.option(fc.boolean(), { nil: undefined }),
  )
  .map(([toolName, parameters, strict]) => ({ name: toolName, parameters, ...(strict !== undefined && { strict }) }))
const distinct = (tools: Tool[]): Tool[] => tools.filter((one, n) => tools.findIndex((x) => x.name === one.name) === n)
const turns: fc.Arbitrary<CanonicalRequest> = fc
  .record(
    {
      // A request always has a user message.
      messages: fc
        .array(message, { maxLength: 7 })
        .map((messages): CanonicalMessage[] => [
          ...messages,
          { role: 'user', content: [{ type: 'text', text: 'so?' }] },
        ]),
      tools: fc.array(tool, { maxLength: 3 }).map(distinct),
      tool_choice: fc.constantFrom<NonNullable<CanonicalRequest['tool_choice']>>('auto', 'required', 'none'),
      parallel_tool_calls: fc.boolean(),
      max_output_tokens: fc.integer({ min: 1, max: 200_000 }),
      temperature: fc.constantFrom(0, 0.5, 1, 1.7, 2),
      top_p: fc.constantFrom(0.1, 1),
      frequency_penalty: fc.constantFrom(0, 0.5),
      presence_penalty: fc.constantFrom(-1, 1),
      verbosity: fc.constantFrom<NonNullable<CanonicalRequest['verbosity']>>('low', 'medium', 'high'),
      cache_key: words,
      top_k: fc.integer({ min: 1, max: 50 }),
      stop: fc.array(fc.constantFrom('END', ' ', 'x'), { maxLength: 7 }),
      seed: fc.integer(),
      n: fc.integer({ min: 1, max: 3 }),
      reasoning: fc.record(
        {
          effort: fc.constantFrom('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'),
          max_tokens: fc.constantFrom(0, 500, 5000, 100_000),
          exclude: fc.boolean(),
        },
        { requiredKeys: [] },
      ),
      response_format: fc.constantFrom<NonNullable<CanonicalRequest['response_format']>>(
        { type: 'json_object' },
        { type: 'json_schema', name: 'a name', schema: { type: 'object', properties: {}, minProperties: 1 } },
      ),
      user: words,
    },
    { requiredKeys: ['messages'] },
  )
  .map((turn): CanonicalRequest => ({ model: 'm', ...turn }))

const target = (model: string, preset: string, reasons = true): Target => ({
  model,
  provider: providerOf(preset),
  maxOutputTokens: 8192,
  capabilities: reasons ? ['tools', 'vision', 'reasoning'] : ['tools', 'vision'],
})
/** Null: refused before any provider was called, such as a limit below OpenAI's minimum, or unsupported media. */
function tryEncode(encode: (turn: CanonicalRequest) => Json, turn: CanonicalRequest): Json | null {
  try {
    return encode(turn)
  } catch (error) {
    if (error instanceof Refusal && (error.param === 'max_tokens' || error.param === 'messages')) return null
    throw error
  }
}

const always = (encode: (turn: CanonicalRequest) => Json, fault: (body: Json) => unknown) =>
  fc.assert(
    fc.property(turns, (turn) => {
      const body = tryEncode(encode, turn)
      if (body === null) return
      const rejection = fault(JSON.parse(JSON.stringify(body)) as Json)
      assert.equal(rejection, undefined, `${JSON.stringify(rejection)} in ${JSON.stringify(body)}`)
    }),
    { numRuns: 300 },
  )

test('OpenAI accepts every translation to a chat', () => {
  for (const to of [target('gpt-5', 'openai'), target('gpt-4o', 'openai', false)])
    always(
      (turn) => encodeChat(turn, to, { stream: true }).body,
      (body) => check(openai.chatRequest, body) ?? openai.pairing(body['messages']),
    )
})

test('OpenAI accepts every translation to a response', () => {
  for (const to of [target('gpt-5', 'openai'), target('gpt-4o', 'openai', false)])
    always(
      (turn) => encodeResponses(turn, to, { stream: true }).body,
      (body) =>
        check(responses.responsesRequest, body) ??
        responses.itemPairing(body['input']) ??
        responses.itemConflict(body, to.capabilities.includes('reasoning')),
    )
})

test('Anthropic accepts every translation to messages', () => {
  for (const to of [
    target('claude-sonnet-4-5', 'anthropic'),
    target('claude-sonnet-5-5', 'anthropic'),
    target('claude-3-haiku', 'anthropic', false),
  ])
    always(
      (turn) => encodeMessages(turn, to, { stream: true }).body,
      (body) => check(anthropic.messageRequest('2023-06-01', false), body) ?? anthropic.conflict(body, '2023-06-01'),
    )
})

test('Google accepts every translation to Gemini', () => {
  for (const to of [target('gemini-3.8-flash', 'google'), target('gemini-2.5-pro', 'google')])
    always(
      (turn) => encodeGemini(turn, to).body,
      (body) =>
        check(gemini.generateRequest, body) ??
        gemini.conflict(body) ??
        (to.model.includes('3.8') ? gemini.signatures(body['contents']) : undefined),
    )
})

test('Bedrock accepts every translation to Converse', () => {
  always(
    (turn) => encodeConverse(turn, target('amazon.nova-pro-v1:0', 'bedrock')).body,
    (body) => check(bedrock.converseRequest, body) ?? bedrock.conflict(body),
  )
})
