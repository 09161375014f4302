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
]

test('arguments become the object that they mean, and are kept in one where that is not clear', () => {
  for (const [text, means] of oddArguments) assert.deepEqual(argumentsObject(text), means, JSON.stringify(text))
  for (const cut of ['{"note":"mi', '{"note":']) assert.deepEqual(argumentsObject(cut), { arguments: cut })
})

test('they mean the same in pieces, and proper ones keep every character', () => {
  const inPieces = (text: string, lengths: readonly number[]): string => {
    const reader = new ArgumentsReader()
    let out = ''
    for (let at = 0, i = 0; at < text.length; i++)
      out += reader.push(text.slice(at, (at += lengths[i % lengths.length]!)))
    return out + reader.end()
  }
  const lengths = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 9 })
  fc.assert(
    fc.property(fc.constantFrom(...oddArguments), lengths, ([text, means], cuts) => {
      assert.deepEqual(JSON.parse(inPieces(text, cuts)), means, text)
    }),
    { numRuns: 500 },
  )
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 }),
      lengths,
      fc.boolean(),
      (object, cuts, wide) => {
        const text = JSON.stringify(object, null, wide ? 2 : 0)
        assert.equal(argumentsOf(text), text)
        assert.deepEqual(JSON.parse(inPieces(text, cuts)), JSON.parse(text))
        // Where nothing is odd about white space before a bracket, nothing changes at all.
        if (!wide) assert.equal(inPieces(text, cuts), text)
      },
    ),
    { numRuns: 500 },
  )
})
