import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { createConverter } from '../convert/converter.ts'
import { drawPicture } from '../simulated/picture.ts'
import { SIMULATED_RATE, toneOf } from '../simulated/sound.ts'
import { drawVideo } from '../simulated/video.ts'
import { createMediaProbe } from './probe.ts'
import { UnreadableMedia } from './unreadable.ts'

const scene = { width: 96, height: 64, words: 'a gate' }

async function originals(folder: string): Promise<Buffer[]> {
  await using converter = createConverter({ folder, ffmpeg: null })
  const tone = () => ({ sampleRate: SIMULATED_RATE, bytes: toneOf('a bell', 1) })
  const sounds = await Promise.all(
    (['wav', 'mp3', 'opus'] as const).map(async (format) => {
      const parts = await Array.fromAsync(converter.fromPcm(tone(), format, { account: 'alice' }))
      return Buffer.concat(parts)
    }),
  )
  const pictures = await Promise.all(
    (['png', 'jpeg', 'webp'] as const).map((format) => drawPicture({ ...scene, format, transparent: false })),
  )
  return [
    ...pictures.map((bytes) => Buffer.from(bytes)),
    ...sounds,
    Buffer.from(await drawVideo({ ...scene, seconds: 1, fps: 8 })),
  ]
}

const spoilt = (files: readonly Buffer[]): fc.Arbitrary<Buffer> =>
  fc
    .record({
      file: fc.constantFrom(...files),
      // Mostly in the header, which has sizes and counts.
      changes: fc.array(
        fc.record({ at: fc.double({ min: 0, max: 1, noNaN: true }), byte: fc.constantFrom(0, 1, 0x7f, 0x80, 0xff) }),
        { maxLength: 12 },
      ),
      keep: fc.oneof({ weight: 2, arbitrary: fc.constant(1) }, fc.double({ min: 0, max: 1, noNaN: true })),
    })
    .map(({ file, changes, keep }) => {
      const bytes = Buffer.from(file.subarray(0, Math.floor(file.length * keep)))
      for (const { at, byte } of changes) {
        const place = Math.floor(at ** 4 * bytes.length)
        if (place < bytes.length) bytes[place] = byte
      }
      return bytes
    })

test('any damaged file is read within limits or refused with a message, and the next one is read', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'uk-hostile-'))
  await using probe = createMediaProbe({ timeMs: 10_000 })
  try {
    const files = await originals(folder)
    let [count, read] = [0, 0]
    await fc.assert(
      fc.asyncProperty(spoilt(files), async (bytes) => {
        const path = join(folder, `${count++}`)
        await writeFile(path, bytes)
        try {
          const facts = await probe.facts('alice', path)
          read += 1
          assert.ok((facts.width ?? 1) * (facts.height ?? 1) <= 100_000_000)
          assert.ok(facts.durationSeconds === null || (facts.durationSeconds > 0 && facts.durationSeconds <= 86_400))
          assert.equal(facts.sizeBytes, bytes.length)
        } catch (error) {
          if (!(error instanceof UnreadableMedia)) throw error
          assert.match(error.message, /^It(’s|s)? [^]{5,300}\.$/)
          assert.ok(!error.message.includes(folder), error.message)
          assert.notEqual(error.reason, 'busy')
        } finally {
          await rm(path)
        }
      }),
      { numRuns: 250, endOnFailure: true },
    )
    assert.ok(read > 20, `${read} of ${count} were read`)
    for (const [i, file] of files.entries()) {
      const path = join(folder, `whole-${i}`)
      await writeFile(path, file)
      assert.ok((await probe.facts('alice', path)).sizeBytes > 0)
    }
  } finally {
    await rm(folder, { recursive: true })
  }
})
