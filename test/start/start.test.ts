// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  existsSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { needs } from '../needs.ts'
import { type Program, startProgram, temporaryDir } from '../program.ts'
import { type Answer, caller } from '../server.ts'
import { PATIENCE_MS, until } from '../until.ts'

const csrf = { 'x-uk-csrf': '1' }

/** The data dir of one server that is started and stopped all through this file: to make a database takes seconds. */
const home = temporaryDir()
after(() => home[Symbol.dispose]())
const start = (environment: Record<string, string> = {}): Program =>
  startProgram({ UK_DATA_DIR: home.path, ...environment })

const credentials = (name: string) => ({ email: `${name}@example.com`, password: 'a long password' })
const signUpOf = (name: string) => ({ ...credentials(name), name })
/** Somebody new; alice, who is the first, is the administrator. */
const signUp = async (origin: string, name: string) =>
  sessionOf(await caller(origin, csrf).post('/auth/sign-up', signUpOf(name)))
const signIn = async (origin: string, name: string) =>
  sessionOf(await caller(origin, csrf).post('/auth/sign-in', credentials(name)))
function sessionOf({ status, headers, text }: Answer): Record<string, string> {
  assert.ok(status < 300, text)
  return { ...csrf, cookie: headers.get('set-cookie')!.split(';')[0]! }
}

test('the first start prints the setup token and readiness, and the second keeps acknowledged data', async () => {
  let alice: Record<string, string>
  {
    await using program = start()
    const origin = await program.ready
    const token = /^setup token: (\S+)$/m.exec(program.output().stdout)![1]!
    assert.equal(readFileSync(join(home.path, 'setup-token'), 'utf8').trim(), token)
    assert.equal(statSync(join(home.path, 'setup-token')).mode & 0o777, 0o600)
    assert.equal(statSync(join(home.path, 'secret-key')).mode & 0o777, 0o600)
    alice = await signUp(origin, 'alice')
    for (const path of ['/healthz', '/readyz', '/metrics'])
      assert.equal((await caller(origin, {}).get(path)).status, 200, path)
  }
  await using program = start()
  const origin = await program.ready
  assert.doesNotMatch(program.output().stdout, /setup token/)
  assert.equal((await caller(origin, alice).get('/me')).body.data.email, 'alice@example.com')
  program.child.kill('SIGTERM')
  assert.equal(await program.exited, 0)
})

test('after being killed with its database still running, it starts again without data loss', async () => {
  const first = start()
  let bob: Record<string, string>
  try {
    bob = await signUp(await first.ready, 'bob')
    assert.equal((await caller(await first.ready, bob).patch('/settings', { theme: 'dark' })).status, 200)
  } finally {
    first.child.kill('SIGKILL')
    await first.exited
  }
  await using again = start()
  assert.equal((await caller(await again.ready, bob).get('/settings')).body.data.theme, 'dark')
})

test('a second instance on the same data directory, a used port and invalid settings are rejected in one line', async () => {
  await using running = start()
  const { port } = new URL(await running.ready)
  using other = temporaryDir()
  writeFileSync(join(other.path, 'file'), '')
  const refusals: [Record<string, string>, RegExp][] = [
    [{ UK_DATA_DIR: home.path }, new RegExp(`${home.path}.*${running.child.pid}|in use`)],
    [{ UK_DATA_DIR: join(other.path, 'file/data') }, /part of the path is a file/],
    [{ UK_DATA_DIR: other.path, UK_PORT: port }, new RegExp(`port ${port} .* is already in use.*UK_PORT`)],
    [{ UK_DATA_DIR: other.path, UK_PORT: 'many' }, /UK_PORT must be a whole number/],
    [{ UK_DATA_DIR: other.path, UK_SECRET_KEY: 'short' }, /UK_SECRET_KEY must have at least 32 characters/],
    [
      { UK_DATA_DIR: other.path, UK_TRUSTED_PROXIES: '10.0.0.1, 10.0.0.0/99' },
      /UK_TRUSTED_PROXIES .* not "10.0.0.0\/99"/,
    ],
    [{ UK_DATA_DIR: other.path, DATABASE_URL: 'mysql://x' }, /DATABASE_URL must be a URL that starts with postgres/],
  ]
  for (const [environment, line] of refusals) {
    assert.match(await refusalOf(startProgram(environment)), line)
  }
  assert.ok(!existsSync(join(other.path, 'postgres')), 'no database was made for any of them')
})

/** The message of a start that fails: one line for people, among what is logged. */
async function refusalOf(program: Program): Promise<string> {
  await using _ = program
  assert.equal(await Promise.race([program.exited, program.ready.catch(() => program.exited)]), 1)
  const said = program.output().stderr.split('\n')
  const lines = said.filter((line) => line !== '' && !line.startsWith('{"level":'))
  assert.equal(lines.length, 1, lines.join('\n'))
  assert.match(lines[0]!, /^ukiyo: /)
  return lines[0]!
}

test('several processes that can’t start report the reason once, and none remains', async () => {
  const program = start({ UK_WORKERS: '3', UK_UPSTREAM_ALLOW: 'garbage' })
  // Closed is the output when the last process that could write to it has ended.
  assert.match(await refusalOf(program), /UK_UPSTREAM_ALLOW: "garbage" must be host:port or CIDR\[:port\], such as/)
})

test('a truncated root key is rejected', async () => {
  using dir = temporaryDir()
  writeFileSync(join(dir.path, 'secret-key'), 'cut')
  assert.match(await refusalOf(startProgram({ UK_DATA_DIR: dir.path })), /secret-key.*32 characters/)
  assert.ok(!existsSync(join(dir.path, 'postgres')), 'nothing was made that it would have to open')
})

test('an unreachable database is reported without its password', async () => {
  using dir = temporaryDir()
  const program = startProgram({ UK_DATA_DIR: dir.path, DATABASE_URL: 'postgres://ukiyo:hunter2@127.0.0.1:1/ukiyo' })
  const line = await refusalOf(program)
  assert.match(line, /^ukiyo: can't use the database in DATABASE_URL \(127\.0\.0\.1:1\/ukiyo\): /)
  assert.doesNotMatch(line, /hunter2/)
})

test('an unknown setting is a warning with the closest name', async () => {
  await using program = start({ UK_PROT: '1' })
  await program.ready
  await until(
    async () => program.output().stderr,
    (said) => /UK_PROT is not a setting; did you mean UK_PORT\?/.test(said),
  )
})

test('rarely used code is loaded on first use, and memory needed only for starting is freed', async () => {
  using loaded = temporaryDir()
  await using program = start({ NODE_V8_COVERAGE: loaded.path })
  await program.ready
  const megabytes = () =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${program.child.pid}/status`, 'utf8'))![1]) / 1024
  for (const until = Date.now() + PATIENCE_MS; megabytes() > 150 && Date.now() < until;) await setTimeout(100)
  assert.ok(megabytes() <= 150, `an idle server holds ${megabytes()} MB`)
  program.child.kill('SIGTERM')
  assert.equal(await program.exited, 0)
  const scripts = readdirSync(loaded.path).map((name) => readFileSync(join(loaded.path, name), 'utf8'))
  const files = scripts.flatMap((text) => [...text.matchAll(/\/node_modules\/([^"]+)/g)].map(([, file]) => file!))
  const { dependencies } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  const atStart = Object.keys(dependencies).filter((name) => files.some((file) => file.startsWith(`${name}/`)))
  assert.deepEqual(atStart, [
    '@fastify/busboy',
    'aws4fetch',
    'croner',
    'eventsource-parser',
    'graphile-worker',
    'ipaddr.js',
    'kysely',
    'pg',
    'pino',
    'prom-client',
    're2js',
    'robots-parser',
    'ws',
    'zod',
  ])
})

/** A request that the server waits for the body of. */
async function begun(origin: string, path: string, body: object) {
  const { hostname, port } = new URL(origin)
  const text = JSON.stringify(body)
  const socket = connect(Number(port), hostname)
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: localhost\r\nx-uk-csrf: 1\r\ncontent-type: application/json\r\nexpect: 100-continue\r\ncontent-length: ${text.length}\r\n\r\n`,
  )
  const [proceed] = (await once(socket, 'data')) as [Buffer]
  assert.match(proceed.toString(), /^HTTP\/1.1 100 /)
  let answer = ''
  socket.on('data', (part: Buffer) => (answer += part)).on('error', () => {})
  return {
    /** Sends the body; the answer, once the server has closed the connection. */
    async end(): Promise<string> {
      socket.write(text)
      await once(socket, 'close')
      return answer
    },
  }
}

test('a stopping server finishes its requests', async () => {
  const program = start()
  const request = await begun(await program.ready, '/v1/auth/sign-up', signUpOf('carol'))
  program.child.kill('SIGTERM')
  assert.match(await request.end(), /^HTTP\/1.1 201 /)
  assert.equal(await program.exited, 0)
})

test('a server that has run a capped call stops immediately when requested', async () => {
  await using program = start()
  const origin = await program.ready
  const made = await caller(origin, await signIn(origin, 'alice')).post('/api-keys', {
    name: 'capped',
    scopes: ['*'],
    spend_cap_usd: 1,
    spend_cap_period: 'total',
  })
  const call = { model: 'sim/echo', max_tokens: 10, messages: [{ role: 'user', content: 'Hello' }] }
  const by = caller(origin, { authorization: `Bearer ${made.body.data.key}` })
  assert.equal((await by.post('/compat-a/v1/chat/completions', call)).status, 200)
  program.child.kill('SIGTERM')
  const late = setTimeout(PATIENCE_MS, 'still there', { ref: false })
  assert.equal(await Promise.race([program.exited, late]), 0)
})

test('several processes share one port, and each answers', async () => {
  await using program = start({ UK_WORKERS: '2' })
  const origin = await program.ready
  const erin = await signUp(origin, 'erin')
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => caller(origin, { ...erin, connection: 'close' }).get('/me')),
  )
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200])
})

test(
  'a full disk is reported in one line at startup, and a running server rejects writes until there is space',
  needs(canMount(), 'the right to mount'),
  async () => {
    let needed: number
    {
      using disk = smallDisk('100m')
      await using program = startProgram({ UK_DATA_DIR: disk.path })
      const origin = await program.ready
      needed = disk.used()
      const alice = caller(origin, await signUp(origin, 'alice'))
      const writes = () => alice.post('/chats', { title: 'A title' })
      assert.equal((await writes()).status, 201)
      disk.fill()
      // A write that has a page left in the database still fits.
      let refused = await writes()
      for (let i = 0; i < 200 && refused.status === 201; i++) refused = await writes()
      assert.deepEqual([refused.status, refused.body.error.type], [507, 'storage_full'])
      assert.equal((await alice.get('/chats')).status, 200)
      disk.empty()
      assert.equal((await writes()).status, 201)
    }
    // Too small for the files of a database, and for the tables in it.
    for (const size of [8 << 20, needed - (3 << 19)]) {
      using disk = smallDisk(String(size))
      assert.match(await refusalOf(startProgram({ UK_DATA_DIR: disk.path })), /no space left|the disk is full/i)
    }
  },
)

/** A file system of this size. */
function smallDisk(size: string) {
  const dir = temporaryDir()
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', dir.path])
  const filler = join(dir.path, 'filler')
  return {
    path: dir.path,
    used(): number {
      const { blocks, bfree, bsize } = statfsSync(dir.path)
      return (blocks - bfree) * bsize
    },
    fill() {
      try {
        for (;;) appendFileSync(filler, Buffer.alloc(65_536))
      } catch (error) {
        assert.match(String(error), /ENOSPC/)
      }
    },
    empty: () => rmSync(filler),
    [Symbol.dispose]() {
      execFileSync('umount', ['-l', dir.path])
      dir[Symbol.dispose]()
    },
  }
}

function canMount(): boolean {
  if (process.getuid?.() !== 0) return false
  using dir = temporaryDir()
  try {
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', dir.path], { stdio: 'ignore' })
    execFileSync('umount', [dir.path], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** `npm start` in a group of its own, as a terminal or a service manager has it. */
function startByNpm(environment: Record<string, string>) {
  const child = spawn('npm', ['start'], {
    cwd: join(import.meta.dirname, '../..'),
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      UK_PORT: '0',
      OLLAMA_HOST: 'off',
      UK_LOCAL_ENGINES: 'off',
      ...environment,
    },
  })
  const ready = Promise.withResolvers<string>()
  let stdout = ''
  child.stdout.on('data', (part: Buffer) => {
    stdout += part
    const line = /^ready (\S+)$/m.exec(stdout)
    if (line) ready.resolve(line[1]!)
  })
  // Its output ends when the last process that can write to it has ended.
  return { child, ready: ready.promise, ended: once(child, 'close') }
}

for (const [way, workers] of [
  ['SIGTERM to npm', '1'],
  ['Ctrl-C', '1'],
  ['Ctrl-C', '2'],
] as const)
  test(`npm start, ${way}, UK_WORKERS=${workers}: a request in progress is answered, and no process remains`, async () => {
    const { child, ready, ended } = startByNpm({ UK_DATA_DIR: home.path, UK_WORKERS: workers, UK_DRAIN_SECONDS: '20' })
    const origin = await ready
    const request = await begun(origin, '/v1/auth/sign-in', { email: 'nobody@example.com', password: 'a password' })
    if (way === 'Ctrl-C') process.kill(-child.pid!, 'SIGINT')
    else child.kill('SIGTERM')
    // Nobody new is let in: the signal has arrived everywhere.
    const letsIn = () => fetch(`${origin}/healthz`, { signal: AbortSignal.timeout(250) })
    while (await letsIn().catch(() => null));
    assert.match(await request.end(), /^HTTP\/1.1 401 /)
    await ended
    // The cluster says that it has ended by taking its pid file away.
    assert.equal(existsSync(join(home.path, 'postgres', 'postmaster.pid')), false)
  })
