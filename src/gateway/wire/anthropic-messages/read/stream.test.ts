import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { usageOf } from '#core/usage.ts'
import { fold } from '../../../model/answer.ts'
import { cuts, readAll, readCut, readRecorded } from '../../chunks-for.test.ts'
import { readAnswer } from './answer.ts'
import { StreamReader } from './stream.ts'

const names = ['everything', 'signature-only', 'overloaded', 'cut', 'whole-input', 'empty-answer']
const readFixture = (name: string) => readAll(new StreamReader(), readRecorded(import.meta.url, name))
const format = 'anthropic-claude-v1'

test('every recorded stream reads the same wherever its bytes are cut', () => {
  for (const name of names) {
    fc.assert(
      fc.property(cuts, (lengths) => {
        assert.deepEqual(readCut(new StreamReader(), readRecorded(import.meta.url, name), lengths), readFixture(name))
      }),
      { numRuns: 40 },
    )
  }
})

test('thinking, text, and calls are read; blocks of the vendor’s own tools are ignored', () => {
  const answer = fold(readFixture('everything'))
  assert.deepEqual(answer.content, [
    { type: 'reasoning', text: 'Überlegen … 🤔', signature: 'EqQB+sig/==', format },
    { type: 'reasoning', text: '', redacted: 'b3BhcXVl', format },
    { type: 'text', text: 'Hi', citations: [{ start: 0, end: 2, native: { type: 'char_location' } }] },
    { type: 'tool_call', id: 'toolu_1', name: 'get_weather', arguments: '{"city":"Paris"}' },
    { type: 'tool_call', id: 'toolu_2', name: 'now', arguments: '{}' },
  ])
  assert.deepEqual(answer.finish, { reason: 'tool_calls', native: 'tool_use', stop_sequence: null })
})

test('usage keeps the figures of the start where the end has null, and counts thinking separately', () => {
  assert.deepEqual(
    fold(readFixture('everything')).usage,
    usageOf({
      input_tokens: 25,
      cache_read_tokens: 7,
      cache_write_5m_tokens: 4,
      cache_write_1h_tokens: 5,
      output_tokens: 49,
      reasoning_tokens: 40,
    }),
  )
})

test('a thinking block with only a signature is kept', () => {
  const answer = fold(readFixture('signature-only'))
  assert.deepEqual(answer.content[0], { type: 'reasoning', text: '', signature: 'only', format })
  assert.deepEqual(answer.finish, { reason: 'stop', native: 'stop_sequence', stop_sequence: 'END' })
})

test('a complete input in the start event is read, and end_turn after calls means tool_calls', () => {
  const { content, finish } = fold(readFixture('whole-input'))
  assert.deepEqual(content, [{ type: 'tool_call', id: 'toolu_1', name: 'f', arguments: '{"n":1}' }])
  assert.equal(finish?.reason, 'tool_calls')
})

test('an error event and a truncated stream are errors, with the usage of the input', () => {
  const overloadedAnswer = fold(readFixture('overloaded'))
  assert.deepEqual(overloadedAnswer.error, { kind: 'overloaded', message: 'Overloaded' })
  assert.equal(overloadedAnswer.usage?.input_tokens, 25)
  assert.equal(fold(readFixture('cut')).error?.kind, 'garbage')
  assert.equal(fold(readFixture('empty-answer')).finish?.reason, 'stop')
})

test('no bytes make the reader throw, and its last chunk is always a finish or an error', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      'data: ',
      '{"type":"content_block_start","index":0,"content_block":{"type":"text"}}',
      '{"type":"message_stop"}',
      '{"type":"message_delta"}',
      '\n\n',
      'event: error\n',
      '{}',
    ),
    fc.string(),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const last = readAll(new StreamReader(), Buffer.from(pieces.join(''))).at(-1)
      assert.ok(last?.type === 'finish' || last?.type === 'error')
    }),
    { numRuns: 500 },
  )
})

test('whole messages are read like streams', () => {
  const content = [
    { type: 'thinking', thinking: '', signature: 's' },
    { type: 'text', text: 'Hi', citations: null },
    { type: 'tool_use', id: 't', name: 'f', input: { a: [1] } },
  ]
  const answer = fold(
    readAnswer({ id: 'm', model: 'x', content, stop_reason: 'tool_use', usage: { input_tokens: 1, output_tokens: 2 } }),
  )
  assert.deepEqual(answer.content, [
    { type: 'reasoning', text: '', signature: 's', format },
    { type: 'text', text: 'Hi' },
    { type: 'tool_call', id: 't', name: 'f', arguments: '{"a":[1]}' },
  ])
  for (const garbage of [null, 'hi', [], {}]) assert.equal(fold(readAnswer(garbage)).error?.kind, 'garbage')
})
