// Thorough: run by the merge check, or by name; it starts a process per command.
/** Commands of `uk` on a machine without an instance, and commands whose reader leaves. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { loadContracts } from '#modules/contracts.ts'
import { specials } from '#interfaces/cli/commands/specials.ts'
import { topics } from '#interfaces/cli/help/topics.ts'
import { list } from '#core/registry.ts'
import { bareDatabase, databaseUrl } from '#test/database.ts'
import { temporaryDir } from '#test/program.ts'
import { testServer } from '#test/server.ts'
import { type Ran, program, ranBy } from './uk.ts'

const place = temporaryDir('uk-untouched-')
after(() => place[Symbol.dispose]())
/** Commands that open the database and the files of an instance. */
const HOST = new Set(['doctor', 'backup', 'restore', 'admin'])
const SIGNED_OUT = '\0'
const NOBODY = 'http://127.0.0.1:9'
/** Compiled code is a cache of its own. */
const cache = join(place.path, 'cache')

/** The words of a command with a value for each that its usage requires. */
const wordsFor = ({ words, usage }: (typeof specials)[number]): string[] => [
  ...words,
  ...usage
    .replaceAll(/\[[^\]]*\]/g, '')
    .split(/\s+/)
    .filter((word) => word !== '')
    .map((word) =>
      word
        .split('|')[0]!
        .replace(/^<email>$/, 'ada@example.com')
        .replace(/^<.*>(\.\.\.)?$/, 'value'),
    ),
  ...(words[0] === 'admin' ? ['--password-stdin'] : []),
]

async function inTurns<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  const left = [...all]
  const take = async (): Promise<void> => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) await work(one)
  }
  await Promise.all([take(), take(), take()])
}

/** Every file and folder below a folder. */
const treeOf = (folder: string): string[] => readdirSync(folder, { recursive: true }).map(String).toSorted()

const noTrace = (ran: Ran, what: string): void =>
  assert.doesNotMatch(ran.err, /^\s+at .+:\d+:\d+|EPIPE|node:events/m, `${what}\n${ran.err}`)

test('commands without an instance write nothing and fail without a stack trace', async () => {
  let number = 0
  const attempts = specials.flatMap((special) =>
    // An empty data folder is only looked into by commands that work on the host.
    (HOST.has(special.words[0]!) ? [false, true] : [false]).map((made) => ({ words: wordsFor(special), made })),
  )
  const answers = new Map<string, Ran>()
  await inTurns(attempts, async ({ words, made }) => {
    const root = join(place.path, `machine-${(number += 1)}`)
    mkdirSync(join(root, 'home'), { recursive: true })
    if (made) mkdirSync(join(root, 'data'), { mode: 0o700 })
    writeFileSync(join(root, 'value'), 'a file')
    const before = treeOf(root)
    const child = spawn(program, words, {
      cwd: root,
      env: {
        PATH: process.env.PATH,
        HOME: join(root, 'home'),
        XDG_CACHE_HOME: cache,
        UK_DATA_DIR: join(root, 'data'),
        UK_ORIGIN: NOBODY,
      },
    })
    const ran = await ranBy(child, 'a long password\n')
    assert.deepEqual(treeOf(root), before, `uk ${words.join(' ')}\n${ran.out}${ran.err}`)
    noTrace(ran, words.join(' '))
    if (!made) answers.set(words.join(' '), ran)
  })
  for (const words of ['doctor', 'backup', 'admin reset-password ada@example.com --password-stdin'])
    assert.match(answers.get(words)!.out + answers.get(words)!.err, /no instance in .*set UK_DATA_DIR/s, words)
  assert.equal(answers.get('doctor')!.code, 1)
})

test('a database without an instance stays empty and is reported without its password', async () => {
  await using database = await bareDatabase()
  const root = join(place.path, 'bare')
  mkdirSync(join(root, 'home'), { recursive: true })
  const url = databaseUrl(database)
  for (const words of [['doctor'], ['backup'], ['admin', 'reset-password', 'ada@example.com', '--password-stdin']]) {
    const child = spawn(program, words, {
      cwd: root,
      env: {
        PATH: process.env.PATH,
        HOME: join(root, 'home'),
        XDG_CACHE_HOME: cache,
        UK_DATA_DIR: join(root, 'data'),
        DATABASE_URL: url,
      },
    })
    const ran = await ranBy(child, 'a long password\n')
    noTrace(ran, words.join(' '))
    if (words[0] !== 'doctor') assert.match(ran.err, /no instance in the database in DATABASE_URL/)
    const password = new URL(url).password
    assert.ok(password === '' || !(ran.out + ran.err).includes(password))
  }
  assert.deepEqual(treeOf(root), ['home'])
})

/** Runs a command whose standard output is a pipe that its reader has left before the command starts. */
function unread(words: readonly string[], env: Record<string, string>, folder: string): Promise<Ran> {
  const script = 'mkfifo "$1"; : <"$1" & exec 4>"$1"; wait $!; shift; exec "$@" >&4 4>&-'
  const child = spawn('sh', ['-c', script, 'sh', join(folder, 'fifo'), program, ...words], {
    cwd: folder,
    env: { PATH: process.env.PATH, XDG_CACHE_HOME: cache, ...env },
  })
  return ranBy(child)
}

test('every command exits quietly if its output is closed', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { key } = await alice.key()
  const chat = (await alice.post('/chats', { title: 'Trip', model: 'sim/echo' })).body.data.id as string
  const file = join(place.path, 'note.txt')
  writeFileSync(file, 'a note')
  const registry = list(await loadContracts())
  /** A command for each kind of reply. */
  const byKind: Record<string, string[]> = {
    one: ['me', 'get'],
    page: ['chats', 'list'],
    results: ['search', 'Trip'],
    stream: ['chats', 'stream', chat, 'hello'],
    bytes: ['chats', 'export', chat],
    operation: ['inference', 'images', '--model', 'sim/image', '--prompt', 'a cat'],
    deleted: ['chats', 'delete', chat],
    none: [],
  }
  const kinds = new Set(registry.map(({ endpoint }) => endpoint.reply.kind))
  assert.deepEqual(
    [...kinds].filter((kind) => !(kind in byKind)),
    [],
  )
  const commands = [
    // Signed in, some of them would run until they are stopped.
    ...specials.map((special) => [...wordsFor(special), SIGNED_OUT]),
    ...Object.keys(topics).map((topic) => ['help', topic]),
    ['help'],
    ['chats'],
    ['chats', 'list', '--help'],
    ['--version'],
    ...Object.values(byKind).flatMap((words) => (words.length === 0 ? [] : [[...words, '--json'], words])),
  ]
  let number = 0
  const host = { DATABASE_URL: databaseUrl(server.database), UK_DATA_DIR: server.database.dataDir }
  await inTurns(commands, async (words) => {
    const home = join(place.path, `home-${(number += 1)}`)
    mkdirSync(home)
    const isSignedOut = words.at(-1) === SIGNED_OUT
    const env = isSignedOut ? { ...host, UK_ORIGIN: NOBODY } : { ...host, UK_ORIGIN: server.origin, UK_KEY: key }
    const ran = await unread(
      words.filter((word) => word !== SIGNED_OUT),
      { HOME: home, ...env },
      home,
    )
    noTrace(ran, words.join(' '))
    assert.notEqual(ran.code, null, words.join(' '))
    if (words[0] === 'doctor' || words[0] === 'help') assert.deepEqual([ran.code, ran.err], [0, ''], words.join(' '))
  })
})
