/** The guide on media as a person works through it: its commands are run as they stand, with `BASE` and `KEY`. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryDir } from '#test/program.ts'
import { testServer } from '#test/server.ts'
import { wav } from '#test/vendors/media/made/sound.ts'

const run = promisify(execFile)
const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/media.md'), 'utf8')
/** Each command, with the lines that it goes on in. */
const commands = [...guide.matchAll(/^```sh\n([^]*?)^```$/gm)].flatMap(([, code]) => code!.trim().split(/\n(?=curl )/))

test('every command of the guide on media does what it says, on a server that nothing was set up on', async () => {
  await using server = await testServer()
  using home = temporaryDir('media-guide-')
  const alice = await server.person('Alice')
  const { key } = await alice.key({ scopes: ['inference:run', 'model:read'] })
  writeFileSync(join(home.path, 'recording.wav'), wav(2))
  const env = { ...process.env, BASE: `${server.origin}/v1`, KEY: key }
  const answers = new Map<string, string>()
  for (const command of commands) {
    const { stdout } = await run('sh', ['-c', command], { env, cwd: home.path, maxBuffer: 64 << 20 })
    answers.set(/\$BASE(\/[^"?]*)/.exec(command)![1]!, stdout)
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
  const { id, kind } = answer('/inference/videos').data
  assert.equal(kind, 'inference.videos')
  const { data } = (await alice.get(`/operations/${id}/await?timeout_seconds=60&since_status=queued`)).body
  const { status, result } =
    data.status === 'running'
      ? (await alice.get(`/operations/${id}/await?timeout_seconds=60&since_status=running`)).body.data
      : data
  assert.deepEqual([status, result.files[0].width, result.usage.video_seconds], ['succeeded', 320, 2])
})
