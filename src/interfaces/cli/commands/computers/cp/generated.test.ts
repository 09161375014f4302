/** Files generated on reading have no true size. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { program, ranBy } from '#test/cli/uk.ts'
import { daemonHome, runDaemonAt } from '#test/link/run-daemon.ts'
import { pairedComputer } from '#test/makers.ts'
import { needs } from '#test/needs.ts'
import { temporaryDir } from '#test/program.ts'
import { type Person, type TestServer, testServer } from '#test/server.ts'
import { PATIENCE_MS } from '#test/until.ts'

/** Stable between reads: one without a size, one with the size of a page. */
const GENERATED = ['/proc/version', '/proc/filesystems', '/sys/class/net/lo/mtu'].filter(
  (path) => existsSync(path) && statSync(path).size !== readFileSync(path).length,
)
const FOLDER = '/proc/sys/kernel/pty'
const linux = needs(process.platform === 'linux' && GENERATED.length > 0, 'files that Linux generates')

const stack = new AsyncDisposableStack()
let server: TestServer
let alice: Person
let key: string
/** A local folder and one on each computer. */
let here: string
let there: string

before(async () => {
  server = stack.use(await testServer())
  alice = await server.person('Alice')
  key = (await alice.key()).key
  const room = stack.use(temporaryDir())
  here = join(room.path, 'here')
  there = join(room.path, 'there')
  for (const folder of [here, there]) mkdirSync(folder)
  for (const name of ['box', 'other']) {
    const paired = await pairedComputer(alice)
    await alice.patch(`/computers/${paired.id}`, { name })
    stack.use(await runDaemonAt(stack.use(daemonHome()), server.origin, paired))
    assert.ok(await server.app.engine.links.online(paired.id, PATIENCE_MS))
  }
})
after(() => stack.disposeAsync())

const uk = async (...words: string[]): Promise<string> => {
  const env = { PATH: process.env.PATH!, HOME: here, UK_ORIGIN: server.origin, UK_KEY: key }
  const { code, out, err } = await ranBy(spawn(program, words, { cwd: here, env }), '')
  assert.equal(code, 0, `${words.join(' ')}: ${err}`)
  return out
}

const nameOf = (path: string): string => path.split('/').at(-1)!
const on = (computer: string, path: string): string => `${computer}:${path}`

test(
  'generated files are copied whole: from a computer, to one, between two, through a link and to a pipe',
  linux,
  async () => {
    const places = ['came', 'linked'].map((name) => join(here, name))
    const sent = ['sent', 'between', 'links'].map((name) => join(there, name))
    for (const folder of [...places, ...sent]) mkdirSync(folder)
    for (const path of GENERATED) symlinkSync(path, join(there, 'links', nameOf(path)))
    await uk('computer', 'cp', ...GENERATED.map((path) => on('box', path)), 'came')
    await uk('computer', 'cp', ...GENERATED, on('box', sent[0]!))
    await uk('computer', 'cp', ...GENERATED.map((path) => on('box', path)), on('other', sent[1]!))
    await uk('computer', 'cp', '-r', on('box', `${there}/links/.`), 'linked')
    for (const path of GENERATED)
      for (const folder of [...places, ...sent.slice(0, 2)])
        assert.equal(readFileSync(join(folder, nameOf(path)), 'utf8'), readFileSync(path, 'utf8'), `${folder} ${path}`)
    const [first] = GENERATED
    assert.equal(await uk('computer', 'cp', on('box', first!), '-'), readFileSync(first!, 'utf8'))
  },
)

test(
  'folders of generated files are copied whole',
  { ...linux, ...(!existsSync(FOLDER) && { skip: FOLDER }) },
  async () => {
    await uk('computer', 'cp', '-r', on('box', FOLDER), 'folder')
    // The number of open terminals changes during the test.
    for (const name of readdirSync(FOLDER).filter((one) => one !== 'nr'))
      assert.equal(readFileSync(join(here, 'folder', name), 'utf8'), readFileSync(join(FOLDER, name), 'utf8'), name)
  },
)

test('generated files are uploaded to the drive whole, under their names', linux, async () => {
  const ids = (await uk('drive', 'upload', ...GENERATED, '-q', 'id')).trim().split('\n')
  for (const [n, path] of GENERATED.entries()) {
    const { data } = (await alice.get(`/drive/files/${ids[n]}/metadata`)).body
    const stored = await fetch(`${server.origin}/v1/drive/files/${ids[n]}`, { headers: alice.headers })
    assert.deepEqual([data.name, await stored.text()], [nameOf(path), readFileSync(path, 'utf8')])
  }
})
