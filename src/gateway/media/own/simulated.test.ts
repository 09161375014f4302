import assert from 'node:assert/strict'
import { test } from 'node:test'
import sharp from 'sharp'
import { imageRequest, videoRequest } from '#test/media/requests.ts'
import type {
  DeferredMaker,
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

async function generate(more: Partial<ImageRequest>): Promise<{ files: Buffer[]; losses: readonly string[] }> {
  const result = await (simulatedMedia.image as Immediate<ImageRequest>).run(wire, { ...image, ...more })
  assert.ok(result.kind === 'files')
  const files = await Promise.all(result.files.map(async ({ bytes }) => Buffer.concat(await Array.fromAsync(bytes))))
  assert.deepEqual(result.units, { images: files.length })
  return { files, losses: result.losses }
}
const sizeOf = async (more: Partial<ImageRequest>): Promise<string> => {
  const { width, height, format } = await sharp((await generate(more)).files[0]).metadata()
  return `${width}x${height} ${format}`
}

test('images have the requested size, ratio, number, and format; equal requests return equal ones', async () => {
  assert.equal(await sizeOf({}), '1024x1024 png')
  assert.equal(await sizeOf({ size: { width: 640, height: 31 }, outputFormat: 'webp' }), '640x31 webp')
  assert.equal(await sizeOf({ aspectRatio: '16:9' }), '1365x768 png')
  assert.equal(await sizeOf({ images: [input('a picture')], outputFormat: 'jpeg' }), '300x200 jpeg')
  const size = { width: 64, height: 64 }
  const { files } = await generate({ size, n: 3 })
  assert.equal(new Set(files.map((file) => file.toString('base64'))).size, 3)
  assert.deepEqual((await generate({ size, n: 3 })).files, files)
  const others: Partial<ImageRequest>[] = [
    { prompt: 'a hole' },
    { seed: 7 },
    { images: [input('a')] },
    { images: [input('b')] },
    { mask: input('a') },
  ]
  const drawings = await Promise.all(others.map(async (more) => (await generate({ size, ...more })).files[0]!))
  assert.equal(new Set([files[0]!, ...drawings].map((file) => file.toString('base64'))).size, 6)
})

test('fields without effect are named, and an impossible image is refused with its field', async () => {
  const size = { width: 64, height: 64 }
  const more = { size, quality: 'high', images: [input('a')], mask: input('b'), transparent: true }
  assert.deepEqual((await generate(more)).losses, ['quality', 'images', 'mask'])
  assert.deepEqual((await generate({ size, transparent: true, outputFormat: 'jpeg' })).losses, ['transparent'])
  await assert.rejects(generate({ size: { width: 5_000, height: 10 } }), { code: 'invalid_parameter', param: 'size' })
  await assert.rejects(generate({ aspectRatio: '99:1' }), { code: 'invalid_parameter', param: 'aspect_ratio' })
  const { submit } = simulatedMedia.video as DeferredMaker<VideoRequest>
  await assert.rejects(submit(wire, { ...video, resolution: '4k' }), { code: 'invalid_parameter', param: 'resolution' })
  await assert.rejects(submit(wire, { ...video, size: { width: 4_000, height: 2 } }), { param: 'size' })
})

test('a video is a job that survives as JSON; its result is the same for every reader', async () => {
  const { submit, poll } = simulatedMedia.video as DeferredMaker<VideoRequest>
  for (const [more, width, height] of [
    [{ resolution: '360p' }, 640, 360],
    [{ resolution: '360p', aspectRatio: '9:16' }, 360, 640],
    [{ size: { width: 101, height: 50 } }, 102, 50],
  ] as const) {
    const { job } = await submit(wire, { ...video, ...more })
    assert.deepEqual([job['width'], job['height'], job['seconds']], [width, height, 1])
    const results = await Promise.all(
      [job, JSON.parse(JSON.stringify(job)) as typeof job].map(async (stored) => {
        const pollResult = await poll(wire, stored)
        assert.ok(pollResult.status === 'done' && pollResult.delivered.kind === 'files')
        return Buffer.concat(await Array.fromAsync(pollResult.delivered.files[0]!.bytes))
      }),
    )
    assert.deepEqual(results[1], results[0])
    assert.equal(results[0]!.toString('latin1', 4, 8), 'ftyp')
  }
  const { losses } = await submit(wire, { ...video, audio: true, seconds: 600, firstFrame: input('a') })
  assert.deepEqual(losses, ['audio', 'image', 'seconds'])
})

test('a transcript says that it is simulated, covers the length of its audio, and has the requested parts', async () => {
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
  const result = await run(wire, ask)
  assert.ok(result.kind === 'transcript')
  const { text, segments, words, durationSeconds } = result.transcript
  assert.match(text, /^This is simulated: \w/)
  assert.equal(segments.map((segment) => segment.text).join(' '), text)
  assert.deepEqual([durationSeconds, words!.at(-1)!.endSeconds, segments[0]!.speaker], [6, 6, 'speaker_1'])
  assert.deepEqual(result.units, { audioSeconds: 6 })
  const plain = await run(wire, { ...ask, timestamps: 'none', speakers: false })
  assert.ok(plain.kind === 'transcript' && plain.transcript.words === null && plain.transcript.segments.length === 0)
})
