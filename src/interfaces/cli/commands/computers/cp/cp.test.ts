// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { join, relative } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type Proxy, proxyTo } from '#test/link/proxy.ts'
import { daemonHome, runDaemonAt } from '#test/link/run-daemon.ts'
import { pairedComputer } from '#test/makers.ts'
import { temporaryDir } from '#test/program.ts'
import { type Person, type TestServer, testServer } from '#test/server.ts'
import { PATIENCE_MS } from '#test/until.ts'
import { placeOf } from './cp.ts'
import { lineOf } from '../../../output/progress.ts'

const program = fileURLToPath(new URL('../../../../../../bin/uk', import.meta.url))
const stack = new AsyncDisposableStack()
let server: TestServer
let alice: Person
let proxy: Proxy
let env: Record<string, string>
let box: string
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
    if (name === 'box') box = paired.id
    assert.equal((await alice.patch(`/computers/${paired.id}`, { name })).status, 200)
    stack.use(await runDaemonAt(home, server.origin, paired))
    assert.ok(await server.app.engine.links.online(paired.id, PATIENCE_MS))
  }
  proxy = stack.use(await proxyTo(server.origin))
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
/** A folder's kinds, modes, times, sizes, names and contents, read by another program. */
const seen = (folder: string): string =>
  execFileSync(
    'sh',
    [
      '-c',
      'find . -printf "%y %m %Ts %s %p\\n" | grep -v "^d" | sort; find . -type d | sort; find . -type f | sort | xargs -d "\\n" sha256sum',
    ],
    {
      cwd: folder,
      encoding: 'latin1',
    },
  )

test('a path is remote if it has a colon before any slash', () => {
  assert.deepEqual(placeOf('box:/a:b'), { type: 'there', computer: 'box', path: '/a:b' })
  assert.deepEqual(placeOf('./a:b'), { type: 'here', path: './a:b' })
  assert.deepEqual(placeOf('/a:b'), { type: 'here', path: '/a:b' })
  assert.deepEqual(placeOf(':x'), { type: 'here', path: ':x' })
  assert.deepEqual(placeOf('-'), { type: 'pipe' })
})

test('a file is copied both ways, into a folder or under a new name, with its time and permissions', async () => {
  const bytes = randomBytes(3_000_000)
  const names = ['plain', 'two words and a tab\t', 'a:colon', '-dash', 'ünï', '"quoted" \'$HOME\' *', 'new\nline']
  for (const name of names) {
    writeFileSync(join(here, name), bytes, { mode: 0o755 })
    utimesSync(join(here, name), 1_700_000_000, 1_700_000_000.123)
    await done('--', `./${name}`, `box:${there}`)
    const sent = statSync(join(there, name))
    assert.deepEqual([sent.mode & 0o777, Math.floor(sent.mtimeMs), sent.size], [0o755, 1_700_000_000_123, bytes.length])
    rmSync(join(here, name))
    await done(`box:${join(there, name)}`, '.')
    assert.equal(sha(readFileSync(join(here, name))), sha(bytes))
    const back = statSync(join(here, name))
    assert.deepEqual([back.mode & 0o777, Math.floor(back.mtimeMs)], [0o755, 1_700_000_000_123])
  }
  await done('plain', `box:${there}/renamed`)
  await done(`box:${there}/renamed`, 'renamed')
  writeFileSync(join(here, 'empty'), '')
  await done('empty', `box:${there}/`)
  assert.equal(statSync(join(there, 'empty')).size, 0)
  await done('plain', 'renamed', 'empty', `box:${there}`)
  assert.deepEqual(
    readdirSync(there).filter((name) => name.includes('.part')),
    [],
  )
})

test('existing files are replaced only with --force, and identical ones are skipped', async () => {
  writeFileSync(join(here, 'once'), 'first')
  await done('once', `box:${there}/once`)
  await done('once', `box:${there}/once`)
  writeFileSync(join(here, 'once'), 'second, longer')
  const refused = await cp('once', `box:${there}/once`)
  assert.equal(refused.code, 5)
  assert.match(refused.said, /box:\S+\/once already exists\.[^]*--force/)
  assert.equal(readFileSync(join(there, 'once'), 'utf8'), 'first')
  await done('-f', 'once', `box:${there}/once`)
  assert.equal(readFileSync(join(there, 'once'), 'utf8'), 'second, longer')
  writeFileSync(join(here, 'once'), 'mine')
  assert.equal((await cp(`box:${there}/once`, 'once')).code, 5)
  await done('--force', `box:${there}/once`, 'once')
  assert.equal(readFileSync(join(here, 'once'), 'utf8'), 'second, longer')
})

test('a dash is stdin or stdout of any length', async () => {
  for (const size of [0, 5, 8 << 20, (20 << 20) + 7]) {
    const bytes = randomBytes(size)
    const piped = await start(['-', `box:${there}/piped-${size}`], bytes).ended
    assert.equal(piped.code, 0, piped.said)
    assert.equal(sha(readFileSync(join(there, `piped-${size}`))), sha(bytes))
    const { code, out, said } = await cp(`box:${there}/piped-${size}`, '-')
    assert.deepEqual([code, out.length, sha(out)], [0, size, sha(bytes)], said)
  }
  const again = await start(['-', `box:${there}/piped-5`], Buffer.from('x')).ended
  assert.equal(again.code, 5)
  assert.equal((await start(['-', `box:${there}`], Buffer.from('x')).ended).code, 2)
})

test('folders are copied recursively both ways and between computers, including names that are not UTF-8', async () => {
  const tree = join(here, 'tree')
  mkdirSync(join(tree, 'deep/er'), { recursive: true })
  mkdirSync(join(tree, 'nothing'))
  for (let n = 0; n < 30; n++) writeFileSync(join(tree, 'deep', `file ${n}`), `content ${n}`.repeat(n))
  writeFileSync(join(tree, 'deep/er/run'), '#!/bin/sh\n', { mode: 0o750 })
  const odd = Buffer.concat([Buffer.from(`${tree}/caf`), Buffer.of(0xe9, 0x25)])
  mkdirSync(odd)
  writeFileSync(Buffer.concat([odd, Buffer.from('/'), Buffer.of(0xff, 0xfe)]), 'bytes')
  assert.match((await cp('tree', `box:${there}`)).said, /tree is a folder[^]*-r/)
  await done('-r', 'tree', `box:${there}`)
  assert.equal(seen(join(there, 'tree')), seen(tree))
  // The second copy sends nothing.
  const before = statSync(join(there, 'tree/deep/file 7')).ino
  await done('-r', 'tree', `box:${there}`)
  assert.equal(statSync(join(there, 'tree/deep/file 7')).ino, before)
  await done('-r', `box:${there}/tree`, 'back')
  assert.equal(seen(join(here, 'back')), seen(tree))
  await done('-r', `box:${there}/tree/.`, `other:${there}/across`)
  assert.equal(seen(join(there, 'across')), seen(tree))
  await done('-r', 'tree/.', `box:${there}/across`)
  // A different file at the target stops it.
  writeFileSync(join(there, 'across/deep/file 7'), 'mine')
  const refused = await cp('-r', 'tree/.', `box:${there}/across`)
  assert.deepEqual([refused.code, readFileSync(join(there, 'across/deep/file 7'), 'utf8')], [5, 'mine'])
  await done('-r', '-f', 'tree/.', `box:${there}/across`)
  assert.equal(seen(join(there, 'across')), seen(tree))
  const itself = await cp('-r', `box:${there}/tree`, `box:${there}/tree/deep`)
  assert.deepEqual([itself.code, existsSync(join(there, 'tree/deep/tree'))], [2, false])
})

test('a symlink to a file is copied as the file; other entries are skipped, reported, and set the exit code', async () => {
  const odd = join(there, 'odd')
  mkdirSync(join(odd, 'sub'), { recursive: true })
  writeFileSync(join(odd, 'file'), 'content')
  symlinkSync('file', join(odd, 'to-file'))
  symlinkSync('.', join(odd, 'circle'))
  symlinkSync('nowhere', join(odd, 'dangling'))
  execFileSync('mkfifo', [join(odd, 'pipe')])
  // If copied, the next copy would try to resume it.
  writeFileSync(join(odd, '.uk-copy-0123456789abcdef.part.7'), 'of a stranger')
  const { code, said } = await cp('-r', `box:${odd}`, 'odd')
  assert.equal(code, 1)
  for (const name of ['circle', 'dangling', 'pipe', '.uk-copy-0123456789abcdef.part.7'])
    assert.match(said, new RegExp(`Skipped .*odd/${name}: `))
  assert.deepEqual(readdirSync(join(here, 'odd')).toSorted(), ['file', 'sub', 'to-file'])
  assert.equal(readFileSync(join(here, 'odd/to-file'), 'utf8'), 'content')
  // The other direction, with some files already there.
  rmSync(join(odd, 'to-file'))
  symlinkSync('file', join(here, 'odd/again'))
  execFileSync('mkfifo', [join(here, 'odd/pipe2')])
  assert.equal((await cp('-r', 'odd/.', `box:${odd}`)).code, 1)
  assert.equal(readFileSync(join(odd, 'again'), 'utf8'), 'content')
  assert.equal((await cp(`box:${odd}/pipe`, 'x')).code, 2)
})

test('a relative path is below the home folder, as in scp', async () => {
  const name = 'from-the-home'
  // Only reads the home folder of the test user.
  const below = relative(homedir(), there)
  writeFileSync(join(here, name), 'a note')
  await done(name, `box:${below}`)
  assert.equal(readFileSync(join(there, name), 'utf8'), 'a note')
  for (const path of [`${below}/${name}`, `~/${below}/${name}`]) {
    const { code, out, said } = await cp(`box:${path}`, '-')
    assert.deepEqual([code, out.toString()], [0, 'a note'], said)
  }
  for (const home of ['box:', 'box:~', 'box:.']) {
    const { code, said } = await cp(home, '.')
    assert.equal(code, 2)
    assert.match(said, new RegExp(`${homedir()}[./]* is a folder`))
  }
})

test('the progress line fits the terminal with any name', () => {
  const state = { size: 200_000_000, at: 50_000_000, files: 0, others: 0, moved: 50_000_000, ms: 10_000 }
  assert.equal(
    lineOf({ ...state, name: 'data.bin' }, 80),
    'data.bin              25 %  50.0 MB of 200 MB  5.0 MB/s  0:30 left',
  )
  for (const columns of [10, 40, 80, 200])
    for (const name of ['漢字'.repeat(40), 'x\x1b[2Jy\n', ''])
      assert.ok(lineOf({ ...state, name, files: 12 }, columns).length < columns)
  assert.doesNotMatch(lineOf({ ...state, name: 'x\x1b[2Jy\n' }, 80), /\p{Cc}/u)
  assert.match(lineOf({ ...state, name: '-', size: null }, 80), /50\.0 MB {2}5\.0 MB\/s$/)
})

test('invalid copies fail with a hint', async () => {
  writeFileSync(join(here, 'file'), 'x')
  for (const [words, code, said] of [
    [['file'], 2, /Pass a source and a target/],
    [['file', 'copy'], 2, /must be on a computer[^]*\.\/file:name/],
    [['file', 'box:~bob/x'], 2, /only ~ itself is supported[^]*\/home\/NAME/],
    [['file', 'nobody:/tmp/x'], 3, /No computer named "nobody"/],
    [['missing', 'box:/tmp/'], 3, /missing doesn't exist/],
    [[`box:${there}/missing`, '.'], 3, /missing doesn't exist/],
    [['file', `box:${there}/no/such/`], 3, /isn't a folder/],
    [['file', `box:${there}/no/such`], 3, /The path doesn’t exist/],
    [['file', 'file', `box:${there}/none`], 3, /isn't a folder/],
    [['-x', 'file', 'box:/'], 2, /Unknown option -x/],
    [['box:/etc', '-'], 2, /is a folder/],
    [['-r', 'box:/etc', '-'], 2, /Can't write a folder to stdout/],
  ] as const) {
    const ended = await cp(...words)
    assert.match(ended.said, said)
    assert.equal(ended.code, code, `${words.join(' ')}: ${ended.said}`)
  }
  chmodSync(join(here, 'file'), 0o644)
  await alice.patch(`/computers/${box}`, { name: 'renamed' })
  assert.equal((await cp('file', `${box}:${there}/by-id`)).code, 0)
  await alice.patch(`/computers/${box}`, { name: 'box' })
})
