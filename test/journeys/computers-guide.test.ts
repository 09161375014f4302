// Thorough: run by the merge check, or by name; a server, a daemon, llama.cpp and a sandbox, each in a process of its own.
/** Runs the commands of the computer guides. Only placeholders such as `<chat id>` are filled in. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { WebSocket } from 'ws'
import { KeeperClient } from '#daemon/keeper/client.ts'
import { call, say, script } from '#test/chats/chats.ts'
import { type TestKeeper, startKeeper } from '#test/computers/keeper.ts'
import { type Seat, seatAt } from '#test/computers/seat.ts'
import { bringEngine, engineFolder } from '#test/local-inference/daemon.ts'
import { type Shelf, shelf } from '#test/local-inference/shelf.ts'
import { needs } from '#test/needs.ts'
import { type Program, startProgram, temporaryDir } from '#test/program.ts'
import { tinyGguf } from '#test/local-inference/tiny-gguf.ts'
import { until } from '#test/until.ts'

const root = join(import.meta.dirname, '../..')
const folder = join(root, 'docs/guides/computers')
const guide = readdirSync(folder)
  .map((name) => readFileSync(join(folder, name), 'utf8'))
  .join('\n')
const run = promisify(execFile)
const works = (program: string, ...words: string[]): Promise<boolean> =>
  run(program, words).then(
    () => true,
    () => false,
  )
const [sandboxes, networks, servesPages, python] = await Promise.all([
  works('bwrap', '--version'),
  works('pasta', '--version'),
  works('python3', '--version'),
  works('python3', '-c', 'import openai'),
])

/** What other tests run: the installation and its service, settings of engines, Ollama, images (`src/modules/computers`, `src/daemon`). */
const ELSEWHERE =
  /\/install \||^uk computer (install|uninstall|status|run --engine)|"ollama"|^UK_COMPUTER_DRIVERS=docker/m
const blocks = [...guide.matchAll(/^```(sh|js|py)\n([^]*?)^```$/gm)].map(([, language, code]) => ({
  language,
  code: code!,
}))
const taken = new Set<string>()

/** The block that has this line, or a line that begins so. */
function block(begins: string): string {
  const found = blocks.find(({ code }) => code.split('\n').some((line) => line.startsWith(begins)))
  assert.ok(found, `the guide has a line that begins with ${begins}`)
  taken.add(found.code)
  return found.code
}

const stack = new AsyncDisposableStack()
after(() => stack.disposeAsync())
/** Two people, each with a home of their own. */
const alice = join(stack.use(temporaryDir('guide-')).path, 'alice')
const bob = join(alice, '../bob')
let data: string
let program: Program
let origin: string
let keeper: TestKeeper
let models: Shelf
/** What stands for `<this>` in the guide. */
const ids: Record<string, string> = {}
const model = tinyGguf()

const settings = () => ({ UK_DATA_DIR: data, UK_SIM: 'on', UK_COMPUTER_DRIVERS: sandboxes ? 'bubblewrap' : 'off' })
const environment = (home: string): Record<string, string> => ({
  PATH: `${join(root, 'bin')}:${process.env.PATH}`,
  HOME: home,
  UK_ORIGIN: origin,
  OLLAMA_HOST: 'off',
})

/** llama.cpp from where the tests keep it, and models from this machine. */
const engines = () => `--engine-gpu off --engine-folder ${engineFolder} --engine-fetch-allow ${models.host}`

/** The guide's words with what only this machine knows: its address, its people's homes, and the ids so far. */
const here = (code: string): string =>
  code
    .replaceAll('http://127.0.0.1:4242', origin)
    .replaceAll('/home/ada', alice)
    .replaceAll('https://example.com', models.origin)
    .replace('uk computer run --detach', (line) => `${line} ${engines()}`)
    .replaceAll(/<([a-z ]+)>/g, (_, name: string) => ids[name] ?? assert.fail(`nobody knows <${name}> yet`))

async function told(home: string, code: string): Promise<{ stdout: string; stderr: string }> {
  const running = run('bash', ['-euo', 'pipefail', '-c', here(code)], { cwd: home, env: environment(home) })
  // Nothing is piped in: what reads its input would wait for an end.
  running.child.stdin?.end()
  return running
}
async function shell(home: string, code: string): Promise<string> {
  const { stdout, stderr } = await told(home, code)
  return stdout + stderr
}
const seat = (home: string, code: string): Promise<Seat> =>
  seatAt(keeper.client, ['sh', '-c', here(code.trim())], { env: environment(home), cwd: home })
const idIn = (text: string): string => /\b[0-9A-HJKMNP-TV-Z]{26}\b/.exec(text)?.[0] ?? assert.fail(`no id in ${text}`)
/** A key for programs of somebody who is signed in there. */
async function keyOf(home: string): Promise<string> {
  const make = `echo 'a long password' | uk api-keys create --name programs --scopes '*' --password-stdin --json`
  return /uk_[0-9A-Za-z]{49}/.exec(await shell(home, make))![0]
}
const json = async (home: string, words: string): Promise<any> =>
  JSON.parse((await told(home, `uk ${words} --json`)).stdout)

before(async () => {
  data = stack.use(temporaryDir()).path
  for (const home of [alice, bob]) mkdirSync(home, { recursive: true })
  models = stack.use(await shelf({ '/small.gguf': model.bytes }))
  keeper = stack.use(await startKeeper())
  program = startProgram(settings())
  stack.defer(() => program[Symbol.asyncDispose]())
  origin = await program.ready
  for (const [home, name] of [
    [alice, 'Ada'],
    [bob, 'Bob'],
  ] as const)
    await shell(
      home,
      `echo 'a long password' | uk sign-up --email ${name.toLowerCase()}@example.com --name ${name} --password-stdin`,
    )
})

test('a machine is paired while signed in, and another one with a typed code', async () => {
  stack.defer(async () => {
    const client = new KeeperClient({ folder: join(alice, '.config/ukiyo/keeper') })
    const { pid } = await client.hello()
    process.kill(pid, 'SIGTERM')
    await client.close()
  })
  const said = await shell(alice, block('uk computer run --detach'))
  const pid = Number(/The daemon is running \(process (\d+)\) and connected\. Log: \S+daemon\.log/.exec(said)?.[1])
  assert.ok(pid > 0, said)
  stack.defer(() => void process.kill(pid, 'SIGTERM'))
  assert.match(said, /laptop/)
  const { data: computers } = await json(alice, 'computers list')
  ids['computer id'] = computers[0].id
  assert.deepEqual(computers[0].allows.toSorted(), ['exec', 'fs_read', 'fs_write', 'inference', 'ports', 'terminal'])

  const [make, pair] = block('uk computer-pairings create').trim().split('\n')
  const pairing = await shell(alice, make!)
  const code = /\b[0-9A-Z]{4}-[0-9A-Z]{4}\b/.exec(pairing)?.[0]
  assert.ok(code, pairing)
  const shed = join(alice, '../shed')
  mkdirSync(shed)
  const typing = await seat(shed, pair!)
  await typing.sees(/Token or code/)
  await typing.type(`${code}\r`)
  assert.equal(await typing.exitCode(), 0)
  assert.match(await typing.sees(/./), /as "shed"/)
})

test('commands run, and files, folders and piped input are copied', async () => {
  writeFileSync(join(alice, 'notes.txt'), 'a note')
  mkdirSync(join(alice, 'work/project/deep'), { recursive: true })
  writeFileSync(join(alice, 'work/project/deep/file'), 'deep')
  writeFileSync(join(alice, 'work/notes.txt'), 'another note')
  const said = await shell(
    alice,
    `cd work\n${block('uk computer cp notes.txt').replace('cp notes', 'cp --force notes')}`,
  )
  assert.match(said, /^hello\n3\npiped\n/)
  const read = (path: string): string => readFileSync(join(alice, path), 'utf8')
  assert.deepEqual([read('notes.txt'), read('work/copy.txt')], ['another note', 'another note'])
  assert.equal(read('project/deep/file'), 'deep')
  assert.match((await run('tar', ['-tf', join(alice, 'project.tar')])).stdout, /project\/deep\/file/)
})

test('a terminal keeps running through a server restart and can be reopened later', async () => {
  const typing = await seat(alice, block('uk computer ssh laptop\n'.trim()))
  await typing.sees(/[#$] /)
  await typing.type('FRUIT=quince\r')
  await typing.type('echo "it is $FRUIT"\r')
  await typing.sees(/it is quince/)
  program.child.kill('SIGTERM')
  await program.exited
  // What is typed while there is no server waits for it.
  await typing.type('echo "still $FRUIT"\r')
  program = startProgram({ ...settings(), UK_PORT: new URL(origin).port })
  assert.equal(await program.ready, origin)
  await typing.sees(/still quince/)
  await typing.type('\r~.')
  ids['terminal id'] = /--terminal (\S+)/.exec(await typing.sees(/--terminal \S+/))![1]!
  assert.equal(await typing.exitCode(), 0)
  const { url } = JSON.parse((await told(alice, `UK_KEY=${await keyOf(alice)}\n${block('curl -X POST')}`)).stdout).data
  const page = new WebSocket(url)
  const [shown] = await once(page, 'message')
  assert.ok(String(shown).length > 0)
  page.terminate()
  const back = await seat(alice, block('uk computer ssh laptop --terminal'))
  await back.sees(/still quince/)
  await back.type('echo "once more $FRUIT"; exit 5\r')
  await back.sees(/once more quince/)
  assert.equal(await back.exitCode(), 5)
})

test('a user with only command access can do nothing else until it is withdrawn', async () => {
  const [make, invite, expose] = block('uk workspaces create').trim().split('\n')
  ids['workspace id'] = idIn(await shell(alice, make!))
  ids['invitation token'] = (await json(alice, invite!.slice(3))).data.token
  await shell(alice, expose!)
  const said = await shell(bob, block('echo <invitation token>'))
  assert.match(said, new RegExp(`hello from ${alice}\n`))
  assert.match(said, /no file access[^]*fs_read/)
  const terminal = await seat(bob, 'uk computer ssh laptop')
  assert.notEqual(await terminal.exitCode(), 0)
  const [change, withdraw] = block('uk computers change-exposure').trim().split('\n')
  await shell(alice, change!)
  await shell(bob, 'uk computer cp laptop:/home/ada/notes.txt .')
  assert.equal(readFileSync(join(bob, 'notes.txt'), 'utf8'), 'another note')
  await shell(alice, withdraw!)
  await assert.rejects(shell(bob, 'uk computer exec laptop -- true'), /No computer named/)
})

test('an agent fixes a failing test in a sandbox', needs(sandboxes, 'bubblewrap'), async () => {
  const failed = await shell(alice, block('uk cloud-computers create sandbox'))
  assert.match(failed, /it fails/)
  const { data: computers } = await json(alice, 'computers list')
  ids['sandbox id'] = computers.find(({ name }: { name: string }) => name === 'sandbox').id
  const [agent, chat, ask, ...rest] = block('uk agents create').trim().split('\n')
  // A model that is not there plays what one would do.
  ids['agent id'] = idIn(await shell(alice, agent!.replace(/--model \S+/, '--model sim/script')))
  ids['chat id'] = idIn(await shell(alice, chat!))
  const task = /'(.*)'/.exec(ask!)![1]!
  assert.match(task, /<sandbox id>/)
  const exec = (command: string) =>
    call('computers_exec', { id: ids['sandbox id'], command: `cd /home/user/sum && ${command}` })
  const played = script(
    [exec('sh test.sh; cat add.sh')],
    [exec("sed -i 's/-/+/' add.sh && sh test.sh")],
    [say('Fixed.')],
  )
  assert.match(await shell(alice, ask!.replace(task, played)), /Fixed\./)
  const passed = await shell(alice, rest.join('\n'))
  assert.match(passed, /passed/)
  assert.equal(readFileSync(join(alice, 'fixed/add.sh'), 'utf8'), 'echo $(($1 + $2))\n')
  await shell(alice, 'uk computers delete <sandbox id>')
})

test('a page from a program there opens once at a separate origin', needs(servesPages, 'python3'), async () => {
  const free = createServer().listen(0, '127.0.0.1')
  await once(free, 'listening')
  const port = String((free.address() as AddressInfo).port)
  free.close()
  await once(free, 'close')
  mkdirSync(join(alice, 'site'))
  writeFileSync(join(alice, 'site/index.html'), 'the page')
  const [start, ...look] = block('uk computers port-ticket').replaceAll('5173', port).trim().split('\n')
  const operation = (await told(alice, start!)).stdout.trim()
  const answers = () =>
    fetch(`http://127.0.0.1:${port}`).then(
      ({ ok }) => ok,
      () => false,
    )
  await until(answers, Boolean)
  const said = await shell(alice, look.join('\n'))
  assert.match(said, new RegExp(`\\b${port}\\b`))
  const url = new URL(
    /http:\/\/\S*ticket\S*|http:\/\/p\d+-\S+/.exec(said.split('\n').findLast((line) => line.includes('http'))!)![0],
  )
  const visit = (path: string, headers: Record<string, string> = {}) =>
    new Promise<{ status: number; cookie: string; location: string; text: string }>((resolve, reject) => {
      // As a browser does that finds `*.localhost` by itself.
      request({ host: '127.0.0.1', port: url.port, path, headers: { host: url.host, ...headers } }, (response) => {
        let text = ''
        response.on('data', (part: Buffer) => (text += String(part)))
        response.on('end', () =>
          resolve({
            status: response.statusCode!,
            cookie: (response.headers['set-cookie'] ?? []).map((one) => one.split(';')[0]).join('; '),
            location: response.headers.location ?? '/',
            text,
          }),
        )
      })
        .on('error', reject)
        .end()
    })
  const entered = await visit(url.pathname + url.search)
  assert.ok(entered.status >= 300 && entered.status < 400, `${entered.status} ${entered.text}`)
  const seen = await visit(new URL(entered.location, url).pathname, { cookie: entered.cookie })
  assert.deepEqual([seen.status, seen.text], [200, 'the page'])
  assert.notEqual((await visit('/')).text, 'the page')
  const again = await visit(url.pathname + url.search)
  assert.ok(again.status >= 400 || again.cookie === '', String(again.status))
  await shell(alice, `uk operations cancel ${operation}`)
  await until(answers, (there) => !there)
})

test('a local model answers OpenAI’s SDK', async () => {
  await bringEngine()
  await shell(alice, block('uk computers local-inference'))
  const key = await keyOf(alice)
  // The path of the packages: a reader has installed them beside the program.
  const linked = here(block('import OpenAI from')).replaceAll(
    /from '([^']+)'/g,
    (_, name: string) => `from '${import.meta.resolve(name)}'`,
  )
  writeFileSync(join(alice, 'local.mjs'), linked)
  const env = { ...environment(alice), UK_KEY: key, OPENAI_API_KEY: key }
  const { stdout } = await run(process.execPath, [join(alice, 'local.mjs')], { env })
  assert.ok(stdout.length > 1, stdout)
  const words = here(block('from openai import'))
  if (!python) return
  writeFileSync(join(alice, 'local.py'), words)
  assert.ok((await run('python3', [join(alice, 'local.py')], { env })).stdout.length > 1)
})

test('a cloud computer is created, kept and stopped', needs(sandboxes, 'bubblewrap'), async () => {
  const lines = block('uk cloud-computers drivers').trim().split('\n')
  const [drivers, create, exec, ...rest] = lines.map((line) =>
    networks ? line : line.replace('--network internet', '--network none'),
  )
  assert.match(await shell(alice, drivers!), /bubblewrap/)
  await shell(alice, create!)
  const { data: computers } = await json(alice, 'computers list')
  ids['box id'] = computers.find(({ name }: { name: string }) => name === 'box').id
  assert.match(await shell(alice, exec!), /^Linux/)
  const [snapshot, stop, start] = rest
  const lifecycle = async () => (await json(alice, `computers get ${ids['box id']}`)).data.lifecycle
  await shell(alice, snapshot!)
  for (const [line, state] of [
    [stop, 'stopped'],
    [start, 'running'],
  ] as const) {
    assert.match(await shell(alice, line!), new RegExp(`lifecycle\\s+${state}`))
    assert.equal(await lifecycle(), state)
  }
  assert.match(await shell(alice, 'uk computer exec box -- echo it is back'), /^it is back$/m)
  await shell(alice, 'uk computers delete <box id>')
})

test(
  'every code block of the guides was run',
  { skip: !(sandboxes && servesPages) && 'needs bubblewrap and python3' },
  () => {
    const left = blocks.filter(({ code }) => !taken.has(code) && !ELSEWHERE.test(code))
    assert.deepEqual(left, [])
  },
)
