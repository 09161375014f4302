import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { deflateSync } from 'node:zlib'
import sharp from 'sharp'
import { waveHead } from '../convert/wave.ts'
import { drawPicture } from '../simulated/picture.ts'
import { drawVideo } from '../simulated/video.ts'
import { createMediaProbe } from './probe.ts'

const scene = { width: 320, height: 200, words: 'a house by a lake' }
const wave = (seconds: number, rate = 16_000): Buffer =>
  Buffer.concat([waveHead(rate, seconds * rate * 2), Buffer.alloc(seconds * rate * 2, 7)])

async function probing() {
  const folder = await mkdtemp(join(tmpdir(), 'uk-probe-'))
  const probe = createMediaProbe()
  let count = 0
  const store = async (bytes: Uint8Array): Promise<string> => {
    const path = join(folder, `${count++}.bin`)
    await writeFile(path, bytes)
    return path
  }
  return {
    facts: async (bytes: Uint8Array) => probe.facts('alice', await store(bytes)),
    bare: async (bytes: Uint8Array) => probe.bare('alice', await store(bytes)),
    why: async (bytes: Uint8Array) =>
      probe.facts('alice', await store(bytes)).then(
        (facts) => assert.fail(`read as ${JSON.stringify(facts)}`),
        (error: { reason: string; message: string }) => `${error.reason}: ${error.message}`,
      ),
    async [Symbol.asyncDispose]() {
      await probe[Symbol.asyncDispose]()
      await rm(folder, { recursive: true })
    },
  }
}

test('images, audio and video are recognized by their bytes: kind, type, size and length', async () => {
  await using probe = await probing()
  for (const [format, type, extension] of [
    ['png', 'image/png', 'png'],
    ['jpeg', 'image/jpeg', 'jpg'],
    ['webp', 'image/webp', 'webp'],
  ] as const) {
    const bytes = await drawPicture({ ...scene, format, transparent: false })
    assert.deepEqual(await probe.facts(bytes), {
      kind: 'image',
      type,
      extension,
      sizeBytes: bytes.length,
      width: 320,
      height: 200,
      durationSeconds: null,
    })
  }
  const video = await drawVideo({ ...scene, seconds: 1.5, fps: 24 })
  assert.deepEqual(await probe.facts(video), {
    kind: 'video',
    type: 'video/mp4',
    extension: 'mp4',
    sizeBytes: video.length,
    width: 320,
    height: 200,
    durationSeconds: 1.5,
  })
  const sound = await probe.facts(wave(2))
  assert.deepEqual([sound.kind, sound.type, sound.extension, sound.durationSeconds], ['audio', 'audio/wav', 'wav', 2])
})

test('a rotated camera image has its displayed size', async () => {
  await using probe = await probing()
  const lying = await sharp({ create: { width: 300, height: 200, channels: 3, background: '#369' } })
    .jpeg()
    .withMetadata({ orientation: 6 })
    .toBuffer()
  const { width, height } = await probe.facts(lying)
  assert.deepEqual([width, height], [200, 300])
})

test('empty, foreign, truncated and damaged files get specific errors', async () => {
  await using probe = await probing()
  const png = await drawPicture({ ...scene, format: 'png', transparent: false })
  const jpeg = await drawPicture({ ...scene, format: 'jpeg', transparent: false })
  const video = Buffer.from(await drawVideo({ ...scene, seconds: 1, fps: 10 }))
  assert.match(await probe.why(Buffer.alloc(0)), /^empty: It’s empty/)
  assert.match(await probe.why(Buffer.from('<!DOCTYPE html><title>Expired</title>')), /^other_kind: It’s a web page/)
  assert.match(await probe.why(Buffer.from('{"error": "not found"}')), /^other_kind: It’s JSON/)
  assert.match(await probe.why(Buffer.from('#EXTM3U\n#EXTINF:1\nhttp://10.0.0.1/secret.ts\n')), /^other_kind:/)
  assert.match(await probe.why(Buffer.from('%PDF-1.7\n%âãÏÓ\n')), /^other_kind: It’s application\/pdf/)
  assert.match(await probe.why(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')), /^other_kind:/)
  assert.match(await probe.why(png.subarray(0, png.length / 2)), /^damaged: It’s damaged or incomplete/)
  assert.match(await probe.why(jpeg.subarray(0, jpeg.length / 2)), /^damaged: It’s damaged or incomplete/)
  assert.match(await probe.why(video.subarray(0, video.length / 2)), /^damaged: .*damaged or incomplete/)
  assert.match(await probe.why(wave(2).subarray(0, 40_000)), /^damaged: It’s incomplete: 24044 bytes/)
  // The start of an MP4 without its index.
  const headOnly = video.subarray(0, video.readUInt32BE(0))
  assert.match(await probe.why(Buffer.concat([headOnly, Buffer.alloc(5_000)])), /^damaged:/)
})

test('a streamed WAV file claiming two gigabytes has the length of its samples', async () => {
  await using probe = await probing()
  const bytes = wave(3)
  bytes.writeUInt32LE(0x7fff_f000, 40)
  const { durationSeconds } = await probe.facts(bytes)
  assert.equal(durationSeconds, 3)
})

test('excessive dimensions and durations are refused without decoding', async () => {
  await using probe = await probing()
  assert.match(await probe.why(hugePng(12_000, 12_000)), /^too_large: It has 12000 × 12000 pixels/)
  const video = Buffer.from(await drawVideo({ ...scene, seconds: 1, fps: 10 }))
  // stts has one entry for all frames; a frame now lasts for years.
  const at = video.indexOf('stts')
  video.writeUInt32BE(0xffff_ffff, at + 16)
  assert.match(await probe.why(video), /^(too_large: Its duration is|damaged)/)
})

test('a stripped image has no location and looks the same', async () => {
  await using probe = await probing()
  const photo = await sharp({ create: { width: 60, height: 40, channels: 3, background: '#a52' } })
    .jpeg()
    .withMetadata({
      orientation: 6,
      exif: {
        IFD0: { Make: 'Secret Camera', Copyright: 'Carol' },
        IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '51/1 30/1 0/1' },
      },
    })
    .toBuffer()
  assert.ok(photo.includes('Secret Camera'))
  const { bytes, facts } = await probe.bare(photo)
  const metadata = await sharp(bytes).metadata()
  assert.equal(Buffer.from(bytes).includes('Secret Camera'), false)
  assert.equal(metadata.orientation, 6)
  assert.deepEqual([facts.width, facts.height, facts.sizeBytes], [40, 60, bytes.length])
  assert.deepEqual(await sharp(bytes).raw().toBuffer(), await sharp(photo).raw().toBuffer())
  for (const format of ['png', 'webp'] as const) {
    const picture = await sharp(photo)
      .toFormat(format)
      .withExif({ IFD0: { Make: 'Secret Camera' } })
      .toBuffer()
    assert.ok(picture.includes('Secret Camera'), format)
    const result = await probe.bare(picture)
    assert.equal(Buffer.from(result.bytes).includes('Secret Camera'), false, format)
    assert.deepEqual(await sharp(result.bytes).raw().toBuffer(), await sharp(picture).raw().toBuffer(), format)
  }
  const tiff = await sharp(photo)
    .tiff()
    .withExif({ IFD0: { Make: 'Secret Camera' } })
    .toBuffer()
  const asPng = await probe.bare(tiff)
  assert.equal(asPng.facts.type, 'image/png')
  assert.equal(Buffer.from(asPng.bytes).includes('Secret Camera'), false)
})

/** A single-color PNG with few bytes, mostly unwritten. */
function hugePng(width: number, height: number): Buffer {
  const chunk = (name: string, content: Buffer): Buffer => {
    const head = Buffer.alloc(8)
    head.writeUInt32BE(content.length)
    head.write(name, 4, 'latin1')
    return Buffer.concat([head, content, Buffer.alloc(4)])
  }
  const size = Buffer.alloc(13)
  size.writeUInt32BE(width)
  size.writeUInt32BE(height, 4)
  size[8] = 8
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([
    signature,
    chunk('IHDR', size),
    chunk('IDAT', deflateSync(Buffer.alloc(1_000))),
    chunk('IEND', Buffer.alloc(0)),
  ])
}
