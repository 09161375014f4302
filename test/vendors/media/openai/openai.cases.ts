import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import OpenAI, { BadRequestError, NotFoundError, RateLimitError, toFile } from 'openai'
import sharp from 'sharp'
import type { Vendor } from '../../vendor.ts'
import { formatOf, picture } from '../made/picture.ts'
import { secondsOf, sound, soundIn } from '../made/sound.ts'
import { openaiMedia } from './openai.ts'

const client = (vendor: Vendor) =>
  new OpenAI({ apiKey: vendor.key, baseURL: `${vendor.origin}/v1`, maxRetries: 0, logLevel: 'off' })

async function sizeOf(base64: string | undefined): Promise<string> {
  const { width, height } = await sharp(Buffer.from(base64 ?? '', 'base64')).metadata()
  return `${width}x${height}`
}

describe('openai 7.55: images', () => {
  test('several at once, with a size and their cost', async () => {
    await using vendor = await openaiMedia()
    vendor.script({ usage: { input: 7, output: 100 } })
    const answer = await client(vendor).images.generate({
      model: 'gpt-image-2',
      prompt: 'A cat',
      n: 2,
      size: '1536x864',
      output_format: 'jpeg',
      quality: 'low',
    })
    assert.equal(answer.data?.length, 2)
    const file = Buffer.from(answer.data?.[0]?.b64_json ?? '', 'base64')
    assert.equal(formatOf(file), 'jpeg')
    assert.equal(await sizeOf(answer.data?.[1]?.b64_json), '1536x864')
    assert.deepEqual([answer.size, answer.quality, answer.output_format], ['1536x864', 'low', 'jpeg'])
    assert.equal(answer.usage?.total_tokens, 107)
    assert.equal(answer.usage?.input_tokens_details.text_tokens, 7)
  })

  test('a link of an older model, which expires', async () => {
    await using vendor = await openaiMedia()
    const { data } = await client(vendor).images.generate({ model: 'dall-e-3', prompt: 'A cat' })
    const url = data?.[0]?.url ?? ''
    assert.equal(new URL(url).origin, vendor.files?.origin)
    assert.notEqual(vendor.files?.origin, vendor.origin)
    const file = await fetch(url)
    assert.equal(file.headers.get('content-type'), 'image/png')
    assert.equal(formatOf(Buffer.from(await file.arrayBuffer())), 'png')
    vendor.expire()
    assert.equal((await fetch(url)).status, 403)
    assert.equal(vendor.files?.requests.length, 2)
  })

  test('partial images, then the whole one', async () => {
    await using vendor = await openaiMedia()
    const stream = await client(vendor).images.generate({
      model: 'gpt-image-1.5',
      prompt: 'A cat',
      stream: true,
      partial_images: 2,
    })
    const events = await Array.fromAsync(stream)
    assert.deepEqual(
      events.map((event) => event.type),
      ['image_generation.partial_image', 'image_generation.partial_image', 'image_generation.completed'],
    )
    const last = events.at(-1)
    assert.ok(last?.type === 'image_generation.completed')
    assert.equal(await sizeOf(last.b64_json), '1024x1024')
    assert.equal(last.usage.output_tokens, 4_160)
  })

  test('edits of two images with a mask', async () => {
    await using vendor = await openaiMedia()
    const upload = async (transparent: boolean, size = '64x64') =>
      await toFile((await picture(size, { transparent })).bytes, 'a.png', { type: 'image/png' })
    const image = [await upload(false), await upload(false)]
    const request = { model: 'gpt-image-1.5', prompt: 'A hat', image, mask: await upload(true) }
    const answer = await client(vendor).images.edit(request)
    assert.equal(answer.usage?.input_tokens_details.image_tokens, 388)
    const stream = await client(vendor).images.edit({ ...request, stream: true })
    const [event] = await Array.fromAsync(stream)
    assert.equal(event?.type, 'image_edit.completed')
    await assert.rejects(
      client(vendor).images.edit({ ...request, mask: await upload(true, '32x32') }),
      (error: unknown) => error instanceof BadRequestError && error.param === 'mask',
    )
    await assert.rejects(client(vendor).images.edit({ ...request, mask: await upload(false) }), BadRequestError)
    const model = 'gpt-image-2'
    await assert.rejects(client(vendor).images.edit({ ...request, model, input_fidelity: 'high' }), BadRequestError)
  })

  test('moderated requests, and a rate limit with a retry time', async () => {
    await using vendor = await openaiMedia()
    vendor.script({ media: { moderated: true } }, { status: 429, headers: { 'retry-after': '2' } })
    const draw = async () => await client(vendor).images.generate({ model: 'gpt-image-2', prompt: 'A cat' })
    await assert.rejects(
      draw,
      (error: unknown) => error instanceof BadRequestError && error.code === 'moderation_blocked',
    )
    await assert.rejects(
      draw,
      (error: unknown) => error instanceof RateLimitError && error.headers.get('retry-after') === '2',
    )
    assert.deepEqual(
      vendor.submits().map(({ path, at }) => [path, at.length]),
      [['/v1/images/generations', 2]],
    )
  })
})

describe('openai 7.55: audio', () => {
  test('speech in every format, in pieces and as events', async () => {
    await using vendor = await openaiMedia()
    const input = 'Hello from the loopback, which speaks.'
    for (const response_format of ['mp3', 'opus', 'aac', 'flac', 'wav'] as const) {
      const answer = await client(vendor).audio.speech.create({ model: 'tts-1', voice: 'nova', input, response_format })
      assert.equal(answer.headers.get('content-length'), null)
      const bytes = Buffer.from(await answer.arrayBuffer())
      assert.notEqual(soundIn(bytes), undefined, response_format)
      if (response_format === 'wav') assert.ok(Math.abs(secondsOf(bytes) - input.length / 15) < 0.01)
    }
    const events = await client(vendor).audio.speech.create({
      model: 'gpt-4o-mini-tts',
      voice: { id: 'voice_1' },
      input,
      response_format: 'pcm',
      stream_format: 'sse',
    })
    const lines = (await events.text()).split('\n').filter(Boolean)
    const data = lines.map((line) => JSON.parse(line.slice('data: '.length)))
    const bytes = Buffer.concat(data.flatMap(({ audio }) => (audio ? [Buffer.from(audio, 'base64')] : [])))
    assert.equal(bytes.length, 2 * Math.round((input.length / 15) * 24_000))
    assert.equal(data.at(-1).type, 'speech.audio.done')
    assert.ok(data.at(-1).usage.total_tokens > 0)
  })

  test('transcripts in each of the formats', async () => {
    await using vendor = await openaiMedia({ otherwise: { media: { text: 'One two. Three four.' } } })
    const file = await toFile(sound(4, 'wav').bytes, 'a.wav')
    const { transcriptions } = client(vendor).audio
    const model = 'whisper-1'
    const json = await transcriptions.create({ file, model })
    assert.deepEqual([json.text, json.usage], ['One two. Three four.', { type: 'duration', seconds: 4 }])
    const words = await transcriptions.create({
      file,
      model,
      response_format: 'verbose_json',
      timestamp_granularities: ['word'],
    })
    assert.deepEqual(
      [words.duration, words.segments, words.words?.[1]],
      [4, undefined, { word: 'two.', start: 1, end: 2 }],
    )
    const verbose = await transcriptions.create({ file, model, response_format: 'verbose_json' })
    assert.deepEqual(
      verbose.segments?.map(({ start, end }) => [start, end]),
      [
        [0, 2],
        [2, 4],
      ],
    )
    assert.equal(await transcriptions.create({ file, model, response_format: 'text' }), 'One two. Three four.\n')
    assert.match(await transcriptions.create({ file, model, response_format: 'srt' }), /^1\n00:00:00,000 -->/)
    assert.match(await transcriptions.create({ file, model, response_format: 'vtt' }), /^WEBVTT/)
    const tokens = await transcriptions.create({ file, model: 'gpt-4o-transcribe', include: ['logprobs'] })
    assert.equal(tokens.usage?.type, 'tokens')
    assert.ok(tokens.logprobs?.length)
    const wrong = transcriptions.create({ file, model: 'gpt-4o-transcribe', response_format: 'srt' })
    await assert.rejects(
      wrong,
      (error: unknown) => error instanceof BadRequestError && error.param === 'response_format',
    )
    const translation = await client(vendor).audio.translations.create({ file, model, response_format: 'verbose_json' })
    assert.equal('duration' in translation && translation.duration, 4)
  })

  test('a transcript as events, with named speakers', async () => {
    await using vendor = await openaiMedia({ otherwise: { media: { text: 'One two. Three four.' } } })
    const file = await toFile(sound(40, 'mp3').bytes, 'a.mp3')
    const request = {
      file,
      model: 'gpt-4o-transcribe-diarize',
      response_format: 'diarized_json' as const,
      known_speaker_names: ['Alice'],
      known_speaker_references: ['data:audio/wav;base64,AAAA'],
      stream: true as const,
    }
    await assert.rejects(client(vendor).audio.transcriptions.create(request), BadRequestError)
    const stream = await client(vendor).audio.transcriptions.create({ ...request, chunking_strategy: 'auto' })
    const events = await Array.fromAsync(stream)
    const speakers = events.flatMap((event) => (event.type === 'transcript.text.segment' ? [event.speaker] : []))
    assert.deepEqual(speakers, ['Alice', 'B'])
    const text = events.flatMap((event) => (event.type === 'transcript.text.delta' ? [event.delta] : [])).join('')
    assert.equal(text, 'One two. Three four.')
    assert.equal(events.at(-1)?.type, 'transcript.text.done')
  })
})

describe('openai 7.55: videos', () => {
  test('queued, running, done, downloaded, listed, deleted', async () => {
    await using vendor = await openaiMedia()
    vendor.script({ media: { job: { polls: 2 } } })
    const { videos } = client(vendor)
    const reference = await toFile((await picture('1280x720')).bytes, 'a.png', { type: 'image/png' })
    const createdVideo = await videos.create({
      prompt: 'A cat',
      size: '1280x720',
      seconds: '4',
      input_reference: reference,
    })
    assert.equal(createdVideo.status, 'queued')
    await assert.rejects(videos.downloadContent(createdVideo.id), NotFoundError)
    await assert.rejects(videos.delete(createdVideo.id), BadRequestError)
    const polls = [
      await videos.retrieve(createdVideo.id),
      await videos.retrieve(createdVideo.id),
      await videos.retrieve(createdVideo.id),
    ]
    assert.deepEqual(
      polls.map(({ status, progress }) => [status, progress]),
      [
        ['queued', 0],
        ['in_progress', 67],
        ['completed', 100],
      ],
    )
    assert.equal(vendor.jobs[0]?.polled.length, 3)
    const file = await videos.downloadContent(createdVideo.id)
    assert.equal(file.headers.get('content-type'), 'video/mp4')
    assert.equal(Buffer.from(await file.arrayBuffer()).toString('latin1', 4, 8), 'ftyp')
    const thumbnail = await videos.downloadContent(createdVideo.id, { variant: 'thumbnail' })
    assert.equal(formatOf(Buffer.from(await thumbnail.arrayBuffer())), 'webp')
    assert.deepEqual(
      (await Array.fromAsync(videos.list())).map(({ id }) => id),
      [createdVideo.id],
    )
    vendor.expire()
    await assert.rejects(videos.downloadContent(createdVideo.id), NotFoundError)
    assert.equal((await videos.delete(createdVideo.id)).deleted, true)
    await assert.rejects(videos.retrieve(createdVideo.id), NotFoundError)
  })

  test('one ended by moderation, one that fails, one that is never done', async () => {
    await using vendor = await openaiMedia()
    vendor.script(
      { media: { moderated: true, job: { polls: 0 } } },
      { media: { job: { polls: 0, ends: 'failed' } } },
      { media: { job: { polls: Infinity } } },
    )
    const { videos } = client(vendor)
    const make = async () => await videos.retrieve((await videos.create({ prompt: 'A cat' })).id)
    assert.equal((await make()).error?.code, 'moderation_blocked')
    assert.deepEqual(['failed', null], [(await make()).status, null])
    const never = await make()
    for (let n = 0; n < 5; n++) assert.notEqual((await videos.retrieve(never.id)).status, 'completed')
  })
})
