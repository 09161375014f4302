import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { HeldPipe, errors, heldLink } from '../test/pair.ts'
import { FINISHED, FRAME, type FrameType, LARGEST_DATA, LARGEST_JSON, encodeFrame } from './frames.ts'
import { MAX_STREAMS, Mux } from './mux.ts'
import type { Stream } from './stream.ts'
import { FIRST_WINDOW, FRAME_COST } from './window.ts'

const probe = { op: 'probe', input: {} } as const
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))
const open = (id: number, request: unknown = probe): Buffer => encodeFrame(FRAME.open, 0, id, 0, json(request))
const data = (id: number, size: number, offset = 0, flags = 0): Buffer =>
  encodeFrame(FRAME.data, flags, id, offset, Buffer.alloc(size))
const credit = (id: number, amount: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(amount)
  return encodeFrame(FRAME.credit, 0, id, 0, bytes)
}

/** One end, told what its hostile other end sends. It holds what it is asked and reads nothing. */
function victim(opens: 'even' | 'odd', greeted = true) {
  const pipe = new HeldPipe()
  const streams: Stream[] = []
  const mux = new Mux(pipe, {
    opens,
    errors,
    onHello() {},
    answer: (_asked, stream) => {
      streams.push(stream)
      return new Promise(() => {})
    },
  })
  mux.hello({})
  if (greeted) mux.receive(encodeFrame(FRAME.hello, 0, 0, 0, json({})))
  return { pipe, mux, streams }
}

const violations: Record<string, (mux: Mux) => Buffer[]> = {
  'an unknown type': () => [encodeFrame(10 as FrameType, 0, 2, 0)],
  'a second HELLO': () => [encodeFrame(FRAME.hello, 0, 0, 0, json({}))],
  'a stream of the wrong parity': () => [open(2)],
  'a stream opened twice': () => [open(5), open(3)],
  'JSON over 64 KiB': () => [open(1, { op: 'x', input: 'x'.repeat(LARGEST_JSON) })],
  'an OPEN that is not JSON': () => [encodeFrame(FRAME.open, 0, 1, 0, Buffer.from('{"op"'))],
  'an OPEN without operation': () => [open(1, { input: {} })],
  'bytes of a stream that nobody opened': () => [data(1, 1)],
  'bytes of a stream that we have not opened yet': () => [data(2, 1)],
  'bytes beyond the credit': () => [open(1), data(1, LARGEST_DATA), data(1, 1, LARGEST_DATA)],
  'tiny frames beyond the credit': () => [
    open(1),
    ...Array.from({ length: FIRST_WINDOW / FRAME_COST + 2 }, (_, i) => data(1, 1, i)),
  ],
  'events beyond the credit': () => [
    open(1),
    ...Array.from({ length: FIRST_WINDOW / FRAME_COST + 2 }, () => encodeFrame(FRAME.event, 0, 1, 0, json({}))),
  ],
  'a frame of bytes over 64 KiB': () => [open(1), data(1, LARGEST_DATA + 1)],
  'bytes that go back': () => [open(1), data(1, 10), data(1, 10, 5)],
  'bytes after the last ones': () => [open(1), data(1, 0, 0, FINISHED), data(1, 1)],
  'an end of bytes twice': () => [open(1), data(1, 0, 0, FINISHED), data(1, 0, 0, FINISHED)],
  'credit without measure': () => [open(1), credit(1, 2 ** 31), credit(1, 2 ** 31)],
  'credit of a wrong size': () => [open(1), encodeFrame(FRAME.credit, 0, 1, 0, Buffer.alloc(8))],
  'an END by the end that asked': () => [open(1), encodeFrame(FRAME.end, 0, 1, 0, json({ output: {} }))],
  'an END that says nothing': (mux) => [encodeFrame(FRAME.end, 0, mux.open(probe) && 2, 0, json({}))],
  'too many streams': () => Array.from({ length: MAX_STREAMS + 1 }, (_, i) => open(i * 2 + 1)),
  'flags that are not known': () => [open(1), encodeFrame(FRAME.data, 0x40, 1, 0)],
  'an offset beyond all numbers': () => [open(1), Buffer.concat([data(1, 1).fill(0xff, 6, 14)])],
}

for (const [name, frames] of Object.entries(violations))
  test(`${name}: the link is closed with 4002`, () => {
    const { mux, pipe } = victim('even')
    for (const frame of frames(mux)) mux.receive(frame)
    assert.equal(pipe.closed?.code, 4002)
    assert.equal(mux.streams, 0)
  })

test('nothing is processed before HELLO', () => {
  const { mux, pipe } = victim('even', false)
  mux.receive(open(1))
  assert.equal(pipe.closed?.code, 4002)
})

test('the maximum number of streams and late frames for closed ones do no harm', () => {
  const { mux, pipe } = victim('even')
  for (let i = 0; i < MAX_STREAMS; i++) mux.receive(open(i * 2 + 1))
  mux.receive(encodeFrame(FRAME.reset, 0, 1, 0))
  mux.receive(data(1, 100))
  mux.receive(credit(1, 100))
  mux.receive(encodeFrame(FRAME.event, 0, 1, 0, json({})))
  mux.receive(open(MAX_STREAMS * 2 + 1))
  assert.equal(pipe.closed, null)
  assert.equal(mux.streams, MAX_STREAMS)
})

test('a peer that triggers replies without reading them is closed before much is buffered', () => {
  const { mux, pipe } = victim('even')
  for (let i = 0; i < 2_000_000 && !mux.closed; i++) mux.receive(encodeFrame(FRAME.ping, 0, 0, 1))
  assert.equal(pipe.closed?.code, 4002)
  assert.ok(pipe.bufferedAmount < 9_000_000)
})

/** Malformed frames. */
const junk = fc.oneof(
  fc
    .tuple(
      fc.constantFrom(...Object.values(FRAME)),
      fc.nat(255),
      fc.nat(40),
      fc.oneof(fc.constant(0), fc.maxSafeNat()),
      fc.oneof(fc.json().map(Buffer.from), fc.uint8Array({ maxLength: 50 })),
    )
    .map((args) => encodeFrame(...args)),
  fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)),
)
/** Valid next frames, ignoring size and credit limits. */
const step = fc.oneof(
  {
    weight: 20,
    arbitrary: fc.record({
      does: fc.constantFrom('open', 'data', 'event', 'finish', 'end', 'reset', 'ping'),
      pick: fc.nat(9),
      size: fc.nat(9_000),
    }),
  },
  { weight: 5, arbitrary: fc.record({ does: fc.constant('credit'), pick: fc.nat(9), size: fc.nat(200_000) }) },
  { weight: 1, arbitrary: fc.record({ does: junk, pick: fc.nat(9), size: fc.nat(9) }) },
)

function speaker(theirs: 1 | 2, ours: number[]) {
  const ids: number[] = []
  const offsets = new Map<number, number>()
  const finished = new Set<number>()
  let next: number = theirs
  return ({ does, pick, size }: { does: string | Buffer; pick: number; size: number }): Buffer => {
    if (typeof does !== 'string') return does
    const allIds = [...ids, ...ours]
    if (does === 'open' && ids.length < 10) {
      ids.push(next)
      next += 2
      return open(next - 2)
    }
    const id = allIds[pick % allIds.length]!
    if (does === 'data' && !finished.has(id)) {
      const offset = offsets.get(id) ?? 0
      offsets.set(id, offset + size)
      return data(id, size, offset, pick % 3)
    }
    if (does === 'event') return encodeFrame(FRAME.event, 0, id, 0, json({ size }))
    if (does === 'credit') return credit(id, size)
    if (does === 'finish' && !finished.has(id)) return (finished.add(id), data(id, 0, 0, FINISHED))
    if (does === 'end' && size > 8_000) return encodeFrame(FRAME.end, 0, ours[pick % 2]!, 0, json({ output: {} }))
    if (does === 'reset' && size > 8_000) return encodeFrame(FRAME.reset, pick % 2, id, 0, Buffer.from('left'))
    return encodeFrame(FRAME.ping, 0, 0, size)
  }
}

for (const opens of ['even', 'odd'] as const)
  test(`random frames at the end that opens ${opens} streams keep it alive or close it with 4002, without throwing or buffering much`, async () => {
    let readBytes = 0
    let violated = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 150 }), fc.boolean(), async (steps, reads) => {
        const { mux, pipe, streams } = victim(opens)
        const ours = [mux.open(probe), mux.open(probe)]
        for (const stream of ours) void stream.write(Buffer.alloc(500_000)).catch(() => {})
        const speak = opens === 'even' ? speaker(1, [2, 4]) : speaker(2, [1, 3])
        for (const frameStep of steps) {
          mux.receive(speak(frameStep))
          if (!mux.closed) readBytes++
          if (reads)
            for (const stream of [...streams, ...ours])
              void stream[Symbol.asyncIterator]()
                .next()
                .catch(() => {})
          await Promise.resolve()
        }
        if (mux.closed) violated++
        assert.ok(pipe.closed === null || pipe.closed.code === 4002)
        assert.equal(pipe.closed !== null, mux.closed)
        // Its replies, plus its own two writes within their credit.
        assert.ok(pipe.bufferedAmount < 1_200_000, `${pipe.bufferedAmount}`)
        mux.close(1000, 'done')
      }),
      { numRuns: 300 },
    )
    assert.ok(
      readBytes > 1_500 && violated > 50 && violated < 290,
      `${readBytes} frames were taken, ${violated} ends violated`,
    )
  })

test('random bytes between the frames of a real link close it, and open calls report that', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(junk, { minLength: 1, maxLength: 10 }), fc.nat(5), async (frames, at) => {
      const link = heldLink({
        async daemon(_asked, stream) {
          for await (const item of stream) if (item.type === 'finished') break
          await stream.write(Buffer.alloc(200_000))
          return {}
        },
      })
      const call = link.server.open(probe)
      const writing = call.write(Buffer.alloc(300_000)).then(
        () => call.finish(),
        () => {},
      )
      for (let i = 0; i < at; i++) {
        link.step('toDaemon')
        await new Promise(setImmediate)
        link.step('toServer')
      }
      for (const bytes of frames) link.server.receive(bytes)
      let hasEnded = false
      void (async () => {
        for await (const _ of call);
      })().catch(() => {})
      call.output.then(
        () => (hasEnded = true),
        () => (hasEnded = true),
      )
      await link.settle()
      await writing
      // Forged frames may pass as the daemon's: they can end or delay the call, nothing more.
      if (link.server.closed) assert.ok(hasEnded)
      link.server.lost()
      link.daemon.lost()
      await link.settle()
      assert.ok(hasEnded)
    }),
    { numRuns: 100 },
  )
})
