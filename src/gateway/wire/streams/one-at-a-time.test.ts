import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { type Collected, fold } from '../../model/answer.ts'
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

/** A writer whose answers are made of items, and how its events name them. */
interface Itemized {
  name: string
  writer(): EventWriter
  reader(): Reader
  /** The item that an event is about; undefined: none. */
  index: string
  begins: string
  ends: string
}
const writers: Itemized[] = [
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

const written = (writer: EventWriter, chunks: readonly Chunk[]): string =>
  chunks.map((chunk) => writer.write(chunk)).join('') + writer.end()

/** Fails where two items are open at once, one has no end, or one is numbered out of turn. */
function checkOneAtATime({ index, begins, ends }: Itemized, stream: string): void {
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

/** The words and calls that must come through whatever the order: all words, and each call with its name and arguments. */
const said = ({ content, error }: Collected) => {
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
    // Some providers end no call before the answer ends.
    ...(ends ? [{ type: 'tool_call_end' as const, id }] : []),
  ])

/** Tracks whose pieces come in any order among each other, and in their own within each. */
const interleaved: fc.Arbitrary<Chunk[]> = fc
  .tuple(saying, fc.integer({ min: 0, max: 4 }), fc.array(fc.nat(1_000), { minLength: 1, maxLength: 60 }))
  .chain(([words, calls, picks]) =>
    fc.tuple(...Array.from({ length: calls }, (_, i) => call(`call_${i}`))).map((tracks) => {
      const left = [words, ...tracks].map((track) => [...track])
      const chunks: Chunk[] = []
      for (let i = 0; left.some((track) => track.length > 0); i++) {
        const ready = left.filter((track) => track.length > 0)
        chunks.push(ready[picks[i % picks.length]! % ready.length]!.shift()!)
      }
      return chunks
    }),
  )
const finish: Chunk = { type: 'finish', reason: 'stop', native: 'stop' }

for (const one of writers) {
  test(`${one.name}: whatever order words and calls come in, one item is done before the next begins, and nothing is lost`, () => {
    fc.assert(
      fc.property(interleaved, (chunks) => {
        const stream = written(one.writer(), [{ type: 'start', id: 'x', model: 'm' }, ...chunks, finish])
        checkOneAtATime(one, stream)
        assert.deepEqual(said(fold(readAll(one.reader(), Buffer.from(stream)))), said(fold(chunks)))
      }),
      { numRuns: 500 },
    )
  })

  test(`${one.name}: two calls that a vendor writes by turns reach the client one after the other, the first as it comes`, () => {
    const frame = (delta: Json, finish_reason: string | null = null) =>
      `data: ${JSON.stringify({ id: 'x', model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
    const called = (index: number, id: string | undefined, text: string) =>
      frame({
        tool_calls: [
          { index, ...(id && { id, type: 'function' }), function: { ...(id && { name: id }), arguments: text } },
        ],
      })
    const frames = [
      called(0, 'one', '{"a":'),
      called(1, 'two', '{"b":'),
      called(1, undefined, '2'),
      called(0, undefined, '1'),
      called(0, undefined, '}'),
      called(1, undefined, '}'),
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
    assert.deepEqual(said(fold(readAll(one.reader(), Buffer.from(stream)))).calls, [
      ['one', 'one', '{"a":1}'],
      ['two', 'two', '{"b":2}'],
    ])
  })

  test(`${one.name}: a stream that breaks off hands out no half call as a whole one`, () => {
    const stream = written(one.writer(), [
      { type: 'start', id: 'x', model: 'm' },
      { type: 'tool_call_start', id: 'one', name: 'pay' },
      { type: 'tool_call_delta', id: 'one', delta: '{"usd":1' },
      { type: 'tool_call_start', id: 'two', name: 'pay' },
      { type: 'error', error: { kind: 'server_error', message: 'gone' } },
    ])
    assert.doesNotMatch(stream, /arguments\.done|output_item\.done|content_block_stop|"completed"/)
  })
}

test('a later call may have been told in any number of pieces, and of ten thousand calls each has its end', () => {
  const order = new OneAtATime()
  order.push({ type: 'tool_call_start', id: 'first', name: 'f' })
  order.push({ type: 'tool_call_start', id: 'later', name: 'f' })
  for (let i = 0; i < 300_000; i++) order.push({ type: 'tool_call_delta', id: 'later', delta: 'x' })
  const [end, start, joined, ...more] = order.push({ type: 'tool_call_end', id: 'first' })
  assert.deepEqual([end!.type, start!.type, more.length], ['tool_call_end', 'tool_call_start', 0])
  // Joined to one piece: when its turn comes, all of it is written at once.
  assert.equal(joined?.type === 'tool_call_delta' && joined.delta.length, 300_000)
  const many = new OneAtATime()
  for (let i = 0; i < 10_000; i++) many.push({ type: 'tool_call_start', id: `call_${i}`, name: 'f' })
  assert.equal(many.rest().filter(({ type }) => type === 'tool_call_end').length, 10_000)
})
