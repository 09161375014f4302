import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { call, say, script, tools } from '#test/chats/chats.ts'
import { type TestKeeper, startKeeper } from '#test/computers/keeper.ts'
import { type Seat, seatAt } from '#test/computers/seat.ts'
import { type Person, type TestServer, testServer } from '#test/server.ts'
import { exits } from '../../exit.ts'

const program = fileURLToPath(new URL('../../../../../bin/uk', import.meta.url))

const stack = new AsyncDisposableStack()
after(() => stack.disposeAsync())
let server: TestServer
let keeper: TestKeeper
let alice: Person
let env: Record<string, string>
let home: string

before(async () => {
  home = await mkdtemp(join(tmpdir(), 'uk-talk-'))
  stack.defer(() => rm(home, { recursive: true }))
  server = stack.use(await testServer())
  keeper = stack.use(await startKeeper())
  alice = await server.person('Alice')
  const { key } = await alice.key()
  env = { PATH: process.env.PATH!, HOME: home, UK_KEY: key, UK_ORIGIN: server.origin }
})

function uk(words: readonly string[], stdin = ''): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(program, words, { env })
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  child.stdin.on('error', () => {}).end(stdin)
  return new Promise((resolve, reject) => child.on('error', reject).on('close', (code) => resolve({ code, out, err })))
}

/** Runs `uk` in a terminal. */
const seat = (...words: string[]): Promise<Seat> => seatAt(keeper.client, [program, ...words], { env, cwd: home })

test('alice asks, pipes text, continues the chat, sends a file, and filters the answer', async () => {
  const first = await uk(['ask', '-m', 'sim/echo', 'how', 'are', 'you'])
  assert.deepEqual(first, { code: 0, out: 'how are you\n', err: '' })
  const piped = await uk(['ask', '-c', 'Sum', 'it', 'up'], 'a long text\n')
  assert.equal(piped.out, 'a long text\n\nSum it up\n')
  const { data: chats } = (await alice.get('/chats')).body
  assert.deepEqual([chats.length, chats[0].message_count, chats[0].model], [1, 4, 'sim/echo'])

  await writeFile(join(home, 'note.txt'), 'milk')
  assert.equal((await uk(['ask', '-c', '-f', join(home, 'note.txt'), 'What is in it?'])).code, 0)
  const { data: messages } = (await alice.get(`/chats/${chats[0].id}/messages?order=desc`)).body
  const sent = messages.find(({ role }: { role: string }) => role === 'user')
  assert.deepEqual(
    sent.content.map(({ type, name }: { type: string; name?: string }) => name ?? type),
    ['note.txt', 'text'],
  )
  assert.equal((await uk(['ask', '-f', 'nowhere.txt', 'x'])).code, exits.usage[0])

  assert.equal((await uk(['ask', '-q', 'text', 'Hello'])).out, 'Hello\n')
  assert.equal(
    (await uk(['ask', '--jq', '.data | [.model, .run.status] | join(" ")', 'Hello'])).out,
    'sim/echo completed\n',
  )
  const nothing = await uk(['ask'])
  assert.equal(nothing.code, exits.usage[0])
  assert.match(nothing.err, /Missing question/)
})

test('an open pipe is waited for with a note, and late input is included', async () => {
  const child = spawn(program, ['ask', '-m', 'sim/echo', 'Sum it up'], { env })
  const closed = once(child, 'close')
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  const [said] = await once(child.stderr.setEncoding('utf8'), 'data')
  assert.equal(said, "Waiting for input on stdin. If you're not piping anything in, add </dev/null.\n")
  assert.equal(out, '')
  child.stdin.end('a late text\n')
  assert.deepEqual(await closed, [0, null])
  assert.equal(out, 'a late text\n\nSum it up\n')
})

test('a mistyped model leaves no empty chat, and the default model of the user wins over that of the server', async () => {
  const many = async (): Promise<number> => (await alice.get('/chats?limit=100')).body.data.length
  const before = await many()
  const typo = await uk(['ask', '-m', 'sim/ehco', 'x'])
  assert.equal(typo.code, exits.not_found[0])
  assert.match(typo.err, /Did you mean `sim\/echo`/)
  assert.equal(await many(), before)

  await using other = await server.twin({ UK_DEFAULT_MODEL: 'sim/script' })
  const here = { UK_ORIGIN: other.origin }
  const asked = async () => {
    const child = spawn(program, ['ask', '-q', 'model', script(say('played'))], {
      env: { ...env, ...here },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    return Buffer.concat(await Array.fromAsync(child.stdout as AsyncIterable<Buffer>)).toString()
  }
  assert.equal(await asked(), 'sim/script\n')
  await alice.patch('/settings', { default_model: 'sim/echo' })
  assert.equal(await asked(), 'sim/echo\n')
  await alice.patch('/settings', { default_model: null })
})

const played = script([call('drive_list')], [say('Looked.')])

test('a run that waits for approval sets its own exit code in scripts and prompts in a terminal', async () => {
  const tooled = { name: 'Clerk', model: 'sim/script', system_prompt: 'x', tools: tools({ 'drive.list': 'ask' }) }
  assert.equal((await alice.post('/agents', tooled)).status, 201)
  const waits = await uk(['ask', '-a', 'Clerk', played])
  assert.equal(waits.code, exits.undecided[0])
  assert.match(waits.err, /Waiting for your approval: drive.list .*\nuk chats actions (\w+) (\w+) --actions/)
  const { data: chats } = (await alice.get('/chats')).body
  for (const verb of ['stream', 'send']) {
    const id = (await alice.post('/chats', { agent_id: chats[0].agent_id })).body.data.id as string
    const ran = await uk(['chats', verb, id, played])
    assert.equal(ran.code, exits.undecided[0], verb)
    assert.match(ran.err, /uk chats actions/)
    if (verb === 'stream') continue
    const person = await seat('chats', 'send', id, played, '--on-busy', 'interrupt')
    await person.sees(/Allow\? \[y\/N\/always\]/)
    await person.type('y\r')
    await person.sees(/\nLooked\./)
    assert.equal(await person.exitCode(), 0)
  }
  const denied = await seat('ask', '-a', 'clerk', played)
  await denied.sees(/drive.list \{\}[^]*Allow\?/)
  await denied.type('\r')
  await denied.sees(/\nLooked\./)
  assert.equal(await denied.exitCode(), 0)
  const nobody = await uk(['ask', '-a', 'Clark', 'x'])
  assert.equal(nobody.code, exits.not_found[0])
  assert.match(nobody.err, /No agent named "Clark"\.\nDid you mean "Clerk"\?/)
})

test('alice chats in the terminal with several lines, a file, an allowed tool and a stopped run', async () => {
  const person = await seat('chat', '-a', 'Clerk')
  await person.sees(/› /)
  await person.type('/model sim/echo\r')
  await person.sees(/Switched to/)
  await person.type('one\ntwo\r')
  await person.sees(/\r\none\r\ntwo\r\n/)
  await person.type('\x1b[200~three\rfour\x1b[201~\r')
  await person.sees(/\r\nthree\r\nfour\r\n/)
  await person.type('/file note.txt\r')
  await person.sees(/will be sent with the next message/)
  await person.type('Read it\r')
  await person.sees(/\r\nRead it\r\n/)
  await person.type('/nonsense\r')
  await person.sees(/Unknown command \/nonsense/)
  await person.type('/model sim/script\r')
  await person.sees(/Switched to sim\/script/)
  await person.type(`${script([call('drive_list')], [call('drive_list')], [say('Twice.')])}\r`)
  await person.sees(/Allow\?/)
  await person.type('always\r')
  const shown = await person.sees(/\nTwice\./)
  assert.equal(shown.split('Allow?').length, 2, 'asked once')
  await person.type(`${script([say('Begun'), { delay_ms: 60_000 }, say('never')])}\r`)
  await person.sees(/\nBegun/)
  await person.type('\x03')
  await person.sees(/The run was canceled/)
  await person.type('/exit\r')
  assert.equal(await person.exitCode(), 0)
  const { data: chats } = (await alice.get('/chats')).body
  const { data: messages } = (await alice.get(`/chats/${chats[0].id}/messages`)).body
  const said = messages
    .filter(({ role }: { role: string }) => role === 'user')
    .map(({ text }: { text: string }) => text)
  assert.deepEqual(said.slice(0, 3), ['one\ntwo', 'three\nfour', 'Read it'])

  const again = await seat('chat', '-c')
  await again.sees(/Begun[^]*› /)
  // Arrow up recalls earlier messages.
  await again.type('\x1b[A\x1b[A\x1b[A')
  await again.sees(/"Twice/)
  await again.type('\x03\x04')
  assert.equal(await again.exitCode(), 0)
  assert.equal((await uk(['chat'])).code, exits.usage[0])
})
