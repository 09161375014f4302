import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import sharp from 'sharp'
import { openaiFor, studioServer } from '#test/media/studio.ts'
import type { Person, TestServer } from '#test/server.ts'
import type { MediaVendor } from '#test/vendors/media/jobs/jobs.ts'
import { measure, picture } from '#test/vendors/media/made/picture.ts'
import { secondsOf, sound, soundIn } from '#test/vendors/media/made/sound.ts'
import { exits } from '../exit.ts'
import { run } from '../run.ts'
import type { Terminal } from '../terminal.ts'

let server: TestServer
let alice: Person
let key: string
let vendor: MediaVendor
const folder = await mkdtemp(join(tmpdir(), 'uk-media-'))
const at = (name: string): string => join(folder, name)

before(async () => {
  server = await studioServer()
  alice = await server.person('Alice')
  key = (await alice.key()).key
  vendor = await openaiFor(alice)
})
after(async () => {
  await server?.[Symbol.asyncDispose]()
  await vendor?.[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

interface Ran {
  code: number
  out: Buffer
  err: string
}

/** Runs `uk` with alice's key in a terminal of the given type; `answers`: its reply to the query. */
async function uk(
  words: readonly string[],
  { env = {}, answers = '', ...more }: Partial<Terminal> & { answers?: string } = {},
): Promise<Ran> {
  const parts: Buffer[] = []
  let err = ''
  const code = await run(words, {
    out: async (text) => void parts.push(Buffer.from(text)),
    err: (text) => void (err += `${text}\n`),
    interactive: false,
    canAsk: false,
    columns: 80,
    env: { UK_ORIGIN: server.origin, UK_KEY: key, ...env },
    style: (_, text) => text,
    query: async () => answers,
    onInterrupt: () => () => {},
    ...more,
  })
  return { code, out: Buffer.concat(parts), err }
}

const images = ['inference', 'images', '--prompt', 'A red boat', '--size', '64x48']

test('alice generates and saves images: the extension sets the format, and several are numbered', async () => {
  const model = ['--model', 'studio/gpt-image-2']
  const boats = ['inference', 'images', ...model, '--prompt', 'Two boats', '--n', '2', '--size', '1024x1024']
  const { code, out, err } = await uk([...boats, '-o', at('boats.jpg')])
  assert.equal(code, 0, err)
  assert.match(out.toString(), /^Generated\/Two boats\.jpg\nGenerated\/Two boats \(2\)\.jpg\n$/)
  assert.match(
    err,
    /studio\/gpt-image-2 · \$0\.08\nSaved .*boats\.jpg \(1024 × 1024, \d+ bytes\)\nSaved .*boats-2\.jpg \(1024 × 1024.*\)\n/,
  )
  for (const name of ['boats.jpg', 'boats-2.jpg'])
    assert.equal((await sharp(await readFile(at(name))).metadata()).format, 'jpeg')
  assert.equal(vendor.requests.findLast(({ method }) => method === 'POST')?.json()['output_format'], 'jpeg')
})

test('a local image or a drive image can be edited', async () => {
  await writeFile(at('boat.png'), (await picture('64x64')).bytes)
  const edit = ['inference', 'images', '--model', 'studio/gpt-image-2', '--prompt', 'Blue']
  const first = await uk([...edit, '--images', at('boat.png'), '--json'])
  assert.equal(first.code, 0, first.err)
  assert.equal(vendor.requests.findLast(({ method }) => method === 'POST')?.path, '/v1/images/edits')
  const [{ id }] = JSON.parse(first.out.toString()).data.files
  assert.equal((await uk([...edit, '--images', id, '--images', at('boat.png')])).code, 0)
  assert.equal(
    vendor.requests
      .at(-1)
      ?.body.toString('latin1')
      .match(/ name="image/g)?.length,
    2,
  )
  const missing = await uk([...edit, '--images', at('none.png')])
  assert.equal(missing.code, exits.usage[0])
  assert.match(missing.err, /--images: can't read .*none\.png/)
})

test('speech goes to a file or a pipe, in the format of its extension', async () => {
  const speech = ['inference', 'speech', '--input', 'Hello from this machine.']
  const saved = await uk([...speech, '--model', 'studio/tts-1', '-o', at('hello.wav')])
  assert.equal(saved.code, 0, saved.err)
  assert.ok(secondsOf(await readFile(at('hello.wav'))) > 1)
  assert.match(saved.err, /Saved .* \(1\.6 s, \d+ bytes\)/)
  const piped = await uk([...speech, '--model', 'sim/speech', '--format', 'wav', '-o', '-'])
  assert.equal(piped.out.toString('latin1', 0, 4), 'RIFF')
  assert.match(piped.err, /simulated/)
  const wrong = await uk([...speech, '--model', 'sim/speech', '-o', at('none/hello.mp3')])
  assert.equal(wrong.code, exits.usage[0])
})

test('a local recording is transcribed as text or subtitles', async () => {
  await writeFile(at('sound.wav'), sound(4, 'wav').bytes)
  vendor.script({ media: { text: 'One two. Three four.' } }, { media: { text: 'One two. Three four.' } })
  const listen = ['inference', 'transcriptions', '--model', 'studio/whisper-1', '--file', at('sound.wav')]
  const plain = await uk(listen)
  assert.equal(plain.code, 0, plain.err)
  assert.equal(plain.out.toString(), 'One two. Three four.\n')
  const subtitles = await uk([...listen, '-o', at('words.srt')])
  assert.equal(subtitles.code, 0, subtitles.err)
  assert.match(await readFile(at('words.srt'), 'utf8'), /^1\n00:00:00,000 --> 00:00:02,000\nOne two\.\n/)
})

test('a video shows its progress and is saved; a failed one saves nothing', async () => {
  const film = [
    'inference',
    'videos',
    '--model',
    'sim/video',
    '--prompt',
    'A boat',
    '--seconds',
    '1',
    '--size',
    '64x48',
  ]
  const { code, out, err } = await uk([...film, '-o', at('boat.mp4')])
  assert.equal(code, 0, err)
  assert.match(err, /^(queued|running)/)
  assert.match(err, /Saved .* \(64 × 48, 1 s, \d+ bytes\)/)
  assert.match(out.toString(), /^Generated\/A boat\.mp4\n$/)
  assert.equal((await readFile(at('boat.mp4'))).toString('latin1', 4, 8), 'ftyp')
  vendor.script({ on: 'POST /v1/videos', status: 400, code: 'moderation_blocked', message: 'Blocked.' })
  const refused = ['inference', 'videos', '--model', 'studio/sora-2', '--prompt', 'A boat', '--seconds', '4']
  const failed = await uk([...refused, '-o', at('none.mp4')])
  assert.equal(failed.code, exits.failure[0], failed.err + failed.out.toString())
  assert.match(failed.out.toString(), /content_refused|refused/)
  await assert.rejects(readFile(at('none.mp4')), { code: 'ENOENT' })
})

test('a key without operation access gets the commands to follow a video', async () => {
  const { key: narrow } = await alice.key({ scopes: ['inference:run'] })
  const film = ['inference', 'videos', '--model', 'sim/video', '--prompt', 'A boat', '-o', at('narrow.mp4')]
  const { code, err } = await uk(film, { env: { UK_KEY: narrow } })
  assert.equal(code, exits.auth[0])
  assert.match(err, /Still running\. Check it: `uk operations get [0-9A-Z]{26}`[^]*operation:read/)
})

test('speech is written while it is generated, to a file or a pipe', async () => {
  const speech = ['inference', 'speech-stream', '--model', 'sim/speech', '--input', 'One. Two.']
  const saved = await uk([...speech, '-o', at('count.mp3')])
  assert.equal(saved.code, 0, saved.err)
  const bytes = await readFile(at('count.mp3'))
  assert.equal(soundIn(bytes), 'mp3')
  assert.match(saved.err, new RegExp(`\\(${bytes.length} bytes\\)`))
  const piped = await uk([...speech, '--format', 'mp3', '-o', '-'])
  assert.deepEqual(piped.out, bytes)
})

test('images are shown in the protocol of the terminal, or not at all', async () => {
  const draw = async (env: Record<string, string>, answers = '', interactive = true): Promise<string> => {
    const { code, out, err } = await uk([...images, '--model', 'sim/image'], { env, answers, interactive })
    assert.equal(code, 0, err)
    return out.toString('latin1')
  }
  const kitty = await draw({ TERM: 'xterm-kitty' })
  const pieces = kitty.split('\x1b_G').slice(1)
  assert.match(pieces[0]!, /^a=T,f=100,q=2,c=8,m=[01];/)
  const sent = Buffer.from(pieces.map((piece) => piece.split(';')[1]!.split('\x1b')[0]).join(''), 'base64')
  const seen = await measure(sent)
  assert.deepEqual([seen?.width, seen?.height], [64, 48])
  assert.match(await draw({ TERM_PROGRAM: 'iTerm.app' }), /]1337;File=inline=1;size=\d+;width=8;[^:]*:[\w+/=]{99,}/)
  assert.match(await draw({}, '\x1b_Gi=31;OK\x1b\\\x1b[?62;c'), /_Ga=T/)
  assert.match(await draw({}, '\x1b[?62;4;22c'), /P0;1q"1;1;64;48#/)
  for (const plain of [
    await draw({}, '\x1b[?62;22c'),
    await draw({}),
    await draw({ TERM: 'xterm-kitty', TMUX: '/tmp/tmux' }),
    await draw({ TERM: 'xterm-kitty' }, '', false),
  ])
    assert.ok(!plain.includes('\x1b'), plain)
})

test('with --json the response is unchanged, and -o also saves the file', async () => {
  const { code, out, err } = await uk([...images, '--model', 'sim/image', '--json', '-o', at('boat.webp')], {
    interactive: true,
    env: { TERM: 'xterm-kitty' },
  })
  assert.equal(code, 0, err)
  const { data } = JSON.parse(out.toString())
  assert.equal(data.files[0].mime_type, 'image/webp')
  assert.equal((await readFile(at('boat.webp'))).length, data.files[0].size_bytes)
})
