import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import OpenAI, { toFile } from 'openai'
import sharp from 'sharp'
import { sql } from 'kysely'
import { videoShelfSchedules } from '#modules/media/service.ts'
import { type Person, type TestServer, testServer } from '#test/server.ts'
import { PATIENCE_MS, until } from '#test/until.ts'

let server: TestServer
let alice: Person
let bob: Person

before(async () => {
  server = await testServer()
  alice = await server.person('Alice')
  bob = await server.person('Bob')
})
after(() => server[Symbol.asyncDispose]())

const clientOf = async (who: Person, more: { scopes?: string[] } = {}) =>
  new OpenAI({ apiKey: (await who.key(more)).key, baseURL: `${server.origin}/compat-a/v1`, maxRetries: 0 })

const waitForEnd = (openai: OpenAI, id: string) =>
  until(
    () => openai.videos.retrieve(id),
    ({ status }) => status === 'completed' || status === 'failed',
  )

test('the SDK creates, reads, lists and deletes a video of any provider; other users can’t see it', async () => {
  const openai = await clientOf(alice, { scopes: ['gateway:run'] })
  const others = await clientOf(bob)
  const createdVideo = await openai.videos.create({
    model: 'sim/video',
    prompt: 'Waves at night',
    seconds: '2' as never,
    size: '320x240' as never,
  })
  assert.match(createdVideo.id, /^video_/)
  assert.deepEqual(
    [createdVideo.object, createdVideo.model, createdVideo.prompt, createdVideo.seconds],
    ['video', 'sim/video', 'Waves at night', '2'],
  )
  const video = await waitForEnd(openai, createdVideo.id)
  assert.deepEqual([video.status, video.progress, video.size, video.error], ['completed', 100, '320x240', null])
  assert.equal(video.expires_at! - video.completed_at!, 86_400)
  const content = await openai.videos.downloadContent(createdVideo.id)
  assert.equal(content.headers.get('content-type'), 'video/mp4')
  const bytes = Buffer.from(await content.arrayBuffer())
  assert.equal(bytes.toString('latin1', 4, 8), 'ftyp')
  assert.equal(String(bytes.length), content.headers.get('content-length'))

  const png = await sharp({ create: { width: 320, height: 240, channels: 3, background: 'red' } })
    .png()
    .toBuffer()
  const second = await openai.videos.create({
    model: 'sim/video',
    prompt: 'More waves',
    input_reference: await toFile(png, 'first.png', { type: 'image/png' }),
  })
  const page = await openai.videos.list({ limit: 1 })
  assert.deepEqual([page.data.map(({ id }) => id), page.has_more], [[second.id], true])
  const next = await openai.videos.list({ limit: 5, after: second.id })
  assert.deepEqual(
    next.data.map(({ id }) => id),
    [createdVideo.id],
  )

  assert.deepEqual((await others.videos.list()).data, [])
  for (const ask of [
    () => others.videos.retrieve(createdVideo.id),
    () => others.videos.downloadContent(createdVideo.id),
    () => others.videos.delete(createdVideo.id),
    () => openai.videos.retrieve('video_nothing'),
  ])
    await assert.rejects(ask, { status: 404 })

  const files = async () => (await alice.get('/drive/files?recursive=true&limit=100')).body.data
  const operation = createdVideo.id.slice('video_'.length)
  const [file] = (await alice.get(`/operations/${operation}`)).body.data.result.files
  assert.equal((await alice.get(`/drive/files/${file.id}`)).status, 200, JSON.stringify(await files()))
  assert.deepEqual(await openai.videos.delete(createdVideo.id), {
    id: createdVideo.id,
    object: 'video.deleted',
    deleted: true,
  })
  await assert.rejects(openai.videos.retrieve(createdVideo.id), { status: 404 })
  assert.equal((await alice.get(`/drive/files/${file.id}`)).status, 404)
})

test('an unfinished video can’t be downloaded, unknown fields are refused, and the file is deleted after a day', async () => {
  const openai = await clientOf(alice)
  await assert.rejects(openai.videos.create({ model: 'sim/video', prompt: 'x', loops: 3 } as never), {
    status: 400,
    param: 'loops',
  })
  await assert.rejects(openai.videos.create({ model: 'sim/image', prompt: 'x' }), { status: 400 })
  await assert.rejects(openai.videos.create({ model: 'sim/video', prompt: '' }), { status: 400, param: 'prompt' })
  const createdVideo = await openai.videos.create({ model: 'sim/video', prompt: 'A short day' })
  const video = await waitForEnd(openai, createdVideo.id)
  await assert.rejects(openai.videos.downloadContent(createdVideo.id, { variant: 'thumbnail' }), {
    status: 400,
    param: 'variant',
  })
  const operation = video.id.slice('video_'.length)
  const [file] = (await alice.get(`/operations/${operation}`)).body.data.result.files
  const { engine } = server.app
  const { db } = engine.postgres
  const over = sql`select 1 from media_jobs where operation_id = ${operation} and status = 'over'`
  await until(
    () => over.execute(db),
    ({ rows }) => rows.length === 1,
  )
  await sql`update media_jobs set updated_at = now() - interval '25 hours' where operation_id = ${operation}`.execute(
    db,
  )
  for (const { run } of videoShelfSchedules(engine)) await run({ signal: AbortSignal.timeout(PATIENCE_MS) })
  assert.equal((await alice.get(`/drive/files/${file.id}`)).status, 404)
  await assert.rejects(openai.videos.retrieve(createdVideo.id), { status: 404 })
})
