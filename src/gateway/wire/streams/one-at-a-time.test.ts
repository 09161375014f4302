import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { type CollectedAnswer, fold } from '../../model/answer.ts'
import type { Chunk } from '../../model/canonical-request.ts'
import { StreamReader as MessageReader } from '../anthropic-messages/read/stream.ts'
import { StreamWriter as MessageWriter } from '../anthropic-messages/write/stream.ts'
import { about, type Reader, readAll } from '../chunks-for.test.ts'
import type { EventWriter } from './event-writer.ts'
import { type Json, objectOf } from '../../model/json.ts'
import { StreamReader as ChatReader } from '../openai-chat/read/stream.ts'
import { StreamReader as ResponsesReader } from '../openai-responses/read-stream.ts'
import { StreamWriter as ResponsesWriter } from '../openai-responses/write-stream.ts'
import { OneAtATime } from './one-at-a-time.ts'
import { SseReader } from './sse.ts'

/** A writer whose answers consist of items, and the names of its events. */
interface ItemWriter {
  name: string
  writer(): EventWriter
  reader(): Reader
  /** The item that an event refers to, or undefined. */
  index: string
  begins: string
  ends: string
}
const writers: ItemWriter[] = [
  {
    name: 'responses',
    writer: () => new ResponsesWriter(about),
    reader: () => new ResponsesReader(),
    index: 'output_index',
    begins: 'response.output_item.added',
    ends: 'response.output_item.done',
  },
  {
    name: 'messages',
    writer: () => new MessageWriter(about, null),
    reader: () => new MessageReader(),
    index: 'index',
    begins: 'content_block_start',
    ends: 'content_block_stop',
  },
]

const writeAll = (writer: EventWriter, chunks: readonly Chunk[]): string =>
  chunks.map((chunk) => writer.write(chunk)).join('') + writer.end()

/** Fails if two items are open at once, one is never closed, or one is numbered out of order. */
function checkOneAtATime({ index, begins, ends }: ItemWriter, stream: string): void {
  const reader = new SseReader()
  let open: unknown = null
  let next = 0
  for (const { data } of [...reader.feed(Buffer.from(stream)), ...reader.end()]) {
    const event = JSON.parse(data) as Json
    if (event['type'] === begins) {
      assert.equal(open, null, `item ${String(event[index])} begins while item ${String(open)} is open`)
      assert.equal(event[index], next++)
      open = event[index]
    } else if (event[index] !== undefined) assert.equal(event[index], open, `${String(event['type'])} out of turn`)
    if (event['type'] === ends) open = null
    if (event['type'] === 'response.completed')
      for (const item of objectOf(event['response'])['output'] as Json[])
        if (item['type'] !== 'reasoning') assert.equal(item['status'], 'completed')
  }
  assert.equal(open, null, 'the last item has no end')
}

/** The content that must come through in any order: all text, and each call with its name and arguments. */
const contentOf = ({ content, error }: CollectedAnswer) => {
  const words = (type: 'text' | 'reasoning') => content.map((part) => (part.type === type ? part.text : '')).join('')
  const calls = content.flatMap((part) => (part.type === 'tool_call' ? [[part.id, part.name, part.arguments]] : []))
  return { text: words('text'), reasoning: words('reasoning'), calls, error }
}

const piece = fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 6 })
const saying: fc.Arbitrary<Chunk[]> = fc.array(
  fc.oneof(
    piece.map((text): Chunk => ({ type: 'text', text })),
    piece.map((text): Chunk => ({ type: 'reasoning', text })),
    fc.constant<Chunk>({ type: 'reasoning_end' }),
  ),
  { maxLength: 8 },
)
const call = (id: string): fc.Arbitrary<Chunk[]> =>
  fc.tuple(fc.array(piece, { maxLength: 5 }), fc.boolean()).map(([pieces, ends]) => [
    { type: 'tool_call_start', id, name: `tool_${id}` },
    ...[`{"${id}":"`, ...pieces.map((text) => JSON.stringify(text).slice(1, -1)), '"}'].map((delta): Chunk => ({
      type: 'tool_call_delta',
      id,
      delta,
    })),
    // Some providers don't end calls before the answer ends.
    ...(ends ? [{ type: 'tool_call_end' as const, id }] : []),
  ])

/** Tracks whose pieces interleave arbitrarily but stay in order within each track. */
const interleavedTracks: fc.Arbitrary<Chunk[]> = fc
  .tuple(saying, fc.integer({ min: 0, max: 4 }), fc.array(fc.nat(1_000), { minLength: 1, maxLength: 60 }))
  .chain(([words, calls, picks]) =>
    fc.tuple(...Array.from({ length: calls }, (_, i) => call(`call_${i}`))).map((tracks) => {
      const queues = [words, ...tracks].map((track) => [...track])
      const chunks: Chunk[] = []
      for (let i = 0; queues.some((track) => track.length > 0); i++) {
        const ready = queues.filter((track) => track.length > 0)
        chunks.push(ready[picks[i % picks.length]! % ready.length]!.shift()!)
      }
      return chunks
    }),
  )
const finish: Chunk = { type: 'finish', reason: 'stop', native: 'stop' }

for (const one of writers) {
  test(`${one.name}: however text and calls interleave, items are written one after the other without loss`, () => {
    fc.assert(
      fc.property(interleavedTracks, (chunks) => {
        const stream = writeAll(one.writer(), [{ type: 'start', id: 'x', model: 'm' }, ...chunks, finish])
        checkOneAtATime(one, stream)
        assert.deepEqual(contentOf(fold(readAll(one.reader(), Buffer.from(stream)))), contentOf(fold(chunks)))
      }),
      { numRuns: 500 },
    )
  })

  test(`${one.name}: two interleaved calls reach the client one after the other, the first as it arrives`, () => {
    const frame = (delta: Json, finish_reason: string | null = null) =>
      `data: ${JSON.stringify({ id: 'x', model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
    const callDelta = (index: number, id: string | undefined, text: string) =>
      frame({
        tool_calls: [
          { index, ...(id && { id, type: 'function' }), function: { ...(id && { name: id }), arguments: text } },
        ],
      })
    const frames = [
      callDelta(0, 'one', '{"a":'),
      callDelta(1, 'two', '{"b":'),
      callDelta(1, undefined, '2'),
      callDelta(0, undefined, '1'),
      callDelta(0, undefined, '}'),
      callDelta(1, undefined, '}'),
      frame({}, 'tool_calls'),
    ]
    const reader = new ChatReader()
    const writer = one.writer()
    const texts = frames.map((bytes) =>
      reader
        .feed(Buffer.from(bytes))
        .map((chunk) => writer.write(chunk))
        .join(''),
    )
    assert.match(texts[3]!, /"1"/, 'the call that is open does not wait')
    assert.doesNotMatch(texts.slice(0, 4).join(''), /"name":"two"/)
    const last = reader.end().map((chunk) => writer.write(chunk))
    const stream = [...texts, ...last].join('') + writer.end()
    checkOneAtATime(one, stream)
    assert.deepEqual(contentOf(fold(readAll(one.reader(), Buffer.from(stream)))).calls, [
      ['one', 'one', '{"a":1}'],
      ['two', 'two', '{"b":2}'],
    ])
  })

  test(`${one.name}: a truncated stream never presents half a call as complete`, () => {
    const stream = writeAll(one.writer(), [
      { type: 'start', id: 'x', model: 'm' },
      { type: 'tool_call_start', id: 'one', name: 'pay' },
      { type: 'tool_call_delta', id: 'one', delta: '{"usd":1' },
      { type: 'tool_call_start', id: 'two', name: 'pay' },
      { type: 'error', error: { kind: 'server_error', message: 'gone' } },
    ])
    assert.doesNotMatch(stream, /arguments\.done|output_item\.done|content_block_stop|"completed"/)
  })
}

test('a later call may come in any number of pieces, and each of ten thousand calls has an end', () => {
  const order = new OneAtATime()
  order.push({ type: 'tool_call_start', id: 'first', name: 'f' })
  order.push({ type: 'tool_call_start', id: 'later', name: 'f' })
  for (let i = 0; i < 300_000; i++) order.push({ type: 'tool_call_delta', id: 'later', delta: 'x' })
  const [end, start, delta, ...more] = order.push({ type: 'tool_call_end', id: 'first' })
  assert.deepEqual([end!.type, start!.type, more.length], ['tool_call_end', 'tool_call_start', 0])
  // Joined into one piece: all of it is written at once when its turn comes.
  assert.equal(delta?.type === 'tool_call_delta' && delta.delta.length, 300_000)
  const many = new OneAtATime()
  for (let i = 0; i < 10_000; i++) many.push({ type: 'tool_call_start', id: `call_${i}`, name: 'f' })
  assert.equal(many.rest().filter(({ type }) => type === 'tool_call_end').length, 10_000)
})
