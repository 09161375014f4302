// Thorough: run by the merge check, or by name.
// Sherpa-onnx and a daemon, each in a process of its own.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import OpenAI from 'openai'
import { install } from '#daemon/engines/sherpa/install.ts'
import { type DaemonProcess, daemonProcess, engineFolder } from '#test/local-inference/daemon.ts'
import { type Shelf, shelf } from '#test/local-inference/shelf.ts'
import { needs } from '#test/needs.ts'
import { type Person, testServer } from '#test/server.ts'
import { tinyGguf } from '#test/local-inference/tiny-gguf.ts'
import { tinySpeechArchive, toneWave } from '#test/local-inference/tiny-onnx.ts'
import { until } from '#test/until.ts'

const server = await testServer()
const alice = await server.person('Alice')
const archive = await tinySpeechArchive()
const packed = spawnSync('bzip2', ['-c'], { input: gunzipSync(archive.bytes) })
const stack = new AsyncDisposableStack()
let files: Shelf
let box: DaemonProcess
let bob: Person

before(async () => {
  await install(engineFolder, new AbortController().signal)
  const strange = await tinySpeechArchive({ 'model.int8.onnx': 'not a model' })
  files = stack.use(
    await shelf({
      '/tiny-speech.tar.gz': archive.bytes,
      '/packed.tar.bz2': packed.stdout,
      '/cut.tar.gz': archive.bytes.subarray(0, archive.bytes.length / 2),
      '/strange.tar.gz': strange.bytes,
      '/text.gguf': tinyGguf().bytes,
    }),
  )
  box = stack.use(await daemonProcess(server.origin, alice, { words: ['--engine-fetch-allow', files.host] }))
  bob = await server.person('Bob')
})

after(async () => {
  await stack.disposeAsync()
  await server[Symbol.asyncDispose]()
})

const local = (path = '') => `/computers/${box.id}/local-inference${path}`
const installed = async (name: string) => {
  const begun = await alice.post(local('/models'), { source: { url: `${files.origin}/${name}` } })
  assert.equal(begun.status, 202, begun.text)
  const { body } = await until(
    () => alice.get(`/operations/${begun.body.data.id}/await?timeout_seconds=5`),
    (answer) => !['queued', 'running'].includes(answer.body.data.status),
  )
  return body.data
}
const openai = async (person: Person) =>
  new OpenAI({ apiKey: (await person.key()).key, baseURL: `${server.origin}/compat-a/v1`, maxRetries: 0 })
const wave = (tones: readonly number[]) => new File([new Uint8Array(toneWave(tones))], 'said.wav')
const sound = (tones: readonly number[]) => ({
  kind: 'base64',
  data: toneWave(tones).toString('base64'),
  media_type: 'audio/wav',
})
const written = async (tones: readonly number[], more: object = {}) => {
  const answer = await alice.post('/inference/transcriptions', {
    model: 'local/tiny-speech',
    audio: sound(tones),
    ...more,
  })
  assert.equal(answer.status, 200, answer.text)
  return answer.body.data
}

test('a speech model is installed from its release archive and listed with its capabilities', async () => {
  const done = await installed('tiny-speech.tar.gz')
  assert.equal(done.status, 'succeeded', JSON.stringify(done.error))
  const { name, engine, status, digest, quantization } = done.result
  assert.deepEqual(
    [name, engine, status, digest, quantization],
    ['tiny-speech', 'sherpa', 'ready', `sha256:${archive.sha256}`, 'INT8'],
  )
  const { data } = (await alice.get('/audio/models?kind=transcription')).body
  assert.ok(
    data.some(({ slug }: { slug: string }) => slug === 'local/tiny-speech'),
    JSON.stringify(data),
  )
})

test('a model packed with bzip2 can be installed too', needs(packed.status === 0, 'bzip2'), async () => {
  const { status, result, error } = await installed('packed.tar.bz2')
  assert.deepEqual([status, result?.name, result?.size_bytes > 0], ['succeeded', 'packed', true], JSON.stringify(error))
})

test('speech longer than the model’s window is transcribed on the user’s computer at no cost', async () => {
  const { text, duration_seconds, words } = await written([300, 0, 3000, 0, 300, 0], { timestamps: 'word' })
  assert.equal(text, 'low high low')
  assert.equal(duration_seconds, 3)
  assert.equal(words.length, 3)
  const [first, second] = words
  assert.ok(first.start_seconds < 1 && second.start_seconds > 0.9 && second.start_seconds < 2, JSON.stringify(words))

  const minute = Array.from({ length: 30 }, () => [300, 0, 3000, 0]).flat()
  const long = await written(minute)
  assert.equal(long.text, Array.from({ length: 30 }, () => 'low high').join(' '))
  assert.equal(long.segments.length, 3)
  assert.ok(long.segments[1].start_seconds > 18 && long.segments[1].start_seconds < 30)
})

test('OpenAI’s SDK can use the model by form upload, and other users can’t', async () => {
  const said = await (
    await openai(alice)
  ).audio.transcriptions.create({
    model: 'local/tiny-speech',
    file: wave([3000, 0, 300]),
    response_format: 'json',
  })
  assert.equal(said.text, 'high low')
  await assert.rejects(
    (await openai(bob)).audio.transcriptions.create({ model: 'local/tiny-speech', file: wave([300]) }),
    { status: 404 },
  )
  const asked = await bob.post('/inference/transcriptions', { model: 'local/tiny-speech', audio: sound([300]) })
  assert.deepEqual([asked.status, asked.body.error.code], [503, 'no_route'])
  assert.match(asked.body.error.message, /Install sherpa-onnx/)
})

test('a text model rejects audio, and a speech model rejects chats', async () => {
  assert.equal((await installed('text.gguf')).status, 'succeeded')
  const read = await alice.post('/inference/transcriptions', { model: 'local/text', audio: sound([300]) })
  assert.deepEqual([read.status, read.body.error.code], [400, 'unsupported_model'])
  const talk = await alice.post('/inference/text', {
    model: 'local/tiny-speech',
    messages: [{ role: 'user', content: 'Hello' }],
  })
  assert.equal(talk.status, 400, talk.text)
  assert.match(talk.body.error.message, /supports only transcription/)
})

test('a truncated archive, or one without a known model, leaves no files', async () => {
  for (const name of ['cut.tar.gz', 'strange.tar.gz']) {
    const { status, error } = await installed(name)
    assert.deepEqual([status, error.code, error.param], ['failed', 'invalid_parameter', 'source'])
  }
  const kept = readdirSync(`${box.folder}/local/models`).toSorted()
  assert.deepEqual(kept, [
    ...(packed.status === 0 ? ['packed.json', 'packed.speech'] : []),
    'text.gguf',
    'text.json',
    'tiny-speech.json',
    'tiny-speech.speech',
  ])
  assert.deepEqual(readdirSync(`${box.folder}/local/models/tiny-speech.speech`).toSorted(), [
    'model.int8.onnx',
    'tokens.txt',
  ])
})

test('a killed engine restarts for the next call, and its memory can be freed', async () => {
  const pid = () =>
    readdirSync('/proc').find((name) => {
      if (!/^\d+$/.test(name)) return false
      try {
        const words = readFileSync(`/proc/${name}/cmdline`, 'latin1')
        return words.includes('engines/main.ts\0sherpa') && words.includes(engineFolder)
      } catch {
        return false
      }
    })
  const running = Number(await until(async () => pid(), Boolean))
  process.kill(running, 'SIGKILL')
  await until(async () => pid() !== String(running), Boolean)
  assert.equal((await written([300])).text, 'low')
  const { loaded } = (await alice.post(local(), { action: 'status' })).body.data
  assert.ok(loaded.includes('tiny-speech'))
  assert.deepEqual((await alice.post(local(), { action: 'unload', model: 'tiny-speech' })).body.data.loaded, [])
  assert.equal((await written([3000])).text, 'high')
})
