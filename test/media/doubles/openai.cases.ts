import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adapterOf } from '#gateway/media/vendors/every-adapter.ts'
import { picture } from '#test/vendors/media/made/picture.ts'
import { wav } from '#test/vendors/media/made/sound.ts'
import { openaiMedia } from '#test/vendors/media/openai/openai.ts'
import { done, made, read, submitted } from '../run.ts'
import { imageRequest, speechRequest, transcriptionRequest, videoRequest } from '../requests.ts'
import { endpointAt, inputOf, wireTo } from '../wire.ts'

test('the loopback OpenAI takes every request of its adapter', async () => {
  await using vendor = await openaiMedia()
  const endpoint = endpointAt(`${vendor.origin}/v1`, 'openai-chat', { preset: 'openai', apiKey: vendor.key })
  const { image, speech, transcription, video } = adapterOf(endpoint)
  await using wire = wireTo(endpoint)
  const fox = await picture('1024x1024', { words: 'fox' })
  const png = inputOf(fox.bytes, 'image/png', 'fox.png')
  const square = { width: 1024, height: 1024 }
  for (const request of [
    imageRequest({
      model: 'gpt-image-1.5',
      n: 2,
      size: square,
      quality: 'low',
      transparent: true,
      outputFormat: 'png',
    }),
    imageRequest({ model: 'gpt-image-2', images: [png], outputFormat: 'webp' }),
    imageRequest({ model: 'gpt-image-2', images: [png, png] }),
    imageRequest({ model: 'dall-e-3', size: square, quality: 'hd' }),
  ]) {
    const { files, units } = await read(await made(image, wire, request))
    assert.equal(files?.length, request.n)
    assert.ok(files.every(({ text }) => text.length > 100))
    assert.equal(units.images, request.n)
  }
  for (const format of ['mp3', 'wav', 'opus', 'aac', 'flac', 'pcm'] as const)
    for (const model of ['gpt-4o-mini-tts', 'tts-1']) {
      const request = speechRequest({ model, format, speed: 1.5, instructions: 'softly' })
      const spoken = await read(await made(speech, wire, request))
      assert.ok(spoken.text!.length > 0, `${model} ${format}`)
      assert.equal((spoken.units.outputTokens ?? 0) > 0, model === 'gpt-4o-mini-tts')
    }
  const sound = inputOf(wav(3), 'audio/wav', 'talk.wav')
  for (const model of ['whisper-1', 'gpt-4o-transcribe', 'gpt-4o-transcribe-diarize'])
    for (const timestamps of ['none', 'segment', 'word'] as const) {
      const request = transcriptionRequest(sound, {
        model,
        timestamps,
        speakers: true,
        language: 'en-GB',
        prompt: 'names',
      })
      const { transcript, units } = await read(await made(transcription, wire, request))
      assert.ok(transcript!.text.length > 0)
      assert.ok(Object.keys(units).length > 0, model)
      if (model === 'whisper-1' && timestamps === 'word') assert.ok(transcript!.words!.length > 0)
      if (model === 'gpt-4o-transcribe-diarize')
        assert.ok(transcript!.segments.every(({ speaker }) => speaker !== null))
    }
  const asked = videoRequest({ model: 'sora-2', seconds: 4, size: { width: 720, height: 1280 } })
  const job = await submitted(video, wire, asked)
  let polled = await job.poll()
  while (polled.status === 'pending') polled = await job.poll()
  const film = await done(polled)
  assert.deepEqual([film.units, film.files!.length], [{ videoSeconds: 4 }, 1])
  assert.deepEqual(
    vendor.requests.filter(({ path }) => path.includes(vendor.key)),
    [],
  )
})
