// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { until } from '#test/until.ts'
import sharp from 'sharp'
import { createPictureMaker } from './maker.ts'

/** One color, so that few bytes encode many pixels. */
const plain = (width: number, height: number, more: object = {}): Promise<Buffer> =>
  sharp({ create: { width, height, channels: 4, background: '#369' }, limitInputPixels: false })
    .png({ compressionLevel: 9, ...more })
    .toBuffer()

const draw = async (maker: ReturnType<typeof createPictureMaker>, account: string, bytes: Uint8Array) =>
  maker.draw(account, () => Promise.resolve({ bytes, pixels: 256 }))

/** Status of each child process (proc(5)). */
const children = (): string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/status`, 'utf8')
      } catch {
        return ''
      }
    })
    .filter((status) => new RegExp(`^PPid:\\s+${process.pid}$`, 'm').test(status))

const peak = (): number =>
  Math.max(0, ...children().map((status) => Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024))

test('a small file with many pixels isn’t decoded: plain, interlaced and 16-bit', async () => {
  await using maker = createPictureMaker()
  const pictures = {
    plain: await plain(9_900, 9_900),
    interlaced: await plain(8_000, 8_000, { progressive: true }),
    deep: await sharp({ create: { width: 7_000, height: 7_000, channels: 4, background: '#369' } })
      .toColourspace('rgb16')
      .png({ compressionLevel: 9 })
      .toBuffer(),
  }
  for (const [name, bytes] of Object.entries(pictures)) {
    const outcome = await draw(maker, 'alice', bytes)
    assert.ok('said' in outcome && 'none' in outcome.said, name)
    assert.ok(peak() < 300, `${name} in ${bytes.length} bytes took ${peak()} MB`)
  }
  const photo = await draw(maker, 'alice', await plain(3_000, 2_000))
  assert.ok('said' in photo && 'bytes' in photo.said, JSON.stringify(photo))
})

test('an image that exceeds its memory ends only its process, and the next one works', async () => {
  await using maker = createPictureMaker({ memoryMb: 150, atOnce: 1 })
  const bytes = await plain(3_900, 3_900, { progressive: true })
  assert.deepEqual(await draw(maker, 'alice', bytes), { lost: 'too_large' })
  const next = await draw(maker, 'bob', await plain(10, 10))
  assert.ok('said' in next && 'bytes' in next.said, JSON.stringify(next))
})

test('sixty large images of one account don’t delay another account’s pixel', async () => {
  await using maker = createPictureMaker()
  const noise = await sharp({
    create: {
      width: 2_500,
      height: 2_500,
      channels: 3,
      background: '#fff',
      noise: { type: 'gaussian', mean: 128, sigma: 30 },
    },
  })
    .jpeg()
    .toBuffer()
  const dot = await plain(1, 1)
  // Excludes process startup from the measurement.
  await Promise.all(['carol', 'dave', 'erin'].map((who) => draw(maker, who, dot)))
  let over = 0
  const hers = Promise.allSettled(Array.from({ length: 60 }, () => draw(maker, 'alice', noise).then(() => (over += 1))))
  const pixel = await draw(maker, 'bob', dot)
  assert.ok('said' in pixel && 'bytes' in pixel.said, JSON.stringify(pixel))
  assert.ok(over < 6, `${over} of hers came before`)
  // The remaining images needn't be made.
  await maker[Symbol.asyncDispose]()
  await hers
})

test('an image isn’t blamed when the server or a service manager stops its process', async () => {
  const bytes = await plain(3_900, 3_900, { progressive: true })
  const ends: Record<string, (maker: ReturnType<typeof createPictureMaker>, pid: number) => unknown> = {
    dispose: (maker) => maker[Symbol.asyncDispose](),
    SIGTERM: (_, pid) => process.kill(pid, 'SIGTERM'),
    SIGINT: (_, pid) => process.kill(pid, 'SIGINT'),
    SIGHUP: (_, pid) => process.kill(pid, 'SIGHUP'),
  }
  for (const [how, end] of Object.entries(ends)) {
    await using maker = createPictureMaker()
    const drawing = draw(maker, 'alice', bytes)
    const [child] = await until(
      async () => children().filter((status) => !/^State:\s+Z/m.test(status)),
      (names) => names.length > 0,
    )
    await end(maker, Number(/^Pid:\s+(\d+)/m.exec(child!)![1]))
    assert.deepEqual(await drawing, { lost: 'unsent' }, how)
  }
})
