import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createCapture } from './capture.ts'
import { ByteCollector } from './byte-collector.ts'

test('single bytes are stored compactly', () => {
  const capture = createCapture()
  const ends = createCapture(4_194_304, 'both_ends')
  const byte = Uint8Array.of(97)
  const before = process.memoryUsage()
  for (let i = 0; i < 1_000_000; i++) {
    capture.add('stdout', i, byte)
    ends.add('stderr', i, byte)
  }
  const after = process.memoryUsage()
  const grown = after.rss - before.rss
  assert.ok(grown < 100_000_000, `${grown} bytes for two million`)
  assert.equal(capture.of('stdout', 1_000_000).bytes.length, 1_000_000)
  assert.equal(ends.of('stderr', 1_000_000).bytes.length, 1_000_000)
})

test('gathered bytes equal the input for any chunk sizes', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(5_000), { maxLength: 40 }), (sizes) => {
      const gathered = new ByteCollector()
      const parts = sizes.map((size, i) => Buffer.alloc(size, i))
      for (const part of parts) {
        const frame = Buffer.from(part)
        gathered.add(frame)
        frame.fill(255)
      }
      assert.ok(gathered.bytes().equals(Buffer.concat(parts)))
      assert.equal(gathered.size, Buffer.concat(parts).length)
    }),
  )
})
