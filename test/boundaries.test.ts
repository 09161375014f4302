import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { measure, readImports } from '../tools/rooms.ts'
import { isAllowed, diagram, roomOf, table } from './boundaries.ts'

const root = join(import.meta.dirname, '..')
/** Maximum files per folder. */
const FULL = 16
const imports = readImports(root)

test('every import follows the boundary rules', () => {
  assert.ok(imports.length > 1000, 'the imports were read')
  const violations = imports.filter(({ from, to }) => !isAllowed(from, to)).map(({ from, to }) => `${from} → ${to}`)
  assert.deepEqual(violations, [])
})

test('imports have no cycles, and folders, files and tests stay within their size limits', () => {
  const { circlesOfFiles, circlesOfFolders, folders, lines } = measure(root)
  assert.deepEqual(circlesOfFiles, [], 'circles of files')
  assert.deepEqual(circlesOfFolders, [], 'circles of folders; sh bin/run tools/rooms.ts names the imports that run up')
  assert.deepEqual(
    folders.filter(({ files }) => files > FULL),
    [],
    `folders with more than ${FULL} files`,
  )
  assert.deepEqual(lines.over, [], 'files over 300 lines, or 350 (LONGER in tools/rooms.ts)')
})

for (const [name, expected] of [
  ['rooms', table()],
  ['imports', diagram(imports.map(({ from, to }) => [roomOf(from), roomOf(to)] as const))],
] as const)
  test(`the ${name} in docs/architecture.md match the enforced rules`, () => {
    const path = join(root, 'docs/architecture.md')
    const text = readFileSync(path, 'utf8')
    const marks = new RegExp(`(<!-- ${name} -->\n)([\\s\\S]*?)(<!-- /${name} -->)`)
    assert.ok(marks.test(text), 'the marks are there')
    if (process.argv.includes('--draw'))
      writeFileSync(
        path,
        text.replace(marks, (_, a: string, __, b: string) => a + expected + b),
      )
    else assert.equal(marks.exec(text)![2], expected, 'run: sh bin/run test/boundaries.test.ts --draw')
  })
