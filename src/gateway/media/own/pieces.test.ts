import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Piece, piecesOf } from './pieces.ts'

const RATE = 1_000
const collectPieces = async (sound: Buffer, cuts: readonly number[]): Promise<Piece[]> => {
  async function* parts() {
    let at = 0
    for (const length of cuts) {
      yield sound.subarray(at, at + length)
      at += length
    }
    yield sound.subarray(at)
  }
  return Array.fromAsync(piecesOf({ sampleRate: RATE, bytes: parts() }))
}

test('audio is cut where it is quietest, and nowhere else', async () => {
  // A minute of noise with silence at 25 and at 46 seconds.
  const sound = Buffer.alloc(60 * RATE * 2)
  for (let i = 0; i < sound.length / 2; i++) {
    const second = i / RATE
    const quiet = (second >= 25 && second < 25.5) || (second >= 46 && second < 46.5)
    sound.writeInt16LE(quiet ? 0 : i % 2 === 0 ? 9_000 : -9_000, i * 2)
  }
  const pieces = await collectPieces(sound, [])
  assert.equal(pieces.length, 3)
  assert.ok(pieces[1]!.startSeconds >= 25 && pieces[1]!.startSeconds < 25.5, String(pieces[1]!.startSeconds))
  assert.ok(pieces[2]!.startSeconds >= 46 && pieces[2]!.startSeconds < 46.5, String(pieces[2]!.startSeconds))
})

test('the pieces are complete however the bytes arrive, none is too long for a model, and each knows its position', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 90 * RATE * 2 + 1 }),
      fc.array(fc.integer({ min: 0, max: 30_001 }), { maxLength: 12 }),
      async (bytes, cuts) => {
        const sound = Buffer.alloc(bytes, 3)
        const pieces = await collectPieces(sound, cuts)
        assert.deepEqual(Buffer.concat(pieces.map(({ samples }) => samples)), sound.subarray(0, bytes - (bytes % 2)))
        let at = 0
        for (const { startSeconds, seconds, samples } of pieces) {
          assert.equal(startSeconds, at / RATE)
          assert.ok(seconds <= 28 && seconds === samples.length / 2 / RATE)
          at += samples.length / 2
        }
      },
    ),
    { numRuns: 60 },
  )
})
