import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { addressReferenceIn, storedReferenceIn, storedReferenceInBody } from './stored-references/find.ts'
import { isObject, type Json } from './model/json.ts'
import { mention, readBody } from './model/body.ts'
import { scanBody } from './scan-body.ts'
import { isMixed, isMixedBody } from './wire/openai-chat/decode/mixed.ts'
import { holdsReasoning } from './wire/openai-chat/quirks.ts'

/** Requests with the deciding words, in their own places and elsewhere. */
const word = fc.constantFrom(
  ...`messages input tools content type role id name function custom parameters arguments metadata input_schema tool_choice
  tool_use tool_result tool_use_id image document search_result source title text data media_type base64 url image_url file_id
  prompt container skill_id previous_response_id conversation voice audio preset item_reference image_generation_call result
  user assistant tool developer gs://bucket/file https://example.com/a`.split(/\s+/),
)
const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.oneof(word, fc.constantFrom(null, true, 1, '')),
    fc.array(tie('tree'), { maxLength: 3 }),
    fc.dictionary(word, tie('tree'), { maxKeys: 5 }),
  ),
}))
const part = fc.record(
  {
    type: fc.constantFrom('text', 'tool_use', 'tool_result', 'image', 'document', 'image_url', 'search_result'),
    id: word,
    name: word,
    input: fc.dictionary(word, tree, { maxKeys: 2 }),
    tool_use_id: word,
    content: tree,
    source: fc.oneof(word, fc.record({ type: fc.constant('base64'), media_type: word, data: word })),
    title: word,
    image_url: fc.record({ url: word }),
  },
  { requiredKeys: ['type'] },
)
const message = fc.record(
  {
    role: fc.constantFrom('user', 'assistant', 'tool', 'developer'),
    content: fc.oneof(word, fc.array(part, { maxLength: 2 })),
    tool_calls: tree,
    reasoning: tree,
    reasoning_content: tree,
    reasoning_details: tree,
  },
  { requiredKeys: ['role', 'content'] },
)
const tool = fc.record(
  {
    type: fc.constantFrom('function', 'custom', 'web_search'),
    function: fc.oneof(fc.record({ name: word, parameters: tree }), tree),
    custom: tree,
    name: word,
    input_schema: tree,
  },
  { requiredKeys: [] },
)
const request = fc.record(
  {
    model: fc.constant('m'),
    messages: fc.oneof(fc.array(message, { maxLength: 3 }), tree),
    input: tree,
    tools: fc.oneof(fc.array(tool, { maxLength: 3 }), tree),
    tool_choice: fc.oneof(fc.record({ type: fc.constantFrom('auto', 'tool', 'function'), name: word }), tree),
    metadata: tree,
    prompt: tree,
    file_id: tree,
  },
  { requiredKeys: ['model'] },
)
const escapeText = (text: string): string =>
  text.replaceAll(/[gk]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)

test('a scanned request is handled like a parsed one', () => {
  fc.assert(
    fc.property(request, fc.boolean(), (requestJson, odd) => {
      const text = JSON.stringify(requestJson)
      const json = JSON.parse(text) as Json
      const body = readBody(Buffer.from(odd ? escapeText(text) : text), scanBody)
      assert.equal(isMixedBody(body), isMixed(json))
      assert.deepEqual(storedReferenceInBody(body, false), storedReferenceIn(json))
      assert.deepEqual(storedReferenceInBody(body, true), storedReferenceIn(json) ?? addressReferenceIn(json))
      for (const key in json) assert.deepEqual([body.has(key), body.value(key)], [true, json[key]])
      assert.deepEqual([body.has('no'), body.value('no')], [false, undefined])
      const some = (list: unknown, is: (one: Json) => boolean): boolean =>
        Array.isArray(list) && list.some((one) => isObject(one) && is(one))
      if (some(json['messages'], ({ role }) => role === 'developer')) assert.ok(body.mentions(mention.developer))
      if (some(json['input'], ({ type }) => type === 'item_reference')) assert.ok(body.mentions(mention.reference))
    }),
    { numRuns: 2_000 },
  )
})

test('a request is handled by its meaning, however it is spelled', () => {
  const decisionsFor = (text: string, scan: typeof scanBody | null) => {
    const body = readBody(Buffer.from(text), scan)
    return [
      isMixedBody(body),
      storedReferenceInBody(body, false),
      storedReferenceInBody(body, true),
      holdsReasoning(body),
    ]
  }
  fc.assert(
    fc.property(request, (json) => {
      const text = JSON.stringify(json)
      const expected = decisionsFor(text, null)
      for (const spelling of [
        text,
        JSON.stringify(json, null, 2),
        text.replaceAll(/([,:])(?=[[{"])/g, '$1 '),
        escapeText(text),
      ])
        assert.deepEqual(decisionsFor(spelling, scanBody), expected, spelling)
    }),
    { numRuns: 1_000 },
  )
})

test('an ordinary conversation with tools isn’t parsed', () => {
  const body = readBody(
    Buffer.from(
      JSON.stringify({
        model: 'm',
        messages: [
          { role: 'system', content: 'url file_id "prompt": {}' },
          { role: 'user', content: [{ type: 'text', text: 'hi\n<b>' }] },
          { role: 'assistant', tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }] },
          { role: 'tool', tool_call_id: 'c', content: '{"url":"gs://x"}' },
        ],
        tools: [
          {
            type: 'function',
            function: { name: 'f', parameters: { properties: { url: {}, prompt: {}, file_id: {} } } },
          },
        ],
        metadata: { container: 'x' },
      }),
    ),
    scanBody,
  )
  assert.equal(isMixedBody(body), false)
  assert.equal(storedReferenceInBody(body, true), null)
  const all = Object.values(mention).reduce((bits, bit) => bits | bit, 0)
  assert.equal(body.mentions(all & ~mention.id), false)
})
