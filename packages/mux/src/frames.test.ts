import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  FRAME,
  HEAD_BYTES,
  LARGEST_FRAME,
  LARGEST_JSON,
  Violation,
  decodeFrame,
  encodeFrame,
  readJson,
} from './frames.ts'
import { unprefix } from './over-socket.ts'

test('a frame decodes to what was encoded, at any safe-integer offset', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 7 }),
      fc.integer({ min: 1, max: 2 ** 32 - 1 }),
      fc.maxSafeNat(),
      fc.uint8Array({ maxLength: 100 }),
      (channel, stream, offset, bytes) => {
        const frame = decodeFrame(encodeFrame(FRAME.data, channel, stream, offset, bytes))
        assert.deepEqual(
          { ...frame, payload: [...frame.payload] },
          {
            type: FRAME.data,
            flags: channel,
            stream,
            offset,
            payload: [...bytes],
          },
        )
      },
    ),
  )
})

test('any bytes decode to a frame or a violation', () => {
  const nothingOr = <T>(arbitrary: fc.Arbitrary<T>, nothing: T) => fc.oneof(fc.constant(nothing), arbitrary)
  const head = fc.tuple(
    fc.nat(10),
    nothingOr(fc.nat(255), 0),
    nothingOr(fc.nat(2 ** 32 - 1), 0),
    nothingOr(fc.maxSafeNat(), 0),
    fc.uint8Array({ maxLength: 300 }),
  )
  // Kinds of frames that there are, and others.
  const framed = head.map(([type, ...rest]) => encodeFrame(type as never, ...rest))
  const truncated = fc.tuple(framed, fc.nat(400)).map(([bytes, at]) => bytes.subarray(0, at))
  const noise = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes))
  let frames = 0
  fc.assert(
    fc.property(fc.oneof(framed, truncated, noise), (bytes) => {
      try {
        const frame = decodeFrame(bytes)
        frames++
        assert.ok(Number.isSafeInteger(frame.offset))
        assert.ok((frame.stream === 0) === [FRAME.hello, FRAME.ping, FRAME.pong].some((type) => type === frame.type))
      } catch (error) {
        assert.ok(error instanceof Violation, String(error))
      }
    }),
    { numRuns: 2_000 },
  )
  assert.ok(frames > 50, `${frames} were frames`)
})

test('JSON that is too large, incomplete or not an object is a violation', () => {
  const large = Buffer.from(JSON.stringify({ a: 'x'.repeat(LARGEST_JSON) }))
  assert.throws(() => decodeFrame(encodeFrame(FRAME.open, 0, 2, 0, large)), Violation)
  for (const text of ['', '{', '[]', 'null', '"x"', '1'])
    assert.throws(() => readJson(Buffer.from(text)), Violation, text)
  assert.throws(() => readJson(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])), Violation)
})

test('frames are reassembled from a socket however its bytes are split', () => {
  const frames = fc.array(fc.uint8Array({ minLength: 1, maxLength: 200 }), { maxLength: 12 })
  fc.assert(
    fc.property(frames, fc.array(fc.nat(1_000), { maxLength: 20 }), (sent, sizes) => {
      const bytes = Buffer.concat(
        sent.flatMap((frame) => {
          const length = Buffer.alloc(4)
          length.writeUInt32BE(frame.length)
          return [length, Buffer.from(frame)]
        }),
      )
      const frames: number[][] = []
      const receive = unprefix((frame) => frames.push([...frame]))
      for (let at = 0, i = 0; at < bytes.length; i++) {
        const size = (sizes[i % Math.max(sizes.length, 1)] ?? 7) + 1
        assert.ok(receive(bytes.subarray(at, at + size)))
        at += size
      }
      assert.deepEqual(
        frames,
        sent.map((frame) => [...frame]),
      )
    }),
  )
  for (const length of [0, LARGEST_FRAME + 1, 2 ** 32 - 1]) {
    const bytes = Buffer.alloc(4 + HEAD_BYTES)
    bytes.writeUInt32BE(length)
    assert.equal(unprefix(() => assert.fail())(bytes), false)
  }
})
