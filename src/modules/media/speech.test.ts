import assert from 'node:assert/strict'
import { test } from 'node:test'
import { studio } from '#test/media/studio.ts'
import { ended } from '#test/operations/ended.ts'

const { alice, vendor } = await studio()

test('without a model, the built-in voice speaks and the file is saved in the drive', async () => {
  const answer = await alice.post('/inference/speech', { input: 'Good morning to all of you.' })
  assert.equal(answer.status, 200, answer.text)
  const { data } = answer.body
  assert.deepEqual([data.kind, data.model, data.cost_usd, data.simulated], ['speech', 'local/flite', 0, false])
  const [file] = data.files
  assert.deepEqual([file.name, file.mime_type], ['Good morning to all of you.mp3', 'audio/mpeg'])
  assert.ok(file.duration_seconds > 1 && file.duration_seconds < 5, String(file.duration_seconds))
  assert.deepEqual([data.usage.characters, file.width], [27, null])
})

test('provider speech is billed per character and returned in the requested format', async () => {
  for (const format of ['mp3', 'wav', 'pcm']) {
    const answer = await alice.post('/inference/speech', {
      model: 'studio/tts-1',
      input: 'Hello',
      voice: 'nova',
      format,
      name: `hello ${format}`,
    })
    assert.equal(answer.status, 200, answer.text)
    const { data } = answer.body
    assert.deepEqual([data.files[0].name, data.cost_usd], [`hello ${format}.${format}`, 0.000075])
    assert.ok(data.files[0].duration_seconds > 0)
  }
})

test('speech is transcribed from a drive file or a form, with subtitles, and in the background', async () => {
  const speechResponse = await alice.post('/inference/speech', {
    model: 'sim/speech',
    input: 'One. Two. Three.',
    format: 'wav',
  })
  assert.equal(speechResponse.status, 200, speechResponse.text)
  const [file] = speechResponse.body.data.files
  const audio = { kind: 'file', file_id: file.id }
  vendor.script({ media: { text: 'One. Two. Three.' } })
  const answer = await alice.post('/inference/transcriptions', {
    model: 'studio/whisper-1',
    audio,
    timestamps: 'word',
    subtitles: 'vtt',
  })
  assert.equal(answer.status, 200, answer.text)
  const { data } = answer.body
  assert.equal(data.text, 'One. Two. Three.')
  assert.deepEqual(data.files, [])
  assert.ok(data.words.length >= 3 && data.segments.length >= 1)
  assert.match(data.subtitles, /^WEBVTT\n\n00:00:00\.000 --> /)
  assert.ok(data.cost_usd > 0 && data.usage.audio_seconds > 0)

  const bytes = Buffer.from(await (await fetch(file.url)).arrayBuffer())
  const form = new FormData()
  form.append('model', 'sim/transcription')
  form.append('speakers', 'true')
  form.append('provider_options', '{"a":1}')
  form.append('file', new Blob([bytes], { type: 'text/plain' }), 'words.txt')
  const whole = new Response(form)
  const response = await alice.request('POST', '/inference/transcriptions', new Uint8Array(await whole.arrayBuffer()), {
    'content-type': whole.headers.get('content-type')!,
  })
  assert.equal(response.status, 200, response.text)
  assert.deepEqual([response.body.data.simulated, response.body.data.subtitles], [true, null])

  const operationResponse = await alice.post('/inference/transcriptions', {
    model: 'sim/transcription',
    audio,
    background: true,
  })
  assert.equal(operationResponse.status, 202, operationResponse.text)
  const operation = await ended(alice, operationResponse.body.data.id)
  assert.deepEqual([operation.status, operation.resource], ['succeeded', null], JSON.stringify(operation.error))
  const content = await alice.get(`/operations/${operation.id}/content`)
  assert.deepEqual([content.status, content.text], [200, operation.result.text])
})

test('invalid and missing audio are refused with their field', async () => {
  const wrong = await alice.post('/inference/transcriptions', {
    model: 'sim/transcription',
    audio: { kind: 'base64', media_type: 'audio/wav', data: Buffer.from('{"no": "sound"}').toString('base64') },
  })
  assert.deepEqual([wrong.status, wrong.body.error.param], [400, 'audio'])
  const none = await alice.post('/inference/transcriptions', { model: 'sim/transcription' })
  assert.deepEqual([none.status, none.body.error.code, none.body.error.param], [400, 'missing_parameter', 'audio'])
})
