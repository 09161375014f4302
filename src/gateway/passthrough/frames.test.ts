import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { Frames } from './frames.ts'
import { eventsFromEnd } from '../wire/streams/events-from-end.ts'

/** The same bytes in other pieces. */
function recut(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b)
  return [0, ...at]
    .map((from, index) => bytes.subarray(from, at[index] ?? bytes.length))
    .filter((piece) => piece.length > 0)
}

const event = fc.oneof(
  fc.constantFrom('data: {"a":1}', 'event: ping\ndata: {}', ': comment', 'data: [DONE]', 'data: 1\ndata: 2'),
  fc.string().map((text) => `data: ${JSON.stringify(text)}`),
)
const stream = fc.tuple(fc.array(event, { minLength: 1 }), fc.constantFrom('\n', '\r\n'))

test('whole events come out, byte for byte, however the bytes are cut', () => {
  fc.assert(
    fc.property(stream, fc.array(fc.nat()), ([events, line], cuts) => {
      const text = events.map((one) => one.replaceAll('\n', line) + line + line).join('')
      const frames = new Frames()
      const out: Buffer[] = []
      for (const piece of recut(Buffer.from(text), cuts)) {
        const whole = frames.push(piece)
        if (!whole) continue
        assert.ok(whole.toString().endsWith(`${line}${line}`), 'only whole events')
        out.push(whole)
      }
      assert.equal(Buffer.concat(out).toString(), text)
      assert.equal(frames.rest(), null)
      assert.equal(frames.bytes, Buffer.byteLength(text))
    }),
  )
})

test('the part of an event that has not ended is kept back, and comes as the rest', () => {
  const frames = new Frames()
  assert.equal(frames.push(Buffer.from('data: 1\n\nda'))?.toString(), 'data: 1\n\n')
  assert.equal(frames.push(Buffer.from('ta: 2\n')), null)
  assert.equal(frames.rest()?.toString(), 'data: 2\n')
})

test('one huge event is let through in pieces instead of being held', () => {
  const frames = new Frames()
  let out = 0
  for (let i = 0; i < 40; i++) out += frames.push(Buffer.alloc(65_536, 'a'))?.length ?? 0
  assert.ok(out >= 1 << 20)
})

test('the tail stays small and holds the last events', () => {
  const frames = new Frames()
  for (let i = 0; i < 5_000; i++) frames.push(Buffer.from(`data: {"i":${i}}\n\n`))
  assert.ok(frames.tailBytes >= 8_192 && frames.tailBytes < 9_000)
  assert.deepEqual([...eventsFromEnd(frames.tail())].slice(0, 2), ['{"i":4999}', '{"i":4998}'])
})

test('events are read from the end, whatever their line ends and names', () => {
  const text = 'event: a\ndata: 1\n\n: note\n\ndata:2\ndata: 3\n\n'
  for (const line of ['\n', '\r\n']) assert.deepEqual([...eventsFromEnd(text.replaceAll('\n', line))], ['2\n3', '1'])
})
