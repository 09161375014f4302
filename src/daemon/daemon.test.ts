import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { addCredential, retireOthers } from '#modules/computers/pairing/credentials.ts'
import type { Input } from '#daemon-protocol/operations.ts'
import { LinkLost } from '#packages/mux/stream.ts'
import { pairedBy } from '#test/link/daemon.ts'
import { proxyTo } from '#test/link/proxy.ts'
import { type Home, daemonHome, continueDaemon, runDaemonAt } from '#test/link/run-daemon.ts'
import { temporaryDir } from '#test/program.ts'
import { twoServers } from '#test/two-servers.ts'
import { PATIENCE_MS, until as untilSo } from '#test/until.ts'

const { server, twin, alice } = await twoServers()
const { links } = server.app.engine
const signal = new AbortController().signal
const until = (ask: () => boolean | Promise<boolean>) => untilSo(async () => ask(), Boolean)
const online = (id: string) => links.online(id, PATIENCE_MS)
const connection = async (id: string) => (await alice.get(`/computers/${id}`)).body.data.connection

const command = (key: string, script: string): Input<'exec'> => ({
  key,
  argv: ['/bin/sh', '-c', script],
  cwd: null,
  env: {},
  user: null,
  timeout_ms: null,
  stdin: false,
  from: { stdout: 0, stderr: 0 },
})

/** Runs a command as a server does: repeats the request with its key and offsets whenever the link breaks. */
async function runThrough(
  id: string,
  asked: Input<'exec'>,
  progress = { read: 0, breaks: 0 },
): Promise<{ stdout: string }> {
  const parts: Uint8Array[] = []
  let stdout = 0
  for (; ; progress.breaks++)
    try {
      const stream = await links.open(id, 'exec', { ...asked, from: { stdout, stderr: 0 } }, { signal })
      for await (const item of stream) {
        if (item.type !== 'bytes' || item.channel !== 1) continue
        assert.equal(item.offset, stdout)
        progress.read = stdout += item.bytes.length
        parts.push(Uint8Array.from(item.bytes))
      }
      const end = await stream.output
      assert.deepEqual([end.exit_code, end.stdout_bytes], [0, stdout])
      return { stdout: Buffer.concat(parts).toString() }
    } catch (error) {
      if (!(error instanceof LinkLost) && (error as { code?: string }).code !== 'computer_offline') throw error
      assert.ok(await links.online(id, PATIENCE_MS), 'it comes back')
    }
}

const count = (to: number, pause = 0.02): string =>
  `i=0; while [ $i -lt ${to} ]; do i=$((i+1)); echo $i; sleep ${pause}; done`
const counted = (to: number): string => Array.from({ length: to }, (_, i) => `${i + 1}\n`).join('')

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** `uk`, as a person runs it. */
function uk(words: string[], home: Home, environment: Record<string, string> = {}): ChildProcess & { said(): string } {
  const child = spawn('sh', [join(import.meta.dirname, '../../bin/uk'), ...words], {
    env: { PATH: process.env.PATH, HOME: home.folder, UK_CONFIG_DIR: home.folder, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (text += String(part)))
  return Object.assign(child, { said: () => text })
}
const ended = (child: ChildProcess): Promise<number | null> =>
  new Promise((resolve) => (child.exitCode === null ? child.once('exit', resolve) : resolve(child.exitCode)))

test('a machine pairs with `uk computer run`, runs commands, and reports errors clearly', async () => {
  await using home = daemonHome()
  using room = temporaryDir()
  const { token } = (await alice.post('/computer-pairings', { name: 'Laptop' })).body.data
  const daemon = uk(['computer', 'run', '--url', server.origin, '--allow', 'exec,fs_read', '--root', room.path], home, {
    UK_PAIR_TOKEN: token,
  })
  await until(() => daemon.said().includes('connected to'))
  const file = join(home.folder, 'computer.json')
  assert.equal(statSync(file).mode & 0o777, 0o600)
  const { computer_id: id } = JSON.parse(readFileSync(file, 'utf8'))
  const { data } = (await alice.get(`/computers/${id}`)).body
  assert.deepEqual([data.name, data.connection, data.allows], ['Laptop', 'online', ['exec', 'fs_read']])
  const { memory_bytes } = await links.ask(id, 'daemon.probe', {}, { signal })
  assert.ok(memory_bytes > 0)
  assert.equal((await runThrough(id, command('hello', 'echo hello'))).stdout, 'hello\n')
  assert.deepEqual(
    (await links.ask(id, 'fs.list', { path: room.path, cursor: null, limit: 1 }, { signal })).entries,
    [],
  )

  const second = uk(['computer', 'run'], home)
  assert.equal(await ended(second), 1)
  assert.match(second.said(), /Another daemon is already running in .* \(process \d+\)/)
  const again = uk(['computer', 'pair', '--url', server.origin], home, { UK_PAIR_TOKEN: token })
  assert.equal(await ended(again), 5)
  assert.match(again.said(), /is already paired with http.* as "Laptop"/)

  daemon.kill('SIGTERM')
  assert.equal(await ended(daemon), 0)
  await until(async () => (await connection(id)) === 'offline')
  // The computer was deleted while the daemon was offline: it reports that and stops retrying.
  await alice.delete(`/computers/${id}`)
  const run = uk(['computer', 'run'], home)
  assert.equal(await ended(run), 4)
  assert.match(run.said(), /no longer knows this machine/)
})

test('signed-in users need no token, and the daemon can run without a terminal', async () => {
  await using home = daemonHome()
  const { key } = await alice.key()
  const signedIn = { UK_KEY: key, UK_ORIGIN: server.origin }
  const words = ['--name', 'Desk', '--allow', 'exec', '--engine-context', '1024']
  const pairing = uk(['computer', 'pair', ...words], home, signedIn)
  assert.equal(await ended(pairing), 0, pairing.said())
  assert.match(pairing.said(), /Paired with .* as "Desk"/)
  const launcher = uk(['computer', 'run', '--detach', '--engine-gpu', 'off', '--engine-fetch-allow', 'a:1,b:2'], home)
  assert.equal(await ended(launcher), 0, launcher.said())
  const [, pid] = /is running \(process (\d+)\) and connected/.exec(launcher.said()) ?? []
  const { computer_id: id, engines } = JSON.parse(readFileSync(join(home.folder, 'computer.json'), 'utf8'))
  assert.deepEqual(engines, { context: 1_024, gpu: 'off', fetch_allow: ['a:1', 'b:2'] })
  assert.equal((await runThrough(id, command('away', 'echo away'))).stdout, 'away\n')
  const twice = uk(['computer', 'run', '--detach'], home)
  assert.equal(await ended(twice), 1)
  assert.match(
    twice.said(),
    new RegExp(`exited during startup: Another daemon is already running in .* \\(process ${pid}\\)`),
  )
  process.kill(Number(pid), 'SIGTERM')
  await until(async () => (await connection(id)) === 'offline')
  assert.match(readFileSync(join(home.folder, 'daemon.log'), 'utf8'), /connected to/)
})

test('deleting a computer stops its commands and its keeper, and a signed-in user can pair the machine again', async () => {
  await using home = daemonHome()
  const { key } = await alice.key()
  const signedIn = { UK_KEY: key, UK_ORIGIN: server.origin }
  const run = (words: string[], env = signedIn) => uk(['computer', 'run', ...words], home, env)
  const stateOf = () => JSON.parse(readFileSync(join(home.folder, 'computer.json'), 'utf8'))
  const daemon = run(['--name', 'Lap', '--allow', 'exec'])
  await until(() => daemon.said().includes('connected to'))
  const { computer_id: id } = stateOf()
  const file = join(home.folder, 'pid')
  const stream = await links.open(id, 'exec', command('stays', `echo $$ > ${file}; exec sleep 1000`), { signal })
  stream.output.catch(() => {})
  const contents = () => existsSync(file) && readFileSync(file, 'utf8').trim()
  await until(() => Boolean(contents()))
  const pid = Number(contents())
  const status = async () => {
    const child = uk(['computer', 'status'], home)
    await ended(child)
    return child.said()
  }
  assert.match(await status(), /^known_to_server +true$/m)
  await alice.delete(`/computers/${id}`)
  assert.equal(await ended(daemon), 4)
  assert.match(daemon.said(), /this computer was deleted on http.*; closing its terminals and commands/)
  await until(() => !isAlive(pid))
  await until(async () => (await home.keeper().find()) === null)
  assert.match(await status(), /^known_to_server +false$[^]*This computer was deleted on /m)
  // A service manager that restarts the daemon doesn't undo the deletion.
  assert.equal(await ended(run([])), 4)
  assert.equal(stateOf().computer_id, id)
  const again = run(['--detach'])
  assert.equal(await ended(again), 0, again.said())
  assert.equal(again.said().match(/The computer "Lap\w*" was deleted/g)?.length, 1)
  const { computer_id: next, allows, name } = stateOf()
  assert.notEqual(next, id)
  assert.deepEqual([allows, name], [['exec'], 'Lap'])
  const [, daemonPid] = /is running \(process (\d+)\) and connected/.exec(again.said()) ?? []
  process.kill(Number(daemonPid), 'SIGTERM')
  await until(async () => (await connection(next)) === 'offline')
})

test('an expired token, an unreachable address and an unknown argument are each reported', async () => {
  await using home = daemonHome()
  const run = async (words: string[], environment = {}) => {
    const child = uk(['computer', 'pair', ...words], home, environment)
    return [await ended(child), child.said()] as const
  }
  const [dead, why] = await run(['--url', server.origin], { UK_PAIR_TOKEN: `ukp_${'A'.repeat(43)}` })
  assert.equal(dead, 4)
  assert.match(why, /pairing token or code is wrong/)
  const [nobody, where] = await run(['--url', 'http://127.0.0.1:9'], { UK_PAIR_TOKEN: 'x' })
  assert.equal(nobody, 7)
  assert.match(where, /127\.0\.0\.1:9/)
  const [wrong, word] = await run(['--allow', 'exec,root'], { UK_PAIR_TOKEN: 'x' })
  assert.equal(wrong, 2)
  assert.match(word, /Unknown capability for --allow: "root"/)
  for (const [flag, value] of [
    ['--engine-context', '5'],
    ['--engine-gpu', 'maybe'],
    ['--engine-fetch-allow', 'http://nas.lan/'],
  ] as const) {
    const [code, refusal] = await run([flag, value], { UK_PAIR_TOKEN: 'x' })
    assert.equal(code, 2)
    assert.ok(refusal.includes(`Invalid value for ${flag}: "${value}"`), refusal)
  }
  const [shown, hidden] = await run(['--url', server.origin, 'ukp_in_an_argument'])
  assert.equal(shown, 2)
  assert.match(hidden, /Unexpected argument "ukp_…"/)
  assert.doesNotMatch(hidden, /in_an_argument/)
})

test('a command survives network interruptions without losing or repeating output', async () => {
  await using home = daemonHome()
  await using proxy = await proxyTo(server.origin)
  const paired = await pairedBy(alice)
  await using _daemon = await runDaemonAt(home, proxy.origin, paired)
  assert.ok(await online(paired.id))
  const progress = { read: 0, breaks: 0 }
  const go = join(home.folder, 'go')
  const waits = `${count(100)}; while [ ! -e ${go} ]; do sleep 0.02; done`
  const running = runThrough(paired.id, command('counting', waits), progress)
  // Output is already flowing, so each cut breaks the stream.
  for (const read of [10, 40, 70]) {
    await until(() => progress.read >= read)
    proxy.cut()
  }
  await until(() => progress.breaks > 0)
  writeFileSync(go, '')
  assert.equal((await running).stdout, counted(100))
})

test('half-open links are detected as dead and slow links are kept', async () => {
  await using home = daemonHome()
  await using proxy = await proxyTo(server.origin)
  const paired = await pairedBy(alice)
  await using daemon = await runDaemonAt(home, proxy.origin, paired, { beat: { everyMs: 200, deadMs: 10_000 } })
  assert.ok(await online(paired.id))
  proxy.delay(600)
  // Each takes 1.2 s, long enough for several heartbeats.
  for (let time = 0; time < 3; time++) await links.ask(paired.id, 'daemon.probe', {}, { signal })
  assert.equal(daemon.messages.length, 1, daemon.messages.join('\n'))
  proxy.delay(0)
  const progress = { read: 0, breaks: 0 }
  const running = runThrough(paired.id, command('half', count(100)), progress)
  await until(() => progress.read > 0)
  proxy.stall('now')
  assert.equal((await running).stdout, counted(100))
  assert.match(daemon.messages.join('\n'), /nothing was heard for too long/)
})

test('a command survives a server restart into another process', async () => {
  await using home = daemonHome()
  const paired = await pairedBy(alice)
  const third = await server.twin()
  await using proxy = await proxyTo(third.origin)
  await using _daemon = await runDaemonAt(home, proxy.origin, paired)
  assert.ok(await online(paired.id))
  const progress = { read: 0, breaks: 0 }
  const running = runThrough(paired.id, command('restart', count(100)), progress)
  await until(() => progress.read > 0)
  proxy.to(twin.origin)
  await third[Symbol.asyncDispose]()
  assert.equal((await running).stdout, counted(100))
})

test('a command survives `kill -9` of the daemon and reports its real exit to the next one', async () => {
  await using home = daemonHome()
  const { token } = (await alice.post('/computer-pairings', {})).body.data
  const start = (environment = {}) => uk(['computer', 'run', '--url', server.origin], home, environment)
  const daemon = start({ UK_PAIR_TOKEN: token })
  await until(() => daemon.said().includes('connected to'))
  const { computer_id: id } = JSON.parse(readFileSync(join(home.folder, 'computer.json'), 'utf8'))
  const progress = { read: 0, breaks: 0 }
  const running = runThrough(id, command('killed', count(100)), progress)
  await until(() => progress.read > 0)
  daemon.kill('SIGKILL')
  await ended(daemon)
  const next = start()
  assert.equal((await running).stdout, counted(100))
  next.kill('SIGTERM')
  await ended(next)
})

test('a new credential is saved to disk before use, and the link switches to it', async () => {
  await using home = daemonHome()
  const paired = await pairedBy(alice)
  await using _daemon = await runDaemonAt(home, server.origin, paired)
  assert.ok(await online(paired.id))
  const { db } = server.app.engine.postgres
  const { credential, ...machine } = await addCredential(db, paired.id)
  await links.ask(paired.id, 'daemon.rotate', { credential, overlap_seconds: 1 }, { signal })
  await retireOthers(db, machine, 1)
  const state = JSON.parse(readFileSync(join(home.folder, 'computer.json'), 'utf8'))
  assert.equal(state.credential, credential)
  const epoch = async () =>
    Number(
      (await db.selectFrom('computers').select('link_epoch').where('id', '=', paired.id).executeTakeFirst())!
        .link_epoch,
    )
  const before = await epoch()
  await until(async () => (await epoch()) > before)
  assert.ok((await links.ask(paired.id, 'daemon.probe', {}, { signal })).now)
})

test('a restarted daemon reports its current permissions', async () => {
  await using home = daemonHome()
  const paired = await pairedBy(alice)
  {
    await using _daemon = await runDaemonAt(home, server.origin, paired)
    assert.ok(await online(paired.id))
    assert.ok((await links.ask(paired.id, 'users.list', {}, { signal })).users)
  }
  using room = temporaryDir()
  await using _daemon = continueDaemon(home, { allows: ['fs_read'], roots: [room.path] })
  const allows = async () => (await alice.get(`/computers/${paired.id}`)).body.data.allows.join()
  await until(async () => (await allows()) === 'fs_read')
  await assert.rejects(links.ask(paired.id, 'users.list', {}, { signal }), { code: 'capability_denied' })
  await assert.rejects(links.ask(paired.id, 'exec.kill', { key: 'x', signal: null }, { signal }), {
    code: 'capability_denied',
  })
  await assert.rejects(links.ask(paired.id, 'fs.stat', { path: '/etc/passwd' }, { signal }), /.+/)
  assert.equal((await links.ask(paired.id, 'fs.stat', { path: room.path }, { signal })).type, 'folder')
})
