/** What holds for every page of the repository's documentation. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '../..')
const pages = globSync(['*.md', 'docs/**/*.md', 'bench/*.md'], { cwd: root }).map((path) => ({
  path,
  lines: readFileSync(join(root, path), 'utf8').split('\n'),
}))
const isRule = (line: string): boolean => /^\|[\s:|-]+\|$/.test(line)

test('a table has its separator directly below its header', () => {
  let tables = 0
  for (const { path, lines } of pages) {
    let isCode = false
    for (const [at, line] of lines.entries()) {
      if (/^ *```/.test(line)) isCode = !isCode
      if (isCode || !line.startsWith('|')) continue
      const isHeader = !lines[at - 1]?.startsWith('|')
      if (isHeader) tables++
      assert.equal(isRule(lines[at + 1] ?? ''), isHeader, `${path}:${at + 1}`)
    }
  }
  assert.ok(tables > 50, String(tables))
})

test('no two guides create things with the same name, so they can be followed in any order', () => {
  const created = new Map<string, string>()
  for (const { path, lines } of pages.filter(
    (page) => page.path === 'README.md' || page.path.startsWith('docs/guides/'),
  )) {
    const names = lines.flatMap((line) => {
      const [, area, name] =
        /\buk (agents|workspaces|automations|computers|goals) create (?:--name )?(\w+)/.exec(line) ?? []
      return name === undefined ? [] : [`${area} ${name}`]
    })
    for (const name of new Set(names)) {
      assert.equal(created.get(name) ?? path, path, name)
      created.set(name, path)
    }
  }
  assert.ok(created.size > 5, String(created.size))
})
