import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { openaiResponses } from './formats/openai-responses.ts'
import { Frames } from './frames.ts'
import { SseReader } from '../wire/streams/sse.ts'
import { eventsFromEnd } from '../wire/streams/events-from-end.ts'

/** Cuts the same bytes into other pieces. */
function recut(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const at = [...new Set(cuts.map((position) => position % (bytes.length + 1)))].toSorted((a, b) => a - b)
  return [0, ...at]
    .map((from, index) => bytes.subarray(from, at[index] ?? bytes.length))
    .filter((piece) => piece.length > 0)
}

const event = fc.oneof(
  fc.constantFrom('data: {"a":1}', 'event: ping\ndata: {}', ': comment', 'data: [DONE]', 'id: 7\ndata:{"a":\ndata:1}'),
  fc.string().map((text) => `data: ${JSON.stringify(text)}`),
)
const ends = fc.constantFrom('\n', '\r\n', '\r')

test('whole events come out however lines end and bytes are cut, with the meaning the standard defines', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(event, ends), { minLength: 1 }),
      fc.boolean(),
      fc.array(fc.nat()),
      (events, hasBom, cuts) => {
        const text = events.map(([one, end]) => `${one}\n\n`.replaceAll('\n', end)).join('')
        const bytes = Buffer.from((hasBom ? '\uFEFF' : '') + text)
        for (const pieces of [recut(bytes, cuts), [...bytes].map((byte) => Buffer.of(byte))]) {
          const frames = new Frames()
          const out: Buffer[] = []
          for (const piece of pieces) {
            const whole = frames.push(piece)
            if (!whole) continue
            assert.ok(whole.toString().endsWith('\n\n'), 'only whole events')
            out.push(whole)
          }
          assert.equal(frames.rest(), null)
          const output = Buffer.concat(out)
          assert.equal(frames.bytes, output.length)
          assert.ok(!output.includes('\r') && !output.includes('\uFEFF'))
          // White space between the lines of one value means nothing.
          const readEvents = (bytes: Buffer) => {
            const reader = new SseReader()
            return [...reader.feed(bytes), ...reader.end()].map(({ event: name, data }) => [
              name,
              data.replaceAll(/\s/g, ''),
            ])
          }
          assert.deepEqual(readEvents(output), readEvents(bytes))
          assert.deepEqual(
            [...eventsFromEnd(output.toString())].toReversed().map((data) => data.replaceAll(/\s/g, '')),
            readEvents(bytes).map(([, data]) => data),
          )
        }
      },
    ),
  )
})

test('events whose lines end with LF pass byte for byte', () => {
  const text = ': hi\nid: 1\nretry: 9\nevent: a\ndata: {"a": 1}\n\ndata:2\n\n'
  const frames = new Frames()
  assert.equal(frames.push(Buffer.from(text))?.toString(), text)
})

test('an incomplete event is held back, and returned as the rest', () => {
  const frames = new Frames()
  assert.equal(frames.push(Buffer.from('data: 1\n\nda'))?.toString(), 'data: 1\n\n')
  assert.equal(frames.push(Buffer.from('ta: 2\n')), null)
  assert.equal(frames.rest()?.toString(), 'data: 2\n')
})

test('a huge event passes in pieces instead of being held', () => {
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

test('events are read from the end, with any line ends and names', () => {
  const text = 'event: a\ndata: 1\n\n: note\n\ndata:2\ndata: 3\n\n'
  for (const line of ['\n', '\r\n', '\r'])
    assert.deepEqual([...eventsFromEnd(text.replaceAll('\n', line))], ['2\n3', '1'])
})

test('the usage of a last event that is too large to hold is read from its end', () => {
  const text = `${'x'.repeat(3 << 20)} "usage":{"input_tokens":1`
  const usage = { input_tokens: 300, input_tokens_details: { cached_tokens: 240 }, output_tokens: 6 }
  const output = [{ type: 'message', content: [{ type: 'output_text', text }] }]
  const event = { type: 'response.completed', response: { status: 'completed', output, usage, user: null } }
  const bytes = Buffer.from(`data: {"type":"response.created"}\n\ndata: ${JSON.stringify(event)}\n\n`)
  const frames = new Frames()
  for (let at = 0; at < bytes.length - 65_536; at += 65_536) frames.push(bytes.subarray(at, at + 65_536))
  const reading = openaiResponses.readStream('', frames.tail())
  assert.deepEqual([reading.usage, reading.ended], [null, false], 'its end is not there')
  frames.push(bytes.subarray(Math.floor((bytes.length - 1) / 65_536) * 65_536))
  const { usage: endUsage, ended: hasEnded } = openaiResponses.readStream('', frames.tail())
  assert.deepEqual(
    [endUsage?.input_tokens, endUsage?.cache_read_tokens, endUsage?.output_tokens, hasEnded],
    [60, 240, 6, true],
  )
})
