import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { needs } from '#test/needs.ts'
import { type Tree, pattern, tree } from '../../../../packages/linear-grep/test/patterns.ts'
import { type Person, testServer } from '#test/server.ts'
import { PATIENCE_MS } from '#test/until.ts'

/** A line of a find or of what is around it, as `path:line:text`. */
type Line = string
interface Row {
  path: string
  line: number
  text: string
  before: string[]
  after: string[]
  count: number
}

async function put(person: Person, files: Tree): Promise<void> {
  const folders = new Map<string, { parent_id: string } | { workspace_id: string }>([
    ['.', { workspace_id: person.workspaceId }],
  ])
  const folder = async (path: string): Promise<object> => {
    const existing = folders.get(path)
    if (existing !== undefined) return existing
    const place = await folder(dirname(path))
    const made = await person.post('/drive/files/folders', { ...place, name: path.split('/').at(-1) })
    folders.set(path, { parent_id: made.body.data.id })
    return folders.get(path)!
  }
  for (const [path, content] of Object.entries(files)) {
    const place = await folder(dirname(path))
    const made = await person.post('/drive/files', { ...place, name: path.split('/').at(-1), content })
    assert.equal(made.status, 201, made.text)
  }
}

async function all(person: Person, query: Record<string, string>): Promise<Row[]> {
  const rows: Row[] = []
  let cursor: string | null = null
  do {
    const words = new URLSearchParams({ limit: '7', ...query, ...(cursor && { cursor }) })
    const answer = await person.get(`/drive/grep?${words.toString()}`)
    assert.equal(answer.status, 200, answer.text)
    rows.push(...answer.body.data)
    cursor = answer.body.pagination.next_cursor
  } while (cursor)
  return rows
}

function rg(root: string, args: string[]): string[] {
  const always = ['--no-config', '--no-ignore', '--hidden', '--no-heading', '--no-context-separator']
  const { stdout, status } = spawnSync('rg', [...always, ...args, '.'], { cwd: root, encoding: 'utf8' })
  assert.ok(status !== null && status < 2)
  return stdout.split('\n').flatMap((row) => (row === '' ? [] : row.replace(/^\.\//, '')))
}

test(
  'grep over HTTP, in pages and with the index, returns what ripgrep prints: lines, context, counts and files',
  needs(spawnSync('rg', ['--version']).status === 0, 'ripgrep'),
  async () => {
    const files: Tree = Object.assign({}, ...fc.sample(tree, 4))
    const root = mkdtempSync(join(tmpdir(), 'ukiyo-grep-'))
    try {
      for (const [path, content] of Object.entries(files)) {
        mkdirSync(dirname(join(root, path)), { recursive: true })
        writeFileSync(join(root, path), content)
      }
      await using server = await testServer({ environment: { UK_LIMIT_SEARCHES: '0', UK_LIMIT_WRITES: '0' } })
      const alice = await server.person('Alice')
      await put(alice, files)
      const { pool } = server.app.engine.postgres
      for (const until = Date.now() + PATIENCE_MS; Date.now() < until;) {
        const { rowCount } = await pool.query('select from contents where indexed_at is null limit 1')
        if (rowCount === 0) break
        await new Promise((go) => setTimeout(go, 50))
      }
      const queries = fc.sample(
        fc.tuple(pattern, fc.constantFrom('sensitive', 'insensitive', 'smart'), fc.nat(3), fc.nat(3)),
        9,
      )
      for (const [words, how, before, after] of queries) {
        const flag = { sensitive: '-s', insensitive: '-i', smart: '-S' }[how]
        const about = JSON.stringify([words, how, before, after, files])
        const query = { pattern: words, case: how }
        const shownLines = new Set<Line>()
        for (const row of await all(alice, { ...query, before: `${before}`, after: `${after}` })) {
          const lines = [...row.before, row.text, ...row.after]
          lines.forEach((text, i) => shownLines.add(`${row.path}:${row.line - row.before.length + i}:${text}`))
        }
        const printed = rg(root, [
          '-n',
          flag,
          '-B',
          `${before}`,
          '-A',
          `${after}`,
          '--field-context-separator',
          ':',
          '-e',
          words,
        ])
        assert.deepEqual([...shownLines].toSorted(), printed.toSorted(), about)
        const counts = (await all(alice, { ...query, mode: 'count' })).map(({ path, count }) => `${path}:${count}`)
        assert.deepEqual(counts.toSorted(), rg(root, ['-c', flag, '-e', words]).toSorted(), about)
        const paths = (await all(alice, { ...query, mode: 'files', type: 'ts' })).map(({ path }) => path)
        assert.deepEqual(paths.toSorted(), rg(root, ['-l', flag, '-t', 'ts', '-e', words]).toSorted(), about)
      }
    } finally {
      rmSync(root, { recursive: true, force: true })
    }
  },
)
