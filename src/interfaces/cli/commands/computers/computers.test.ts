// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { proxyTo } from '#test/link/proxy.ts'
import { type Home, type RunningDaemon, daemonHome, runDaemonAt } from '#test/link/run-daemon.ts'
import { type TestKeeper, startKeeper } from '#test/computers/keeper.ts'
import { seatAt } from '#test/computers/seat.ts'
import { temporaryDir } from '#test/program.ts'
import { pairedComputer, teamOf } from '#test/makers.ts'
import { type Person, type TestServer, testServer } from '#test/server.ts'
import { PATIENCE_MS, until } from '#test/until.ts'

const program = fileURLToPath(new URL('../../../../../bin/uk', import.meta.url))
let server: TestServer
let alice: Person
let home: Home
let daemon: RunningDaemon
let id: string
let env: Record<string, string>
/** Paths on the local side of the terminal. */
let keeper: TestKeeper

before(async () => {
  server = await testServer()
  alice = await server.person('Alice')
  keeper = await startKeeper()
  home = daemonHome()
  const paired = await pairedComputer(alice)
  id = paired.id
  assert.equal((await alice.patch(`/computers/${id}`, { name: 'box' })).status, 200)
  daemon = await runDaemonAt(home, server.origin, paired)
  assert.ok(await server.app.engine.links.online(id, PATIENCE_MS))
  env = { PATH: process.env.PATH!, HOME: home.folder, UK_ORIGIN: server.origin, UK_KEY: (await alice.key()).key }
})
after(async () => {
  await keeper[Symbol.asyncDispose]()
  await daemon[Symbol.asyncDispose]()
  await home[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

interface Ended {
  code: number | null
  stdout: string
  stderr: string
}
function uk(
  words: string[],
  { stdin = '', kill, key }: { stdin?: string; kill?: (child: ReturnType<typeof spawn>) => void; key?: string } = {},
): Promise<Ended> {
  const child = spawn('sh', [program, ...words], {
    env: { ...env, ...(key && { UK_KEY: key }) },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (bytes: Buffer) => void (stdout += bytes.toString()))
  child.stderr.on('data', (bytes: Buffer) => void (stderr += bytes.toString()))
  // It may exit before reading all of it.
  child.stdin.on('error', () => {}).end(stdin)
  kill?.(child)
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, stdout, stderr })))
}

test('a remote command passes on output, input, folder, variables, exit code, signal and timeout', async () => {
  const script = 'cat; echo "$WORD in $PWD"; echo oops >&2; exit 7'
  const ran = await uk(['computer', 'exec', 'box', '--cwd', '/tmp', '--env', 'WORD=heron', '--', 'sh', '-c', script], {
    stdin: 'piped\n',
  })
  assert.deepEqual(ran, { code: 7, stdout: 'piped\nheron in /tmp\n', stderr: 'oops\n' })
  assert.equal((await uk(['computer', 'exec', id, '--', 'sh', '-c', 'kill -TERM $$'])).code, 143)
  assert.equal((await uk(['computer', 'exec', 'box', '--timeout', '0.3', '--', 'sleep', '20'])).code, 124)
  const help = await uk(['computer', 'exec', 'box', '--', 'echo', '--help', '--json'])
  assert.deepEqual([help.code, help.stdout], [0, '--help --json\n'])
  const unknown = await uk(['computer', 'exec', 'nobody', '--', 'true'])
  assert.equal(unknown.code, 3)
  assert.match(unknown.stderr, /No computer named "nobody"/)
  const bare = await uk(['computer', 'exec', 'box'])
  assert.equal(bare.code, 2)
  assert.match(bare.stderr, /Missing command/)
})

test('Ctrl-C stops the remote command and its children', async () => {
  using room = temporaryDir()
  const script = `echo $$ > ${room.path}/pid; sleep 61 & wait`
  const ended = await uk(['computer', 'exec', 'box', '--', 'sh', '-c', script], {
    kill: (child) => void until(async () => existsSync(`${room.path}/pid`), Boolean).then(() => child.kill('SIGINT')),
  })
  assert.equal(ended.code, 130)
  await until(
    async () => (await uk(['computer', 'exec', 'box', '--', 'pgrep', '-f', `${room.path}/pi[d]|^sleep 6[1]$`])).code,
    (code) => code === 1,
  )
})

test('losing the permission to run commands is reported as such, not as an unreachable server', async () => {
  const bob = await server.person('Bob')
  const { key } = await bob.key()
  const team = await teamOf(alice, [[bob, 'member']])
  using room = temporaryDir()
  for (const [round, lose, code] of [
    ['withdrawn', () => alice.delete(`/computers/${id}/exposures/${team}`), 3],
    ['changed', () => alice.patch(`/computers/${id}/exposures/${team}`, { capabilities: ['ports'] }), 4],
  ] as const) {
    const lent = await alice.post(`/computers/${id}/exposures`, { workspace_id: team, capabilities: ['exec'] })
    assert.equal(lent.status, 201, lent.text)
    const pid = `${room.path}/${round}`
    const running = uk(['computer', 'exec', id, '--', 'sh', '-c', `echo $$ > ${pid}; sleep 60`], { key })
    await until(async () => existsSync(pid), Boolean)
    assert.ok((await lose()).status < 300)
    const ended = await running
    assert.equal(ended.code, code, ended.stderr)
    assert.match(ended.stderr, /no longer have permission to run commands on "box"/)
  }
  // Its home folder is shown only to callers with file access.
  const homeFor = async (person: Person) => (await person.post(`/computers/${id}/test-connection`)).body.data.home
  assert.deepEqual([await homeFor(alice), await homeFor(bob)], [homedir(), null])
  await alice.delete(`/computers/${id}/exposures/${team}`)
})

test('with -d a command continues as an operation, and only its ID is printed', async () => {
  using room = temporaryDir()
  const script = `cat; echo "$WORD" > ${room.path}/said; echo kept; sleep 61`
  const begun = await uk(['computer', 'exec', '-d', 'box', '--env', 'WORD=heron', '--', 'sh', '-c', script])
  assert.deepEqual([begun.code, begun.stderr], [0, ''])
  assert.match(begun.stdout, /^[0-9A-HJKMNP-TV-Z]{26}\n$/)
  const operation = begun.stdout.trim()
  await until(async () => existsSync(`${room.path}/said`) && readFileSync(`${room.path}/said`, 'utf8'), Boolean)
  await until(
    async () => (await uk(['operations', 'content', operation])).stdout,
    (text) => text === 'kept\n',
  )
  assert.equal((await uk(['operations', 'cancel', operation])).code, 0)
  await until(
    async () => (await alice.get(`/operations/${operation}`)).body.data.status,
    (status) => status === 'cancelled',
  )
  const whole = await uk(['computer', 'exec', '--detach', 'box', '--json', '--', 'true'])
  assert.equal(JSON.parse(whole.stdout).data.kind, 'computers.exec')
})

test('the list of computers starts with name, connection and owner', async () => {
  const sitting = await seat(['computers', 'list'])
  assert.equal(await sitting.exitCode(), 0)
  await sitting.sees(/id +name +connection +lifecycle +owner/)
  await sitting.sees(new RegExp(`${id} +box +online +running +account`))
})

test('a computer can be given by name instead of its ID', async () => {
  for (const word of ['box', id, id.toLowerCase()])
    assert.equal(JSON.parse((await uk(['computers', 'get', word, '--json'])).stdout).data.id, id)
  assert.equal((await uk(['computers', 'fs', 'box', '--op', 'stat', '--path', '/tmp'])).code, 0)
  const unknown = await uk(['computers', 'ports', 'nobody'])
  assert.deepEqual([unknown.code, /No computer named "nobody"/.test(unknown.stderr)], [3, true])
  const closed = await uk(['computers', 'port-ticket', 'box', '9'])
  assert.deepEqual([closed.code === 0, closed.stdout], [false, ''])
  assert.match(closed.stderr, /Nothing is listening on port 9 of the computer/)
  const other = await pairedComputer(alice)
  await alice.patch(`/computers/${other.id}`, { name: 'box' })
  const two = await uk(['computers', 'get', 'box'])
  assert.equal(two.code, 2)
  assert.ok(two.stderr.includes(id) && two.stderr.includes(other.id), two.stderr)
  await alice.delete(`/computers/${other.id}`)
  assert.match((await uk(['computers', 'ports', '--help'])).stdout, /<id> +The computer's name or ID/)
})

test('piped input of any size reaches the command and leaves no files behind', async () => {
  using room = temporaryDir()
  const input = 'heron '.repeat(2_000_000)
  const script = 'wc -c; echo "$1" >&2; exit 3'
  const ran = await uk(['computer', 'exec', 'box', '--cwd', room.path, '--', 'sh', '-c', script, 'sh', 'a  b'], {
    stdin: input,
  })
  assert.deepEqual([ran.code, ran.stdout.trim(), ran.stderr], [3, '12000000', 'a  b\n'])
  const whole = await uk(['computer', 'exec', 'box', '--', 'sha256sum'], { stdin: input })
  assert.equal(whole.stdout.split(' ')[0], createHash('sha256').update(input).digest('hex'))
})

test('piping needs only the permission to run commands, and a command that stops reading ends at once', async () => {
  const input = 'x'.repeat(1_500_000)
  const bob = await server.person('Bertha')
  const team = await teamOf(alice, [[bob, 'member']])
  await alice.post(`/computers/${id}/exposures`, { workspace_id: team, capabilities: ['exec'] })
  const { key } = await bob.key()
  const counted = await uk(['computer', 'exec', id, '--', 'wc', '-c'], { stdin: input, key })
  assert.deepEqual([counted.code, counted.stdout.trim()], [0, '1500000'], counted.stderr)
  const beginning = await uk(['computer', 'exec', id, '--', 'head', '-c', '3'], { stdin: input, key })
  assert.deepEqual([beginning.code, beginning.stdout], [0, 'xxx'], beginning.stderr)
  await alice.delete(`/computers/${id}/exposures/${team}`)
})

test('piped input reaches the command line by line', async () => {
  const child = spawn(
    'sh',
    [program, 'computer', 'exec', 'box', '--', 'sh', '-c', 'while read -r line; do echo "got $line"; done'],
    {
      env,
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  let said = ''
  child.stdout.on('data', (bytes: Buffer) => void (said += bytes.toString()))
  const ended = new Promise((resolve) => child.once('close', resolve))
  for (const word of ['one', 'two', 'three']) {
    child.stdin.write(`${word}\n`)
    await until(
      async () => said,
      (text) => text.includes(`got ${word}\n`),
    )
  }
  child.stdin.end()
  assert.equal(await ended, 0)
  assert.equal(said, 'got one\ngot two\ngot three\n')
})

const seat = (words: string[], origin = server.origin) =>
  seatAt(keeper.client, ['sh', program, ...words], { env: { ...env, UK_ORIGIN: origin } })

test('a terminal opens in the local size, can be detached and reattached, and returns its exit code', async () => {
  const first = await seat(['computer', 'ssh', 'box', '--shell', '/bin/sh'])
  await first.sees(/Press Enter ~ \. to detach/)
  await first.type('stty size; FRUIT=quince\r')
  await first.sees(/\n30 90\r/)
  await first.resize(100, 40)
  // The resize signal and typed text reach the program by separate paths.
  await first.type('until stty size | grep "^40 100"; do sleep 0.1; done\r')
  await first.sees(/\n40 100\r/)
  await first.type('~.')
  const said = await first.sees(/--terminal (\S+)/)
  assert.equal(await first.exitCode(), 0)
  const again = await seat(['computer', 'ssh', 'box', '--terminal', /--terminal (\S+)/.exec(said)![1]!])
  await again.sees(/FRUIT=quince/)
  await again.type('echo "still $FRUIT"; exit 5\r')
  await again.sees(/still quince/)
  assert.equal(await again.exitCode(), 5)
  // The local scrollback is kept.
  for (const sitting of [first, again]) assert.ok(!(await sitting.sees(/./)).includes('\x1b[3J'))
  assert.equal((await first.sees(/./)).match(/to detach/g)?.length, 1)
  const piped = await uk(['computer', 'ssh', 'box'])
  assert.equal(piped.code, 2)
  assert.match(piped.stderr, /This command needs a terminal/)
})

test('reattaching to a full-screen program redraws its screen', async () => {
  const first = await seat(['computer', 'ssh', 'box', '--shell', '/bin/sh'])
  await first.type(`printf '\\033[?1049h\\033[5;7Hpic''ture'; cat >/dev/null\r`)
  await first.sees(/picture/)
  await first.type('\r~.')
  const [, terminalId] = /--terminal (\S+)/.exec(await first.sees(/--terminal (\S+)/))!
  assert.equal(await first.exitCode(), 0)
  const again = await seat(['computer', 'ssh', 'box', '--terminal', terminalId!])
  await again.sees(/\[\?104[79]h[^]*picture/)
  await again.type('\r\x04exit 0\r')
  assert.equal(await again.exitCode(), 0)
})

test('input sent during a disconnect is typed exactly once', async () => {
  await using proxy = await proxyTo(server.origin)
  const sitting = await seat(['computer', 'ssh', 'box', '--shell', '/bin/sh'], proxy.origin)
  await sitting.type('stty -echo\r')
  for (let round = 1; round <= 3; round++) {
    await sitting.type(`echo before-$((${round} + 10))\r`)
    await sitting.sees(new RegExp(`before-${round + 10}`))
    proxy.stall('now')
    const swallowed = proxy.swallowed()
    await sitting.type(`echo during-$((${round} + 20))\r`)
    await until(
      async () => proxy.swallowed(),
      (bytes) => bytes > swallowed,
    )
    proxy.cut()
    await sitting.sees(new RegExp(`during-${round + 20}`))
  }
  await sitting.type('exit 3\r')
  assert.equal(await sitting.exitCode(), 3)
  const all = await sitting.sees(/during-23/)
  for (const what of ['during-21', 'during-22', 'during-23']) assert.equal(all.match(new RegExp(what, 'g'))?.length, 1)
})
