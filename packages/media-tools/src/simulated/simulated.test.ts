import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { needs } from '#test/needs.ts'
import sharp from 'sharp'
import { findProgram } from '../programs.ts'
import { drawPicture, sceneOf } from './picture.ts'
import { SIMULATED_RATE, secondsOf, toneOf } from './sound.ts'
import { simulatedWords } from './transcript.ts'
import { drawVideo } from './video.ts'

const ffmpeg = await findProgram('ffmpeg')
const scene = { width: 640, height: 360, words: 'two boats' }

test('a simulated image has the requested size and format and depends only on its words', async () => {
  for (const format of ['png', 'jpeg', 'webp'] as const) {
    const bytes = await drawPicture({ ...scene, format, transparent: false })
    assert.deepEqual(bytes, await drawPicture({ ...scene, format, transparent: false }), format)
    const { width, height, format: actualFormat } = await sharp(bytes).metadata()
    assert.deepEqual([width, height, actualFormat], [640, 360, format])
    assert.notDeepEqual(bytes, await drawPicture({ ...scene, format, transparent: false, words: 'one boat' }), format)
  }
  const clear = await sharp(await drawPicture({ ...scene, format: 'png', transparent: true }))
    .raw()
    .toBuffer()
  assert.equal(clear[3], 0, 'no sky')
})

test('the label of an image is drawn as lines without fonts and stands out from its background', async () => {
  const svg = sceneOf({ ...scene, transparent: false })
  assert.doesNotMatch(svg, /<text|font/)
  const [with_, without] = await Promise.all(
    [svg, svg.replaceAll(/<g [\s\S]*?<\/g>/g, '')].map((words) =>
      sharp(Buffer.from(words)).removeAlpha().raw().toBuffer(),
    ),
  )
  let white = 0
  for (let i = 0; i < with_!.length; i += 3)
    if (with_![i]! + with_![i + 1]! + with_![i + 2]! > 750 && without![i]! + without![i + 1]! + without![i + 2]! < 740)
      white++
  assert.ok(white > 2_000, `${white} white pixels`)
})

test(
  'a simulated video is deterministic and decodes to the requested frames with an image and a growing bar',
  {
    ...needs(ffmpeg !== null, 'ffmpeg'),
  },
  async () => {
    const video = await drawVideo({ ...scene, height: 358, seconds: 2, fps: 12 })
    assert.deepEqual(video, await drawVideo({ ...scene, height: 358, seconds: 2, fps: 12 }))
    const folder = await mkdtemp(join(tmpdir(), 'uk-simulated-'))
    try {
      await writeFile(join(folder, 'video.mp4'), video)
      const raw = execFileSync(
        ffmpeg!,
        ['-v', 'error', '-xerror', '-i', join(folder, 'video.mp4'), '-f', 'rawvideo', '-pix_fmt', 'rgb24', 'pipe:1'],
        { maxBuffer: 1 << 30 },
      )
      const frame = 640 * 358 * 3
      assert.equal(raw.length, 24 * frame)
      const still = await sharp(await drawPicture({ ...scene, height: 358, format: 'png', transparent: false }))
        .removeAlpha()
        .raw()
        .toBuffer()
      let off = 0
      for (let i = 0; i < 300 * 640 * 3; i++) off += Math.abs(raw[23 * frame + i]! - still[i]!)
      assert.ok(off / (300 * 640 * 3) < 4, `${off / (300 * 640 * 3)} levels off on average`)
      const bar = (index: number): number => {
        let white = 0
        for (let x = 0; x < 640; x++) if (raw[(index + 1) * frame - 640 * 3 + x * 3]! > 250) white++
        return white
      }
      assert.ok(bar(0) < 100 && bar(12) > 250 && bar(23) === 640, `${bar(0)}, ${bar(12)}, ${bar(23)}`)
    } finally {
      await rm(folder, { recursive: true })
    }
  },
)

test('simulated sound is audible and as long as its text takes', async () => {
  const parts: Uint8Array[] = []
  for await (const part of toneOf('hello', 1.25)) parts.push(part)
  const sound = Buffer.concat(parts)
  assert.equal(sound.length, 1.25 * SIMULATED_RATE * 2)
  const samples = new Int16Array(sound.buffer, sound.byteOffset, sound.length / 2)
  assert.ok(samples.some((sample) => sample > 5_000) && samples.every((sample) => Math.abs(sample) <= 8_000))
  assert.equal(secondsOf('x'.repeat(150), 1), 10)
  assert.equal(secondsOf('x'.repeat(150), 2), 5)
})

test('simulated words start with a notice and fill the time without gaps', () => {
  const segments = simulatedWords('abc', 10)
  const words = segments.flat()
  assert.equal(
    words
      .map(({ text }) => text)
      .join(' ')
      .indexOf('This is simulated:'),
    0,
  )
  assert.deepEqual(simulatedWords('abc', 10), segments)
  assert.notDeepEqual(simulatedWords('abd', 10), segments)
  assert.deepEqual([words[0]!.startSeconds, words.at(-1)!.endSeconds], [0, 10])
  for (const [i, word] of words.entries()) if (i > 0) assert.equal(word.startSeconds, words[i - 1]!.endSeconds)
})
