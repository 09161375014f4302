import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { cuts } from '../chunks-for.test.ts'
import { type SseEvent, SseReader } from './sse.ts'

const readAll = (bytes: Uint8Array, lengths: number[]): SseEvent[] => {
  const reader = new SseReader()
  const events: SseEvent[] = []
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const length = lengths[i % lengths.length]!
    events.push(...reader.feed(bytes.subarray(at, at + length)))
    at += length
  }
  return [...events, ...reader.end()]
}

test('events are read with any line end, with comments, several data lines, and without a final blank line', () => {
  const stream =
    '\uFEFF: hi\r\nevent: a\r\ndata: 1\r\ndata:2\r\rdata\rid: 7\r\r\nevent: lost\n\ndata: {"ö":"👋"}\n\ndata: end'
  assert.deepEqual(readAll(Buffer.from(stream), [stream.length * 2]), [
    { event: 'a', data: '1\n2' },
    { event: '', data: '' },
    { event: '', data: '{"ö":"👋"}' },
    { event: '', data: 'end' },
  ])
})

test('a stream reads the same wherever its bytes are cut', () => {
  const line = fc.constantFrom('data: x', 'data:ü👋', 'data: ', 'event: e', ': c', '', 'data')
  fc.assert(
    fc.property(
      fc.array(fc.tuple(line, fc.constantFrom('\n', '\r\n', '\r')), { maxLength: 20 }),
      cuts,
      (lines, lengths) => {
        const bytes = Buffer.from(lines.flat().join(''))
        assert.deepEqual(readAll(bytes, lengths), readAll(bytes, [bytes.length + 1]))
      },
    ),
  )
})
