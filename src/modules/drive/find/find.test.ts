import assert from 'node:assert/strict'
import { test } from 'node:test'
import { upload } from '#test/drive/drive.ts'
import { type Person, testServer } from '#test/server.ts'

async function folder(person: Person, name: string, parent?: string): Promise<string> {
  const at = parent === undefined ? { workspace_id: person.workspaceId } : { parent_id: parent }
  return (await person.post('/drive/files/folders', { name, ...at })).body.data.id
}
async function put(person: Person, parent: string | null, name: string, text: string | Buffer): Promise<string> {
  const at = parent === null ? { workspace_id: person.workspaceId } : { parent_id: parent }
  const { body } = await upload(person, at, Buffer.from(text), name)
  return body.data.id
}
const find = (person: { get: Person['get'] }, path: string, query: Record<string, string | string[]>) => {
  const words = new URLSearchParams(
    Object.entries(query).flatMap(([key, value]) => [value].flat().map((one): [string, string] => [key, one])),
  )
  return person.get(`${path}?${words.toString()}`)
}
const paths = (answer: { body: any }): string[] => answer.body.data.map((row: { path: string }) => row.path)

async function project(person: Person) {
  const src = await folder(person, 'src')
  const lib = await folder(person, 'lib', src)
  const readme = await put(person, null, 'readme.md', '# Tea\n\nHow to make tea.\nBoil water.\n')
  const main = await put(person, src, 'main.ts', "import { brew } from './lib/brew.ts'\n\nbrew('green')\n")
  const brew = await put(
    person,
    lib,
    'brew.ts',
    'export function brew(tea: string) {\n  // the kettle first\n  return tea\n}\n',
  )
  const picture = await put(person, src, 'leaf.bin', Buffer.from([1, 0, 2, 0, 116, 101, 97]))
  return { src, lib, readme, main, brew, picture }
}

test('globs find files in path order, and none of other users', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const made = await project(alice)
  const glob = (query: Record<string, string | string[]>, who: Person = alice) => find(who, '/drive/glob', query)
  assert.deepEqual(paths(await glob({ pattern: '*.ts' })), ['src/lib/brew.ts', 'src/main.ts'])
  assert.deepEqual(paths(await glob({ pattern: 'src/*.ts' })), ['src/main.ts'])
  assert.deepEqual(paths(await glob({ pattern: '**/{main,brew}.[jt]s' })), ['src/lib/brew.ts', 'src/main.ts'])
  assert.deepEqual(paths(await glob({ pattern: ['*', '!*.ts'] })), ['readme.md', 'src/leaf.bin'])
  assert.deepEqual(paths(await glob({ pattern: '*.ts', path: '/src/lib/' })), ['src/lib/brew.ts'])
  assert.deepEqual(paths(await glob({ pattern: 'README*', case: 'insensitive' })), ['readme.md'])
  assert.deepEqual(paths(await glob({ pattern: 'lib', type: 'folder' })), ['src/lib'])
  assert.deepEqual(paths(await glob({ pattern: '**' }, bob)), [])
  assert.equal((await glob({ pattern: '*', workspace_id: alice.workspaceId }, bob)).status, 404)
  assert.equal((await glob({ pattern: '[a' })).body.error.code, 'invalid_pattern')
  const off = await put(bob, null, '50%-off_x.txt', 'x')
  for (const pattern of ['50%*', '5?%-off_*.txt', '*off_?.*'])
    assert.deepEqual(
      (await glob({ pattern }, bob)).body.data.map(({ id }: { id: string }) => id),
      [off],
      pattern,
    )

  const allPaths: string[] = []
  let cursor: string | null = null
  do {
    const page = await glob({ pattern: '**', limit: '1', ...(cursor && { cursor }) })
    allPaths.push(...paths(page))
    cursor = page.body.pagination.next_cursor
  } while (cursor)
  assert.deepEqual(allPaths, ['readme.md', 'src/leaf.bin', 'src/lib/brew.ts', 'src/main.ts'])

  await alice.delete(`/drive/files/${made.src}`)
  assert.deepEqual(paths(await glob({ pattern: '**' })), ['readme.md'])
})

test('grep returns lines with context, files and counts, and names skipped files with the reason', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const made = await project(alice)
  const grep = (query: Record<string, string | string[]>, who: Person = alice) => find(who, '/drive/grep', query)

  const lines = await grep({ pattern: 'brew\\(', before: '1', after: '1' })
  assert.equal(lines.status, 200, lines.text)
  assert.deepEqual(
    lines.body.data.map(({ path, line, column, text, before, after }: any) => ({
      path,
      line,
      column,
      text,
      before,
      after,
    })),
    [
      {
        path: 'src/lib/brew.ts',
        line: 1,
        column: 17,
        text: 'export function brew(tea: string) {',
        before: [],
        after: ['  // the kettle first'],
      },
      { path: 'src/main.ts', line: 3, column: 1, text: "brew('green')", before: [''], after: [] },
    ],
  )
  assert.deepEqual(lines.body.skipped_files, [{ file_id: made.picture, path: 'src/leaf.bin', reason: 'binary' }])
  assert.equal(lines.body.truncated, false)

  const counts = await grep({ pattern: 'tea', mode: 'count', case: 'insensitive', totals: 'true' })
  assert.deepEqual(
    counts.body.data.map(({ path, count }: any) => [path, count]),
    [
      ['readme.md', 2],
      ['src/lib/brew.ts', 2],
    ],
  )
  assert.deepEqual(counts.body.totals, { files: 2, count: 4 })
  assert.deepEqual(paths(await grep({ pattern: 'Tea', mode: 'files', case: 'smart' })), ['readme.md'])
  assert.deepEqual(paths(await grep({ pattern: 'tea', mode: 'files', type: 'ts' })), ['src/lib/brew.ts'])
  assert.deepEqual(paths(await grep({ pattern: 'tea', mode: 'files', glob: ['*', '!src/**'] })), ['readme.md'])
  assert.deepEqual(paths(await grep({ pattern: 'brew(', mode: 'files', fixed: 'true', path: 'src/lib' })), [
    'src/lib/brew.ts',
  ])
  const across = await grep({ pattern: 'tea\\.\\nBoil', multiline: 'true' })
  assert.equal(across.body.data[0].text, 'How to make tea.\nBoil water.')
  assert.equal((await grep({ pattern: 'a\\nb' })).body.error.code, 'invalid_pattern')
  assert.equal((await grep({ pattern: '(' })).body.error.code, 'invalid_pattern')
  assert.equal((await grep({ pattern: '(?=x)' })).body.error.code, 'invalid_pattern')
  assert.equal((await grep({ pattern: 'x', type: 'nonsense' })).body.error.param, 'type')
  assert.deepEqual(paths(await grep({ pattern: '.' }, bob)), [])

  const allPaths: string[] = []
  let cursor: string | null = null
  do {
    const page = await grep({ pattern: '.', limit: '2', ...(cursor && { cursor }) })
    allPaths.push(...page.body.data.map(({ path, line }: any) => `${path}:${line}`))
    cursor = page.body.pagination.next_cursor
  } while (cursor)
  assert.deepEqual(allPaths, [
    'readme.md:1',
    'readme.md:3',
    'readme.md:4',
    'src/lib/brew.ts:1',
    'src/lib/brew.ts:2',
    'src/lib/brew.ts:3',
    'src/lib/brew.ts:4',
    'src/main.ts:1',
    'src/main.ts:3',
  ])
})

test('every skipped file is named, ten thousand per page', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const one = await put(alice, null, 'leaf.bin', Buffer.from([1, 0]))
  await put(alice, null, 'tea.txt', 'tea\n')
  // Inserts many more files with the same bytes, because HTTP would take too long.
  const { pool } = server.app.engine.postgres
  const id = `'01J000000000000000000' || lpad(n::text, 5, '0')`
  await pool.query(
    `insert into resources (id, kind, workspace_id, created_by)
      select ${id}, 'file', workspace_id, created_by from resources, generate_series(1, 10040) n where id = $1`,
    [one],
  )
  await pool.query(
    `insert into files (id, workspace_id, kind, name, path, mime_type, size_bytes, sha256, content_version, content_updated_at)
      select ${id}, workspace_id, kind, n || name, n || path, mime_type, size_bytes, sha256, 1, content_updated_at
      from files, generate_series(1, 10040) n where id = $1`,
    [one],
  )
  const skippedIds = new Set<string>()
  const allPaths: string[] = []
  const sizes: number[] = []
  let cursor: string | null = null
  do {
    const page = await find(alice, '/drive/grep', { pattern: 'tea', ...(cursor && { cursor }) })
    sizes.push(page.body.skipped_files.length)
    for (const { file_id } of page.body.skipped_files) skippedIds.add(file_id)
    allPaths.push(...paths(page))
    cursor = page.body.pagination.next_cursor
  } while (cursor)
  assert.deepEqual([sizes, skippedIds.size, allPaths], [[10_000, 41], 10_041, ['tea.txt']])
})

test('literals match as written, in composed or decomposed form, as in ripgrep', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const [composed, apart] = ['caf\u00e9', 'cafe\u0301']
  await put(alice, null, 'composed.txt', `${composed}\n`)
  await put(alice, null, 'apart.txt', `${apart}\n`)
  const grep = async (pattern: string) => paths(await find(alice, '/drive/grep', { pattern, mode: 'files' }))
  assert.deepEqual(await grep(composed), ['composed.txt'])
  assert.deepEqual(await grep(apart), ['apart.txt'])
})

test('hostile patterns and globs terminate', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  await put(alice, null, `${'a'.repeat(80)}.txt`, `${'a'.repeat(100_000)}\n`)
  // Matched by backtracking, most of these would outlast the test.
  for (const pattern of [
    '(a+)+$',
    '(a|aa)+$',
    '(a|a?)+b',
    '(.*a){20}b',
    '(x+x+)+y',
    'a{1,500}b',
    '([a-z]+)*\\d',
    '(?i)(a*)*b',
  ]) {
    const answer = await find(alice, '/drive/grep', { pattern, mode: 'count' })
    assert.equal(answer.status, 200, `${pattern}: ${answer.text}`)
  }
  for (const pattern of [
    '*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*c',
    '**/'.repeat(100),
    '{a,b}'.repeat(100),
    '[!b]'.repeat(80) + '*'.repeat(100) + 'x',
    '{'.repeat(12),
  ]) {
    const answer = await find(alice, '/drive/glob', { pattern })
    assert.ok(answer.status === 200 || answer.body.error.code === 'invalid_pattern', answer.text)
  }
})

test('glob and grep find shared files and folders until the share ends', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const carol = await server.person('Carol')
  const made = await project(alice)
  await put(bob, null, 'own.ts', 'brew mine\n')
  const share = async (resource_type: string, resource_id: string): Promise<string> => {
    const answer = await alice.post('/shares', {
      resource_type,
      resource_id,
      grantee: { email: bob.email },
      access: 'view',
    })
    await bob.post('/invitations/accept', { token: answer.body.data.token })
    return answer.body.data.id
  }
  const folderShare = await share('folder', made.lib)
  const fileShare = await share('file', made.readme)
  const findBoth = async (who: { get: Person['get'] }, more: Record<string, string> = {}) => [
    paths(await find(who, '/drive/glob', { pattern: '**', ...more })),
    paths(await find(who, '/drive/grep', { pattern: 'brew|Tea', mode: 'files', ...more })),
  ]
  const shared = ['own.ts', 'readme.md', 'src/lib/brew.ts']
  assert.deepEqual(await findBoth(bob), [shared, shared])
  assert.deepEqual(await findBoth(bob, { path: 'src' }), [['src/lib/brew.ts'], ['src/lib/brew.ts']])
  assert.deepEqual(await findBoth(bob, { workspace_id: bob.workspaceId }), [['own.ts'], ['own.ts']])
  assert.deepEqual(await findBoth(await bob.key({ workspace_id: bob.workspaceId })), [['own.ts'], ['own.ts']])
  assert.deepEqual(await findBoth(carol), [[], []])
  assert.equal((await find(bob, '/drive/glob', { pattern: '*', workspace_id: alice.workspaceId })).status, 404)

  await alice.delete(`/drive/files/${made.lib}`)
  assert.deepEqual(
    await findBoth(bob),
    [
      ['own.ts', 'readme.md'],
      ['own.ts', 'readme.md'],
    ],
    'what is in the trash is shared with nobody',
  )
  await alice.post(`/drive/files/${made.lib}/restore`)
  for (const id of [folderShare, fileShare]) await alice.delete(`/shares?share_id=${id}`)
  assert.deepEqual(await findBoth(bob), [['own.ts'], ['own.ts']])
})
