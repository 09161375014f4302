import assert from 'node:assert/strict'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { mock, test } from 'node:test'
import { Writer } from './writer.ts'

/** No file has it. */
const OURS = -1

/** A descriptor that takes bytes, apart from one moment at which it is full. */
function fullOnce() {
  const writes: string[] = []
  let full = true
  const { writeSync } = fs
  const written = mock.method(fs, 'writeSync', (descriptor: number, bytes: Buffer) => {
    if (descriptor !== OURS) return writeSync(descriptor, bytes)
    if (full) {
      full = false
      throw Object.assign(new Error('full'), { code: 'EAGAIN' })
    }
    writes.push(bytes.toString())
    return bytes.length
  })
  syncBuiltinESMExports()
  return {
    taken: writes,
    [Symbol.dispose]() {
      written.mock.restore()
      syncBuiltinESMExports()
    },
  }
}

test('writes continue after a full pipe drains', async () => {
  using descriptor = fullOnce()
  const writer = new Writer(OURS)
  writer.write(Buffer.from('one'))
  await writer.written()
  assert.deepEqual([descriptor.taken, writer.waiting], [['one'], 0])
  writer.write(Buffer.from('two'))
  await writer.written()
  assert.deepEqual([descriptor.taken, writer.waiting], [['one', 'two'], 0])
})
