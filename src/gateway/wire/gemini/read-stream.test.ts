import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { usageOf } from '#core/usage.ts'
import { fold } from '../../model/answer.ts'
import { cuts, readAll, readCut, readRecorded } from '../chunks-for.test.ts'
import { readAnswer } from './read-answer.ts'
import { StreamReader } from './read-stream.ts'

const names = 'text thoughts-and-calls blocked safety malformed-call cut error garbage'.split(' ')
const readFixture = (name: string) => readAll(new StreamReader(), readRecorded(import.meta.url, name))

test('every recorded stream reads the same wherever its bytes are cut', () => {
  // Generated IDs differ each time.
  const still = (chunks: unknown) => JSON.stringify(chunks).replace(/call_[0-9A-Z]{26}/g, 'minted')
  for (const name of names) {
    const whole = still(readFixture(name))
    fc.assert(
      fc.property(cuts, (lengths) => {
        assert.equal(still(readCut(new StreamReader(), readRecorded(import.meta.url, name), lengths)), whole)
      }),
      { numRuns: 30 },
    )
  }
})

test('text, and the usage of the last chunk in disjoint buckets', () => {
  const { content, usage, finish } = fold(readFixture('text'))
  assert.deepEqual(content, [
    { type: 'text', text: 'Grüße aus 東京 👩‍👩‍👧' },
    { type: 'reasoning', text: '', redacted: 'c2ln', format: 'google-gemini-v1', id: 'text' },
  ])
  assert.deepEqual(usage, usageOf({ input_tokens: 45, cache_read_tokens: 60, output_tokens: 18, reasoning_tokens: 12 }))
  assert.deepEqual([finish?.reason, finish?.native], ['stop', 'STOP'])
})

test('thoughts, and calls of an earlier chunk that turn a normal end into tool_calls; the signature names its call', () => {
  const { content, finish } = fold(readFixture('thoughts-and-calls'))
  const [thoughtPart, text, sealedPart, first, second] = content
  assert.deepEqual(thoughtPart, { type: 'reasoning', text: 'let me see' })
  assert.deepEqual(text, { type: 'text', text: 'I look.' })
  const sealedData = { redacted: 'c2lnbmVk', format: 'google-gemini-v1', id: 'fc1' }
  assert.deepEqual(sealedPart, { type: 'reasoning', text: '', ...sealedData })
  assert.deepEqual(first, { type: 'tool_call', id: 'fc1', name: 'weather', arguments: '{"city":"Kyōto"}' })
  assert.ok(second?.type === 'tool_call' && second.id.startsWith('call_') && second.arguments === '{}')
  assert.equal(finish?.reason, 'tool_calls')
})

test('blocked answers count as filtered, failed and truncated ones are errors', () => {
  const last = (name: string) => {
    const { finish, error } = fold(readFixture(name))
    return finish === null ? [error?.kind, error?.message] : [finish.reason, finish.native]
  }
  assert.deepEqual(last('blocked'), ['content_filter', 'PROHIBITED_CONTENT'])
  assert.deepEqual(last('safety'), ['content_filter', 'SAFETY'])
  assert.deepEqual(last('malformed-call'), [
    'server_error',
    'The provider failed during the response: MALFORMED_FUNCTION_CALL.',
  ])
  assert.deepEqual(last('cut'), ['garbage', 'The provider’s response ended early.'])
  assert.deepEqual(last('error'), ['overloaded', 'The model is overloaded. Please try again later.'])
  assert.equal(last('garbage')[0], 'garbage')
})

test('a whole answer, and the list that a stream without alt=sse is', () => {
  const piece = (parts: object[], finishReason?: string) => ({ candidates: [{ content: { parts }, finishReason }] })
  const whole = fold(readAnswer(piece([{ text: 'a' }, { text: 'b' }], 'MAX_TOKENS')))
  assert.deepEqual([whole.content, whole.finish?.reason], [[{ type: 'text', text: 'ab' }], 'length'])
  const list = fold(readAnswer([piece([{ text: 'a' }]), piece([{ text: 'b' }], 'STOP')]))
  assert.deepEqual(list.content, whole.content)
  assert.equal(fold(readAnswer('no')).error?.kind, 'garbage')
  assert.equal(fold(readAnswer({ error: { code: 429, status: 'RESOURCE_EXHAUSTED' } })).error?.kind, 'rate_limited')
})
