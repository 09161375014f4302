import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, openSync, readFileSync, readdirSync, rmSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type TestKeeper, startKeeper } from '#test/computers/keeper.ts'
import { seatAt } from '#test/computers/seat.ts'
import { type Proxy, proxyTo } from '#test/link/proxy.ts'
import { daemonHome, runDaemonAt } from '#test/link/run-daemon.ts'
import { pairedComputer } from '#test/makers.ts'
import { temporaryDir } from '#test/program.ts'
import { type Person, type TestServer, testServer } from '#test/server.ts'
import { PATIENCE_MS, until } from '#test/until.ts'

const program = fileURLToPath(new URL('../../../../../../bin/uk', import.meta.url))
const stack = new AsyncDisposableStack()
let server: TestServer
let alice: Person
let proxy: Proxy
let keeper: TestKeeper
let env: Record<string, string>
/** A local and a remote folder. */
let here: string

let there: string

before(async () => {
  server = stack.use(await testServer())
  alice = await server.person('Alice')
  const room = stack.use(temporaryDir())
  here = join(room.path, 'here')
  there = join(room.path, 'there')
  for (const folder of [here, there]) mkdirSync(folder)
  for (const name of ['box', 'other']) {
    const home = stack.use(daemonHome())
    const paired = await pairedComputer(alice)
    assert.equal((await alice.patch(`/computers/${paired.id}`, { name })).status, 200)
    stack.use(await runDaemonAt(home, server.origin, paired))
    assert.ok(await server.app.engine.links.online(paired.id, PATIENCE_MS))
  }
  proxy = stack.use(await proxyTo(server.origin))
  keeper = stack.use(await startKeeper())
  env = { PATH: process.env.PATH!, HOME: room.path, UK_ORIGIN: proxy.origin, UK_KEY: (await alice.key()).key }
})

after(() => stack.disposeAsync())

function start(words: string[], input: Buffer | null = null) {
  const child = spawn('sh', [program, 'computer', 'cp', ...words], { env, cwd: here, stdio: ['pipe', 'pipe', 'pipe'] })
  const out: Buffer[] = []
  let said = ''
  child.stdout.on('data', (bytes: Buffer) => void out.push(bytes))
  child.stderr.on('data', (bytes: Buffer) => void (said += bytes.toString()))
  child.stdin.on('error', () => {}).end(input ?? '')
  const ended = new Promise<{ code: number | null; out: Buffer; said: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, out: Buffer.concat(out), said })),
  )
  return { child, ended }
}

const cp = (...words: string[]) => start(words).ended
const done = async (...words: string[]): Promise<string> => {
  const { code, said } = await cp(...words)
  assert.equal(code, 0, said)
  return said
}

const sha = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

const LARGE = 64 << 20
function large(path: string): string {
  const file = openSync(path, 'w')
  const block = randomBytes(1 << 20)
  const hash = createHash('sha256')
  for (let n = 0; n < LARGE >> 20; n++) {
    block.writeUInt32BE(n)
    hash.update(block)
    writeSync(file, block)
  }
  return hash.digest('hex')
}

const partIn = (folder: string): string | undefined =>
  readdirSync(folder).find((name) => /^\.uk-(upload|copy)-.*\.part/.test(name))

for (const way of ['there', 'back'] as const)
  test(`a copy killed midway resumes when the command is repeated: ${way}`, async () => {
    const [from, to] = way === 'there' ? [here, there] : [there, here]
    const hash = large(join(from, `killed-${way}`))
    const words = way === 'there' ? [`killed-${way}`, `box:${there}`] : [`box:${there}/killed-${way}`, '.']
    const { child, ended } = start(words)
    const part = await until(
      async () => partIn(to),
      (name) => name !== undefined && statSync(join(to, name)).size > 2 << 20,
    )
    proxy.stall('now')
    process.kill(child.pid!, 'SIGKILL')
    execFileSync('sh', ['-c', `for p in $(pgrep -P ${child.pid}); do kill -9 $p; done`])
    await ended
    proxy.cut()
    proxy.open()
    const begun = statSync(join(to, part!))
    assert.ok(begun.size < LARGE && !existsSync(join(to, `killed-${way}`)))
    // Received bytes aren't sent again: a mark in them survives.
    const marked = openSync(join(to, part!), 'r+')
    writeSync(marked, 'MARK', 0)
    await done(...words)
    const whole = readFileSync(join(to, `killed-${way}`))
    assert.equal(whole.subarray(0, 4).toString(), 'MARK')
    whole.writeUInt32BE(0)
    assert.equal(sha(whole), hash)
    assert.equal(partIn(to), undefined)
    for (const folder of [from, to]) rmSync(join(folder, `killed-${way}`))
  })

test('if the file has changed since, nothing of the old version is used', async () => {
  large(join(here, 'changing'))
  const { child, ended } = start(['changing', `box:${there}`])
  await until(
    async () => partIn(there),
    (name) => name !== undefined && statSync(join(there, name)).size > 1 << 20,
  )
  proxy.stall('now')
  child.kill('SIGINT')
  proxy.cut()
  proxy.open()
  await ended
  const hash = large(join(here, 'changing'))
  await done('changing', `box:${there}`)
  assert.equal(sha(readFileSync(join(there, 'changing'))), hash)
  for (const name of readdirSync(there)) if (name.startsWith('.uk-')) rmSync(join(there, name))
})

test('at a terminal the progress is shown, and the copy resumes after a lost connection', async () => {
  const hash = large(join(here, 'watched'))
  const seat = await seatAt(keeper.client, ['sh', program, 'computer', 'cp', 'watched', `box:${there}`], {
    env,
    cwd: here,
  })
  await until(async () => partIn(there), Boolean)
  proxy.stall('now')
  await seat.sees(/\d+ %\s+\S+ [kM]?B of 67\.1 MB/)
  proxy.cut()
  proxy.open()
  for (let cuts = 0; cuts < 3; cuts++) {
    const size = () => statSync(join(there, partIn(there) ?? 'watched')).size
    const before = size()
    await until(
      async () => size(),
      (now) => now > before || now === LARGE,
    )
    proxy.cut()
  }
  assert.equal(await seat.exitCode(), 0)
  assert.equal(sha(readFileSync(join(there, 'watched'))), hash)
  rmSync(join(here, 'watched'))
  const down = await seatAt(keeper.client, ['sh', program, 'computer', 'cp', `box:${there}/watched`, '.'], {
    env,
    cwd: here,
  })
  await until(async () => partIn(here), Boolean)
  proxy.cut()
  assert.equal(await down.exitCode(), 0)
  assert.equal(sha(readFileSync(join(here, 'watched'))), hash)
})
