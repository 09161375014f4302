import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { KeeperClient } from '#daemon/keeper/client.ts'
import { agentOf } from './launchd.ts'
import { type Installed, nameFor } from './names.ts'
import { systemd, unitsOf } from './systemd.ts'
import { type Machine, WITH_NODE, machine } from '#test/computers/installed.ts'
import { needs } from '#test/needs.ts'
import { signalAll, temporaryDir } from '#test/program.ts'
import { testServer } from '#test/server.ts'
import { until } from '#test/until.ts'

const server = await testServer()
after(() => server[Symbol.asyncDispose]())
const alice = await server.person('Alice')

const parts = {
  server: 'https://uk.example.com/100%',
  daemon: ['/home/a b/node', '/home/a b/$HOME/100%/uk.mjs', 'computer', 'run'],
  keeper: ['/bin/node', 'keeper', '/home/a "b"\\c/keeper'],
  environment: { PATH: '/bin:/opt/100%/bin', WORDS: 'two "words" $HOME' },
}
/** Returns the arguments of a unit's command line. */
const wordsOf = (unit: string): string[] =>
  [.../^ExecStart=(.*)$/m.exec(unit)![1]!.matchAll(/"((?:\\.|[^"\\])*)"/g)].map(([, word]) =>
    word!.replaceAll(/\\(.)/g, '$1').replaceAll('%%', '%').replaceAll('$$', '$'),
  )

const analyze = existsSync('/usr/bin/systemd-analyze')

test('the units are valid for systemd and quote every argument', needs(analyze, 'systemd-analyze'), () => {
  using folder = temporaryDir('units-')
  // systemd-analyze checks that the programs exist.
  const program = join(folder.path, 'a b 100%')
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 })
  const units = unitsOf({ ...parts, daemon: [program, ...parts.daemon], keeper: [program, ...parts.keeper] })
  for (const [name, text] of Object.entries(units)) writeFileSync(join(folder.path, name), text)
  const output = execFileSync('sh', ['-c', 'systemd-analyze verify --user ./*.service 2>&1; exit 0'], {
    cwd: folder.path,
    env: { PATH: WITH_NODE, HOME: folder.path, XDG_RUNTIME_DIR: folder.path },
  })
  assert.equal(String(output), '')
  const [daemon, keeper] = Object.values(units)
  assert.deepEqual(wordsOf(daemon!), [program, ...parts.daemon, '--keeper-unit', 'ukiyo-keeper.service'])
  assert.deepEqual(wordsOf(keeper!), [program, ...parts.keeper, '--idle-ms', '0'])
  assert.throws(() => unitsOf({ ...parts, keeper: ['/bin/a\nExecStartPre=/bin/evil'] }), /control characters/)
  assert.throws(() => unitsOf({ ...parts, keeper: ['/home/o"brien/node'] }), /can't start a program with quotes/)
})

test('each daemon’s service is named after its computer, and older services keep their name', async () => {
  const installed: Installed[] = [
    { name: '', folder: '/home/ada/.config/ukiyo' },
    { name: 'laptop', folder: null },
    { name: 'laptop-2', folder: '/home/ada/work' },
  ]
  assert.equal(nameFor('/home/ada/.config/ukiyo', 'Laptop', installed), '')
  assert.equal(nameFor('/home/ada/work', 'Renamed', installed), 'laptop-2')
  assert.equal(nameFor('/home/ada/third', 'Laptop', installed), 'laptop-3')
  assert.equal(nameFor('/home/ada/third', 'Adas großer Rechner #1', []), 'adas-gro-er-rechner-1')
  assert.equal(nameFor('/home/ada/third', '計算機', []), 'machine')
  // Read from the files.
  using home = temporaryDir('units-')
  const units = join(home.path, 'systemd/user')
  mkdirSync(units, { recursive: true })
  const old = { ...parts, environment: { UK_CONFIG_DIR: '/home/ada/.config/ukiyo' } }
  for (const [name, text] of Object.entries(unitsOf(old))) writeFileSync(join(units, name), text)
  const statusOf = (folder: string) => systemd({ XDG_CONFIG_HOME: home.path }, folder).status()
  assert.equal((await statusOf('/home/ada/.config/ukiyo'))?.name, 'ukiyo-computer.service')
  assert.equal(await statusOf('/home/ada/.config'), null)
  assert.equal(await systemd({ XDG_CONFIG_HOME: home.path }, '/home/ada/work').uninstall(), false)
  assert.equal(readdirSync(units).length, 2)
})

test('the launchd agent preserves every argument, with any characters', () => {
  const agent = agentOf({ ...parts, daemon: ['/a & b/<node>', 'run'] })
  assert.match(agent, /<string>\/a &amp; b\/&lt;node&gt;<\/string>\n {4}<string>run<\/string>/)
  assert.match(agent, /<key>KeepAlive<\/key><true\/>/)
})

/** A `systemctl` that logs its arguments and starts units detached from its caller. */
function fakeSystemd(box: Machine, folder: string): () => string[] {
  const log = join(folder, 'told')
  const units = join(box.home, '.config/systemd/user')
  const program = `#!${process.execPath}
const fs = process.getBuiltinModule('node:fs')
const words = process.argv.slice(2)
fs.appendFileSync(${JSON.stringify(log)}, words.join(' ') + '\\n')
if (words.includes('is-active')) console.log('active')
if (words.includes('start')) {
  const text = fs.readFileSync(${JSON.stringify(`${units}/`)} + words.at(-1), 'utf8')
  const line = [.../^ExecStart=(.*)$/m.exec(text)[1].matchAll(/"((?:\\\\.|[^"\\\\])*)"/g)].map(([, word]) => word)
  process.getBuiltinModule('node:child_process').spawn(line[0], line.slice(1), { detached: true, stdio: 'ignore' }).unref()
}
`
  for (const [name, text] of [
    ['systemctl', program],
    ['loginctl', '#!/bin/sh\necho "Could not enable linger: Access denied" >&2\nexit 1\n'],
  ] as const) {
    writeFileSync(join(folder, name), text)
    chmodSync(join(folder, name), 0o755)
  }
  return () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [])
}

test('killing the daemon’s service with all its processes stops no shell, because the keeper has a separate service', async () => {
  using tools = temporaryDir('systemd-')
  await using box = machine(`${tools.path}:${WITH_NODE}`)
  const commands = fakeSystemd(box, tools.path)
  const result = await box.install(server.origin, alice, ['--allow', 'exec,terminal'])
  assert.equal(result.code, 0, result.output)
  assert.match(
    result.output,
    /stops when you log out, since `loginctl enable-linger` failed \(Could not enable linger: Access denied\)/,
  )
  const { name } = (await alice.get(`/computers/${box.computerId()}`)).body.data
  const daemonUnit = `ukiyo-computer-${nameFor('', name, [])}.service`
  const keeperUnit = `ukiyo-keeper-${nameFor('', name, [])}.service`
  assert.deepEqual(commands(), [
    '--user show-environment',
    '--user show-environment',
    '--user daemon-reload',
    `--user enable ${daemonUnit}`,
    `--user restart ${daemonUnit}`,
  ])
  const units = join(box.home, '.config/systemd/user')
  const unit = readFileSync(join(units, daemonUnit), 'utf8')
  const [file, ...words] = wordsOf(unit)
  const daemons: ChildProcess[] = []
  /** Starts the unit's command as systemd does, with only the environment the unit defines. */
  const begin = async (): Promise<ChildProcess> => {
    const surroundings = [...unit.matchAll(/^Environment="(\w+)=(.*)"$/gm)].map(([, name, value]) => [name, value])
    const env = { HOME: box.home, ...Object.fromEntries(surroundings) }
    const daemon = spawn(file!, words, { env, detached: true, stdio: 'ignore' })
    daemons.push(daemon)
    await until(
      async () => box.pid(),
      (pid) => pid === daemon.pid,
    )
    await until(
      async () => (await alice.get(`/computers/${box.computerId()}`)).body.data.connection,
      (connection) => connection === 'online',
    )
    return daemon
  }
  const daemon = await begin()
  assert.ok(commands().includes(`--user start --no-block ${keeperUnit}`))
  const terminal = async (input: object) =>
    (await alice.post(`/computers/${box.computerId()}/terminal`, input)).body.data
  const { terminal_id } = await terminal({ action: 'open', argv: ['sh', '-i'] })
  await terminal({ action: 'write', terminal_id, data: 'WORD=kept\n' })
  const keeper = (await new KeeperClient({ folder: join(box.folder, 'keeper') }).find())!
  assert.deepEqual(descendants(daemon.pid!).includes(keeper.pid), false)

  signalAll([daemon.pid!, ...descendants(daemon.pid!)], 'SIGKILL')
  await until(
    async () => box.pid(),
    (pid) => pid === null,
  )
  await begin()
  await terminal({ action: 'write', terminal_id, data: 'echo "it is $WORD"\n' })
  await until(
    async () => (await terminal({ action: 'read', terminal_id, from: 0 }))?.data as string,
    (data) => data?.includes('it is kept'),
  )

  const status = JSON.parse((await box.uk('computer', 'status', '--json')).output)
  assert.deepEqual([status.service, status.daemon_pid, status.keeper_pid], ['active', box.pid(), keeper.pid])
  // Running it again changes the permissions. The running daemon stops first, so the service finds its place
  // free.
  const again = await box.uk('computer', 'install', '--allow', 'exec')
  assert.equal(again.code, 0, again.output)
  assert.equal(box.pid(), null)
  assert.deepEqual(JSON.parse((await box.uk('computer', 'status', '--json')).output).allows, ['exec'])

  const before = commands().length
  const removal = await box.uk('computer', 'uninstall')
  assert.equal(removal.code, 0, removal.output)
  assert.deepEqual(commands().slice(before), [
    `--user disable --now ${daemonUnit}`,
    `--user stop ${keeperUnit}`,
    '--user daemon-reload',
  ])
  assert.deepEqual(readdirSync(units), [])
  const twice = await box.uk('computer', 'uninstall')
  assert.deepEqual([twice.code, /isn't installed as a service/.test(twice.output)], [3, true])
})

test('without systemd, the command reports that and writes nothing', async () => {
  using tools = temporaryDir('none-')
  writeFileSync(join(tools.path, 'systemctl'), '#!/bin/sh\necho "Failed to connect to bus" >&2\nexit 1\n', {
    mode: 0o755,
  })
  await using box = machine(`${tools.path}:${WITH_NODE}`)
  const result = await box.install(server.origin, alice)
  assert.match(result.output, /is running \(process \d+\) and connected/)
  const { code, output } = await box.uk('computer', 'install')
  assert.equal(code, 1)
  assert.match(output, /systemd isn't available for this user: Failed to connect to bus\.[^]*uk computer run --detach/)
  assert.equal(existsSync(join(box.home, '.config/systemd')), false)
  // The running daemon was left alone.
  assert.notEqual(box.pid(), null)
})

function descendants(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return children === '' ? [] : children.split(' ').flatMap((child) => [Number(child), ...descendants(Number(child))])
}
