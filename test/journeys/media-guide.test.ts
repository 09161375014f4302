// Thorough: run by the merge check, or by name.
/** The guide on media as a person works through it: its commands are run as they stand, with `BASE` and `KEY`. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryDir } from '#test/program.ts'
import { testServer } from '#test/server.ts'
import { formatOf } from '#test/vendors/media/made/picture.ts'
import { soundIn, wav } from '#test/vendors/media/made/sound.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')
const guide = readFileSync(join(root, 'docs/guides/media.md'), 'utf8')
/** Each command, with the lines that it goes on in. */
const commands = [...guide.matchAll(/^```sh\n([^]*?)^```$/gm)].flatMap(([, code]) =>
  code!.trim().split(/\n(?=curl |uk )/),
)

test('every command of the media guide works as described on an unconfigured server', async () => {
  await using server = await testServer()
  using home = temporaryDir('media-guide-')
  const alice = await server.person('Alice')
  const { key } = await alice.key({ scopes: ['inference:run', 'model:read', 'operation:read'] })
  writeFileSync(join(home.path, 'recording.wav'), wav(2))
  const path = `${join(root, 'bin')}:${process.env.PATH}`
  const own = { PATH: path, HOME: home.path, UK_ORIGIN: server.origin, UK_KEY: key }
  const env = { ...process.env, ...own, BASE: `${server.origin}/v1`, KEY: key }
  const answers = new Map<string, string>()
  for (const command of commands) {
    const { stdout } = await run('sh', ['-c', command], { env, cwd: home.path, maxBuffer: 64 << 20 })
    answers.set(/\$BASE(\/[^"?]*)/.exec(command)?.[1] ?? command, stdout)
  }
  const answer = (path: string) => JSON.parse(answers.get(path)!)
  const slugs = (rows: { slug: string }[]): string[] => rows.map(({ slug }) => slug)
  assert.deepEqual(slugs(answer('/images/models').data), ['sim/image'])
  assert.deepEqual(slugs(answer('/videos/models/search').items), ['sim/video'])
  assert.ok(slugs(answer('/audio/models/search').items).includes('local/flite'))
  assert.ok(slugs(answer('/audio/voices').data).includes('local/slt'))

  const [picture] = answer('/inference/images').data.files
  assert.deepEqual([picture.name, picture.width, picture.height], ['a lighthouse at dawn.png', 640, 480])
  const said = answer('/inference/speech').data
  assert.deepEqual([said.model, said.files[0].name, said.simulated], ['local/flite', 'fox.wav', false])
  assert.match(answers.get('/inference/speech/stream')!, /event: audio\.delta[^]*event: audio\.completed/)
  assert.match(answer('/inference/transcriptions').data.subtitles, /^1\n00:00:00,000 --> /)
  const saved = (name: string): Buffer => readFileSync(join(home.path, name))
  assert.deepEqual(
    ['lighthouse.png', 'night.webp'].map((name) => formatOf(saved(name))),
    ['png', 'webp'],
  )
  assert.deepEqual([soundIn(saved('fox.mp3')), soundIn(saved('count.mp3'))], ['mp3', 'mp3'])
  assert.equal(saved('film.mp4').toString('latin1', 4, 8), 'ftyp')
  assert.match(saved('fox.srt').toString(), /^1\n00:00:00,000 --> /)
  assert.ok(answers.get(commands.find((one) => one.endsWith('--file fox.mp3'))!)!.length > 1)

  const { id, kind } = answer('/inference/videos').data
  assert.equal(kind, 'inference.videos')
  const { data } = (await alice.get(`/operations/${id}/await?timeout_seconds=60&since_status=queued`)).body
  const { status, result } =
    data.status === 'running'
      ? (await alice.get(`/operations/${id}/await?timeout_seconds=60&since_status=running`)).body.data
      : data
  assert.deepEqual([status, result.files[0].width, result.usage.video_seconds], ['succeeded', 320, 2])
})
