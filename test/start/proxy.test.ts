// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { WebSocket } from 'ws'
import { upload } from '../drive/drive.ts'
import { needs } from '../needs.ts'
import { temporaryDir } from '../program.ts'
import { freePort } from '../outside/free-port.ts'
import { caller, testServer } from '../server.ts'
import { until } from '../until.ts'

const docs = readFileSync(join(import.meta.dirname, '../../docs/operating/https-and-proxies.md'), 'utf8')
const blockOf = (name: string): string =>
  new RegExp(`<!-- ${name} -->\\s+\`\`\`${name}\\n([^]*?)\`\`\``).exec(docs)![1]!
const answers = (program: string, word: string): boolean => spawnSync(program, [word]).status === 0

/**
 * Behind a proxy that listens at this port: an upload of 3 MB, an answer that is read while it is written, a WebSocket, and
 * the address of whoever called.
 */
async function passes(argv: readonly string[], port: number, listening: string, env: Record<string, string> = {}) {
  await using server = await testServer({
    environment: { UK_PORT: listening, UK_TRUSTED_PROXIES: '127.0.0.1', UK_LIMIT_LOGINS: '3' },
  })
  const alice = await server.person('Alice')
  const { key } = await alice.key()
  const [program = '', ...words] = argv
  const child = spawn(program, words, { stdio: 'ignore', env: { PATH: process.env.PATH, ...env } })
  const ended = once(child, 'exit')
  try {
    const origin = `http://127.0.0.1:${port}`
    await until(
      async () => (await fetch(`${origin}/healthz`).catch(() => null))?.status,
      (status) => status === 200,
    )
    const through = caller(origin, { authorization: `Bearer ${key}` })
    const made = await upload(through, { workspace_id: alice.workspaceId }, randomBytes(3 << 20), 'large.bin')
    assert.equal(made.status, 201, made.text)
    await streams(origin, key)
    assert.equal(await refusesSocket(origin), 401, 'the proxy passes the upgrade on, and the server answers it')
    // Logins are counted by the address that the proxy names: one that nobody calls from runs out alone.
    const signIn = (headers: Record<string, string> = {}) =>
      fetch(`${origin}/v1/auth/sign-in`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-uk-csrf': '1', ...headers },
        body: JSON.stringify({
          email: `nobody-${randomBytes(4).toString('hex')}@example.com`,
          password: 'a long password',
        }),
      })
    const forged: number[] = []
    for (let i = 0; i < 4; i += 1) forged.push((await signIn({ 'x-forwarded-for': `203.0.113.${i}` })).status)
    assert.deepEqual(forged, [401, 401, 401, 429], 'what a caller says of its own address counts for nothing')
  } finally {
    child.kill('SIGTERM')
    await ended
  }
}

/** The first word is there while the answer still waits for its last one. */
async function streams(origin: string, key: string): Promise<void> {
  const steps = [{ text: 'first' }, { delay_ms: 3_000 }, { text: 'last' }]
  const answer = await fetch(`${origin}/compat-a/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({
      model: 'sim/script',
      stream: true,
      messages: [{ role: 'user', content: JSON.stringify({ steps }) }],
    }),
  })
  let seen = ''
  for await (const part of answer.body!.pipeThrough(new TextDecoderStream())) {
    seen += part
    if (seen.includes('first')) break
  }
  assert.match(seen, /first/)
  assert.doesNotMatch(seen, /last/)
}

/** The status with which a WebSocket that nobody may open is refused. */
function refusesSocket(origin: string): Promise<number> {
  const socket = new WebSocket(`${origin.replace('http', 'ws')}/v1/computers/link`)
  return new Promise((resolve, reject) => {
    socket.once('unexpected-response', (_request, response) => resolve(response.statusCode ?? 0))
    socket.once('open', () => reject(new Error('it was opened')))
    socket.once('error', reject)
  })
}

test(
  'the nginx configuration from the docs passes large uploads, streams and sockets',
  needs(answers('nginx', '-v'), 'nginx'),
  async () => {
    using dir = temporaryDir()
    const [port, listening] = [await freePort(), String(await freePort())]
    // As it stands, but for its address, its certificate and where the server listens.
    const pasted = blockOf('nginx')
      .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
      .replaceAll(/^ *ssl_certificate.*$/gm, '')
      .replace('127.0.0.1:4242', `127.0.0.1:${listening}`)
    const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${dir.path};`)
    const conf = join(dir.path, 'nginx.conf')
    writeFileSync(
      conf,
      `daemon off; master_process off; pid ${dir.path}/pid; error_log stderr; events {}
     http { access_log off; ${folders.join(' ')}\n${pasted} }\n`,
    )
    await passes(['nginx', '-c', conf, '-e', 'stderr'], port, listening)
  },
)

test('the Caddy configuration from the docs passes the same', needs(answers('caddy', 'version'), 'caddy'), async () => {
  using dir = temporaryDir()
  const [port, listening] = [await freePort(), String(await freePort())]
  const pasted = blockOf('caddy')
    .replace('uk.example.com {', `http://127.0.0.1:${port} {`)
    .replace('127.0.0.1:4242', `127.0.0.1:${listening}`)
  const conf = join(dir.path, 'Caddyfile')
  writeFileSync(conf, `{\n  admin off\n}\n${pasted}`)
  const env = { HOME: dir.path, XDG_DATA_HOME: dir.path, XDG_CONFIG_HOME: dir.path }
  await passes(['caddy', 'run', '--config', conf, '--adapter', 'caddyfile'], port, listening, env)
})
