import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BodyPieces } from './body-pieces.ts'

const MIB = 1 << 20

function body(size: number): Buffer {
  const bytes = Buffer.alloc(size)
  for (let at = 0; at + 4 <= size; at += 4) bytes.writeUInt32LE(at, at)
  return bytes
}

test('a body is complete however its pieces arrive and for any maximum', () => {
  for (const size of [0, 1, 65_536, MIB - 1, MIB, MIB + 1, 4 * MIB, 4 * MIB + 1, 9 * MIB + 7, 32 * MIB])
    for (const pieceSize of [65_536, 300_001, 5 * MIB])
      for (const most of [size, 32 * MIB]) {
        const bytes = body(size)
        const pieces = new BodyPieces(most)
        for (let at = 0; at < size; at += pieceSize) pieces.add(bytes.subarray(at, at + pieceSize))
        assert.ok(pieces.join().equals(bytes), `${size} in pieces of ${pieceSize}, of ${most} at most`)
      }
})

test('announcing a large body and sending little allocates little', () => {
  const pieces = new BodyPieces(32 * MIB)
  const before = process.memoryUsage().arrayBuffers
  for (let n = 0; n < 7; n++) pieces.add(Buffer.alloc(MIB))
  assert.ok(process.memoryUsage().arrayBuffers - before < 8 * MIB)
})

test('a dropped body frees its memory', () => {
  const pieces = new BodyPieces(2 * MIB)
  pieces.add(Buffer.alloc(2 * MIB))
  pieces.clear()
  assert.equal(pieces.join().length, 0)
})
