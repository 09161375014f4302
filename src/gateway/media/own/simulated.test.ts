import assert from 'node:assert/strict'
import { test } from 'node:test'
import sharp from 'sharp'
import { imageRequest, videoRequest } from '#test/media/requests.ts'
import type {
  Deferred,
  Immediate,
  ImageRequest,
  MediaInput,
  MediaWire,
  TranscriptionRequest,
  VideoRequest,
} from '../adapter.ts'
import { simulatedMedia } from './simulated.ts'

const wire: MediaWire = {
  signal: new AbortController().signal,
  ask: () => Promise.reject(new Error('nobody is asked')),
  download: () => {
    throw new Error('nothing is fetched')
  },
}
const image = imageRequest({ model: 'image', prompt: 'a hill' })
const video = videoRequest({ model: 'video', prompt: 'a hill', seconds: 1 })
const input = (words: string): MediaInput => ({
  kind: 'audio',
  type: 'audio/wav',
  extension: 'wav',
  sizeBytes: words.length,
  width: 300,
  height: 200,
  durationSeconds: 6,
  name: 'sound.wav',
  async *read() {
    yield Buffer.from(words)
  },
})

async function drawn(more: Partial<ImageRequest>): Promise<{ files: Buffer[]; losses: readonly string[] }> {
  const delivered = await (simulatedMedia.image as Immediate<ImageRequest>).run(wire, { ...image, ...more })
  assert.ok(delivered.kind === 'files')
  const files = await Promise.all(delivered.files.map(async ({ bytes }) => Buffer.concat(await Array.fromAsync(bytes))))
  assert.deepEqual(delivered.units, { images: files.length })
  return { files, losses: delivered.losses }
}
const sizeOf = async (more: Partial<ImageRequest>): Promise<string> => {
  const { width, height, format } = await sharp((await drawn(more)).files[0]).metadata()
  return `${width}x${height} ${format}`
}

test('pictures have the size, ratio, number and format asked; equal requests have equal ones, others others', async () => {
  assert.equal(await sizeOf({}), '1024x1024 png')
  assert.equal(await sizeOf({ size: { width: 640, height: 31 }, outputFormat: 'webp' }), '640x31 webp')
  assert.equal(await sizeOf({ aspectRatio: '16:9' }), '1365x768 png')
  assert.equal(await sizeOf({ images: [input('a picture')], outputFormat: 'jpeg' }), '300x200 jpeg')
  const size = { width: 64, height: 64 }
  const { files } = await drawn({ size, n: 3 })
  assert.equal(new Set(files.map((file) => file.toString('base64'))).size, 3)
  assert.deepEqual((await drawn({ size, n: 3 })).files, files)
  const others: Partial<ImageRequest>[] = [
    { prompt: 'a hole' },
    { seed: 7 },
    { images: [input('a')] },
    { images: [input('b')] },
    { mask: input('a') },
  ]
  const drawings = await Promise.all(others.map(async (more) => (await drawn({ size, ...more })).files[0]!))
  assert.equal(new Set([files[0]!, ...drawings].map((file) => file.toString('base64'))).size, 6)
})

test('fields that make no difference are named, and a picture that cannot be drawn is refused by its field', async () => {
  const size = { width: 64, height: 64 }
  const more = { size, quality: 'high', images: [input('a')], mask: input('b'), transparent: true }
  assert.deepEqual((await drawn(more)).losses, ['quality', 'images', 'mask'])
  assert.deepEqual((await drawn({ size, transparent: true, outputFormat: 'jpeg' })).losses, ['transparent'])
  await assert.rejects(drawn({ size: { width: 5_000, height: 10 } }), { code: 'invalid_parameter', param: 'size' })
  await assert.rejects(drawn({ aspectRatio: '99:1' }), { code: 'invalid_parameter', param: 'aspect_ratio' })
  const { submit } = simulatedMedia.video as Deferred<VideoRequest>
  await assert.rejects(submit(wire, { ...video, resolution: '4k' }), { code: 'invalid_parameter', param: 'resolution' })
  await assert.rejects(submit(wire, { ...video, size: { width: 4_000, height: 2 } }), { param: 'size' })
})

test('a video is a job that survives as JSON; its result is the same whoever asks for it', async () => {
  const { submit, poll } = simulatedMedia.video as Deferred<VideoRequest>
  for (const [more, width, height] of [
    [{ resolution: '360p' }, 640, 360],
    [{ resolution: '360p', aspectRatio: '9:16' }, 360, 640],
    [{ size: { width: 101, height: 50 } }, 102, 50],
  ] as const) {
    const { job } = await submit(wire, { ...video, ...more })
    assert.deepEqual([job['width'], job['height'], job['seconds']], [width, height, 1])
    const results = await Promise.all(
      [job, JSON.parse(JSON.stringify(job)) as typeof job].map(async (kept) => {
        const polled = await poll(wire, kept)
        assert.ok(polled.status === 'done' && polled.delivered.kind === 'files')
        return Buffer.concat(await Array.fromAsync(polled.delivered.files[0]!.bytes))
      }),
    )
    assert.deepEqual(results[1], results[0])
    assert.equal(results[0]!.toString('latin1', 4, 8), 'ftyp')
  }
  const { losses } = await submit(wire, { ...video, audio: true, seconds: 600, firstFrame: input('a') })
  assert.deepEqual(losses, ['audio', 'image', 'seconds'])
})

test('a transcript says that it is simulated, fills the time of its sound, and has what was asked for', async () => {
  const ask: TranscriptionRequest = {
    kind: 'transcription',
    model: 'transcription',
    providerOptions: {},
    sound: input('sound'),
    language: null,
    prompt: null,
    timestamps: 'word',
    speakers: true,
  }
  const { run } = simulatedMedia.transcription as Immediate<TranscriptionRequest>
  const delivered = await run(wire, ask)
  assert.ok(delivered.kind === 'transcript')
  const { text, segments, words, durationSeconds } = delivered.transcript
  assert.match(text, /^This is simulated: \w/)
  assert.equal(segments.map((segment) => segment.text).join(' '), text)
  assert.deepEqual([durationSeconds, words!.at(-1)!.endSeconds, segments[0]!.speaker], [6, 6, 'speaker_1'])
  assert.deepEqual(delivered.units, { audioSeconds: 6 })
  const plain = await run(wire, { ...ask, timestamps: 'none', speakers: false })
  assert.ok(plain.kind === 'transcript' && plain.transcript.words === null && plain.transcript.segments.length === 0)
})
