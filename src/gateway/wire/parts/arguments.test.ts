import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { ArgumentsReader, argumentsObject, argumentsOf } from './arguments.ts'

const note = { note: 'milk\nbread' }
/** Argument strings that model servers send, and what they mean. */
export const oddArguments: [text: string, means: Record<string, unknown>][] = [
  ['', {}],
  [' \n', {}],
  ['{}', {}],
  ['{ }', {}],
  ['null', {}],
  ['None', {}],
  ['undefined', {}],
  ['[]', {}],
  ['{"note":"milk\nbread"}', note],
  ['{"note":"milk\\nbread"}', note],
  ['\uFEFF\n{"note":"milk\\nbread"}', note],
  ['{"note":"a\tb\u0001"}', { note: 'a\tb\u0001' }],
  [JSON.stringify(JSON.stringify(note)), note],
  ['```json\n{"note":"milk\\nbread"}\n```', note],
  ['{"note":"milk\\nbread",}', note],
  ['{"note":["a", ] , }', { note: ['a'] }],
  [`{'note': 'it"s', 'on': True, 'off': False, 'none': None}`, { note: 'it"s', on: true, off: false, none: null }],
  [`{"note":"it\\'s"}`, { note: "it's" }],
  ['{"pattern":"\\d+\\s"}', { pattern: '\\d+\\s' }],
  ['{}{"note":"milk\\nbread"}', note],
  ['{"note":"milk\\nbread"}{"note":"milk\\nbread"}', note],
  ['{"note":"milk\\nbread"}</tool_call>', note],
  ['{"n":NaN}', { n: null }],
  ['{"n":-1.5e3}', { n: -1500 }],
  ['"hello"', { arguments: 'hello' }],
  ['42', { arguments: 42 }],
  ['[1]', { arguments: [1] }],
  ['save my note', { arguments: 'save my note' }],
  ['{note: "x"}', { note: 'x' }],
  ['{note: x}', { note: 'x' }],
  ['{"a":1,,"b":2}', { a: 1, b: 2 }],
  ['{"a":.5,"b":+1,"c":0x1f,"d":01,"e":5.}', { a: 0.5, b: 1, c: 31, d: 1, e: 5 }],
  ['{"a":undefined,"b":Infinity,"c":-Infinity}', { a: null, b: null, c: null }],
  ['{"a":1 // c\n}', { a: 1 }],
  ['{/*c*/"a":/*c*/1}', { a: 1 }],
  ['{“a”:1}', { a: 1 }],
  ['{"a":“b”,‘c’:`d`}', { a: 'b', c: 'd' }],
  ['{{"a":1}}', { a: 1 }],
  ['{"a":{{"b":1}},"c":2}', { a: { b: 1 }, c: 2 }],
  ['{"a":"\\u12"}', { a: '\\u12' }],
  ['{"a":"he said "hi" to","b":1}', { a: 'he said "hi" to', b: 1 }],
  ['{"a":1 "b":"x" "c":[1]}', { a: 1, b: 'x', c: [1] }],
  ['{"a":[1,,2,]}', { a: [1, 2] }],
  ['{"a":{"b":[1,{"c":2}]}}}]', { a: { b: [1, { c: 2 }] } }],
  ['""', {}],
  ['"null"', {}],
  ['[{"a":1}]', { a: 1 }],
  ["[{'a':1}]", { a: 1 }],
  ['\'{"a":1}\'', { a: 1 }],
  ['```json\n{"a":1}', { a: 1 }],
  ['```\nnull\n```', {}],
  ['<tool_call>{"a":1}</tool_call>', { a: 1 }],
  ['<arguments>\n```json\n{"a":1}\n```\n</arguments>', { a: 1 }],
  [JSON.stringify(JSON.stringify(JSON.stringify({ a: 1 }))), { a: 1 }],
  ['{}{note:1}', { note: 1 }],
  // Truncated: the output so far is closed, and numbers and words that may be incomplete are left out.
  ['{"note":"mi', { note: 'mi' }],
  ['{"note":"mi\\', { note: 'mi' }],
  ['{"note":"mi\\u00', { note: 'mi' }],
  ['{"a":[1,2', { a: [1] }],
  ['{"a":"b","c":12', { a: 'b' }],
  ['{"a":"b","c":tru', { a: 'b' }],
  ['{"a":"b","c', { a: 'b' }],
  ['{"a":"b","c":{"d":', { a: 'b', c: {} }],
]

test('arguments become the object that they mean, or are wrapped in one if the meaning is unclear', () => {
  for (const [text, means] of oddArguments) assert.deepEqual(argumentsObject(text), means, JSON.stringify(text))
  for (const prefix of ['{', '{"no', '{"note":', '{"note":1', '{"note":tru'])
    assert.deepEqual(argumentsObject(prefix), { arguments: prefix })
})

/** Returns what a client joins from a stream. */
function inPieces(text: string, lengths: readonly number[]): string {
  const reader = new ArgumentsReader()
  let out = ''
  for (let at = 0, i = 0; at < text.length; i++)
    out += reader.push(text.slice(at, (at += lengths[i % lengths.length]!)))
  return out + reader.end()
}
const lengths = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 9 })
const objects = fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 })
const texts = fc.tuple(objects, fc.boolean()).map(([object, wide]) => JSON.stringify(object, null, wide ? 2 : 0))

test('they mean the same in pieces', () => {
  fc.assert(
    fc.property(fc.constantFrom(...oddArguments), lengths, ([text, means], cuts) => {
      assert.deepEqual(JSON.parse(inPieces(text, cuts)), means, text)
    }),
    { numRuns: 1000 },
  )
})

test('a valid object keeps every character, in pieces too', () => {
  fc.assert(
    fc.property(texts, lengths, (text, cuts) => {
      assert.equal(argumentsOf(text), text)
      assert.equal(inPieces(text, cuts), text)
    }),
    { numRuns: 500 },
  )
})

test('a string of a valid object passes as it arrives', () => {
  const reader = new ArgumentsReader()
  const head = '{"path": "a", "list": [1, {"text": "'
  assert.equal(reader.push(head), head)
  for (const piece of ['one ', 'two', '\\n', '\\u00e9', ' 😀 ', "it's [fine], {really}"])
    assert.equal(reader.push(piece), piece)
  assert.equal(reader.push('", "more": 12') + reader.push('}]}') + reader.end(), '", "more": 12}]}')
})

/** Text changed in a few places, as a model, a server, or a truncation would. */
const damage = [
  ...'{}[]",:\\\'`/*<>“”\n\t 0-+.eEutN_x\u0000\ud83d',
  '//',
  '/*',
  '*/',
  '```',
  '\\u',
  '{}',
  '""',
  'None',
  '</a>',
  'NaN',
  '0x1',
  '\uFEFF',
]
const damagedText = fc
  .tuple(
    fc.oneof(texts, fc.constantFrom(...oddArguments.map(([text]) => text))),
    fc.array(fc.tuple(fc.nat(), fc.nat(4), fc.constantFrom('', ...damage)), { maxLength: 4 }),
    fc.option(fc.nat(), { nil: null }),
  )
  .map(([text, edits, length]) => {
    let out = text
    for (const [at, removedLength, insertion] of edits) {
      const place = at % (out.length + 1)
      out = out.slice(0, place) + insertion + out.slice(place + removedLength)
    }
    return length === null ? out : out.slice(0, length % (out.length + 1))
  })

test('a client joins the same object from any stream as from a whole answer', () => {
  const soup = fc.array(fc.constantFrom(...damage, 'a', '1', '{"a":'), { maxLength: 30 }).map((some) => some.join(''))
  fc.assert(
    fc.property(fc.oneof(damagedText, soup), lengths, (text, cuts) => {
      const object: unknown = JSON.parse(inPieces(text, cuts))
      assert.ok(typeof object === 'object' && object !== null && !Array.isArray(object), text)
      assert.deepEqual(object, JSON.parse(argumentsOf(text)), text)
      assert.deepEqual(object, argumentsObject(text), text)
    }),
    { numRuns: 5000 },
  )
})

test('long texts with an early error are repaired in one pass', () => {
  // 100 times the text takes about 100 times as long. A quadratic repair would never finish here.
  for (const piece of ['"x" y ', '{', '[', '"/*', '{"a":', ' ', ',', "'", '“', '\\u1', '0', '<a>', '```'])
    for (const head of ['{x', '{"a":"b",x', '{"a":"', '', '{"a":['])
      assert.equal(typeof argumentsObject(head + piece.repeat(100_000)), 'object')
})
