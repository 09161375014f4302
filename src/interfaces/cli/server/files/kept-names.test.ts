/** Uploaded files and folders keep their names, or are rejected with the rule. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { program, type Ran, ranBy } from '#test/cli/uk.ts'
import { temporaryDir } from '#test/program.ts'
import { type Person, type TestServer, testServer } from '#test/server.ts'
import { exits } from '../../exit.ts'
import { SMALL } from '../upload.ts'

const NAMES = [
  'plan "B" 50%.txt',
  'notes\\draft.txt',
  'ends with a backslash\\',
  'two\\\\backslashes.txt',
  '%23 %0E %2F %zz.txt',
  "it's; filename=x.txt",
  '@at.txt',
  '-dash.txt',
  '--name.txt',
  ' leading and trailing ',
  'dots. . .',
  'CON.txt',
  'why? <a|b>: *.txt',
  'Grüße 请 😀.txt',
  'x'.repeat(255),
  '请'.repeat(85),
]
const REFUSED = ['a\nb.txt', 'a\tb.txt', '\u202egpj.exe', ' ']

const stack = new AsyncDisposableStack()
let server: TestServer
let alice: Person
let key: string
let dir: string

before(async () => {
  server = stack.use(await testServer())
  alice = await server.person('Alice')
  key = (await alice.key()).key
  dir = stack.use(temporaryDir('uk-names-')).path
})
after(() => stack.disposeAsync())

const upload = (cwd: string, ...words: string[]): Promise<Ran> => {
  const env = { PATH: process.env.PATH, HOME: dir, UK_KEY: key, UK_ORIGIN: server.origin }
  return ranBy(spawn(program, ['drive', 'upload', ...words], { cwd, env }))
}
const namesIn = async (parent: string): Promise<string[]> =>
  (await alice.get(`/drive/files?parent_id=${parent}&limit=100`)).body.data
    .map(({ name }: { name: string }) => name)
    .toSorted()
const folder = async (name: string): Promise<string> =>
  (await alice.post('/drive/files/folders', { workspace_id: alice.workspaceId, name })).body.data.id

test('files keep their names, small and large', async () => {
  const source = join(dir, 'files')
  mkdirSync(source)
  const large = new Set(NAMES.slice(0, 4))
  for (const name of NAMES) writeFileSync(join(source, name), Buffer.alloc(large.has(name) ? SMALL + 1 : 1))
  const goal = await folder('files')
  const { code, err } = await upload(source, '--parent-id', goal, '--', ...NAMES)
  assert.equal(code, 0, err)
  assert.deepEqual(await namesIn(goal), NAMES.toSorted())
})

test('folders and their content keep their names', async () => {
  const source = join(dir, 'folders')
  for (const name of NAMES) mkdirSync(join(source, name), { recursive: true })
  for (const name of NAMES.slice(0, 4)) writeFileSync(join(source, name, name), 'x')
  const goal = await folder('folders')
  const { code, err } = await upload(dir, '-r', '--parent-id', goal, 'folders')
  assert.equal(code, 0, err)
  const [top] = (await alice.get(`/drive/files?parent_id=${goal}`)).body.data
  assert.deepEqual(await namesIn(top.id), NAMES.toSorted())
  const { data } = (await alice.get(`/drive/files?parent_id=${top.id}&limit=100`)).body
  for (const row of data as { id: string; name: string }[])
    assert.deepEqual(await namesIn(row.id), NAMES.slice(0, 4).includes(row.name) ? [row.name] : [], row.name)
})

test('names the drive does not allow are rejected with the rule', async () => {
  const goal = await folder('refused')
  for (const [n, name] of REFUSED.entries()) {
    const source = join(dir, `refused-${n}`)
    mkdirSync(source)
    writeFileSync(join(source, name), Buffer.alloc(n === 0 ? SMALL + 1 : 1))
    const { code, err } = await upload(source, '--parent-id', goal, '--', name)
    assert.equal(code, exits.usage[0], err)
    assert.match(err, /must not/)
  }
  assert.deepEqual(await namesIn(goal), [])
})
