import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { program, ranBy } from '#test/cli/uk.ts'
import { temporaryDir } from '#test/program.ts'
import { testServer } from '#test/server.ts'
import { exits } from '../../exit.ts'

test('files are uploaded by position: one, several, folders and stdin', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { key } = await alice.key()
  using dir = temporaryDir('uk-files-')
  const at = (path: string): string => join(dir.path, path)
  const uk = (words: readonly string[], stdin = '') =>
    ranBy(
      spawn(program, ['drive', 'upload', ...words], {
        cwd: dir.path,
        env: { PATH: process.env.PATH, HOME: at('home'), UK_KEY: key, UK_ORIGIN: server.origin },
      }),
      stdin,
    )
  const paths = async (): Promise<string[]> =>
    (await alice.get('/drive/glob?pattern=**&type=any&limit=100')).body.data
      .map(({ path }: { path: string }) => path)
      .toSorted()
  for (const folder of ['home', 'photos', 'photos/2026', 'photos/empty']) mkdirSync(at(folder))
  for (const file of ['a.txt', 'b.txt', '@c.txt', '-d.txt', 'photos/one.txt', 'photos/2026/two.txt'])
    writeFileSync(at(file), `the text of ${file}`)
  symlinkSync('..', at('photos/circle'))
  symlinkSync('one.txt', at('photos/link.txt'))

  const one = await uk(['a.txt'])
  assert.equal(one.code, 0, one.err)
  assert.match(one.out, new RegExp(`^Uploaded file "a\\.txt" {2}${server.origin}/app/drive/file/[0-9A-Z]{26}\n$`))
  assert.equal((await uk(['--file', 'b.txt', '--name', 'by flag.txt', '-q', 'path'])).out, 'by flag.txt\n')

  const several = await uk(['b.txt', '@c.txt', '-q', 'path', '--', '-d.txt'])
  assert.equal(several.code, 0, several.err)
  assert.equal(several.out, 'b.txt\n@c.txt\n-d.txt\n', 'an @ is a part of a name here')
  const json = await uk(['a.txt', 'b.txt', '--on-conflict', 'rename', '--json'])
  assert.deepEqual(
    json.out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).data.name),
    ['a (2).txt', 'b (2).txt'],
  )

  const stdin = await uk(['-', '--name', 'todo.txt', '-q', 'size_bytes'], 'Buy milk\n')
  assert.deepEqual([stdin.code, stdin.out], [0, '9\n'], stdin.err)

  const before = await paths()
  for (const [words, says] of [
    [
      ['a.txt', 'missing.txt'],
      /missing\.txt doesn't exist on this machine\.\nTo upload into a drive folder, add --parent-id/,
    ],
    [['photos'], /photos is a folder\.\nAdd --recursive/],
    [['a.txt', 'b.txt', '--name', 'x'], /--name works only with a single file/],
    [['-'], /Piped input needs a file name\.\nAdd --name/],
  ] as const) {
    const refused = await uk(words)
    assert.deepEqual([refused.code, refused.out], [exits.usage[0], ''], words.join(' '))
    assert.match(refused.err, says)
  }
  assert.deepEqual(await paths(), before, 'nothing is sent unless all of it can be')

  const folder = await uk(['-r', 'photos', '--json'])
  assert.equal(folder.code, 0, folder.err)
  assert.match(folder.err, /Skipped photos\/circle: not a file or folder/)
  const added = (await paths()).filter((path) => !before.includes(path))
  assert.deepEqual(added, [
    'photos',
    'photos/2026',
    'photos/2026/two.txt',
    'photos/empty',
    'photos/link.txt',
    'photos/one.txt',
  ])

  const again = await uk(['photos/one.txt', 'a.txt', '--parent-id', 'photos'])
  assert.equal(again.code, exits.conflict[0])
  assert.match(again.err, /Couldn't send photos\/one\.txt\. Files sent so far: 0\.\n.*already/s)
  assert.equal((await paths()).includes('photos/a.txt'), false, 'what follows a failure is not sent')
})
