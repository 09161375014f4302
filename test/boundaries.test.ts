import assert from 'node:assert/strict'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import { type Graph, allowed, diagram, roomOf, table } from './boundaries.ts'

const root = join(import.meta.dirname, '..')
const CODE = ['src/**/*.ts', 'web/src/**/*.{ts,tsx}']
const { imports: aliases } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  imports: Record<string, string>
}

/** Every file of ours with those of ours that it imports, tests left out. */
function readImports(): Graph {
  const files = globSync(CODE, { cwd: root }).filter((file) => !/\.(test|long)\.ts$|fixtures/.test(file))
  return new Map(
    files.toSorted().map((from) => {
      const text = readFileSync(join(root, from), 'utf8')
      const words = [...text.matchAll(/(?:\bfrom|\bimport|\bmodule)\s*\(?\s*'([#.][^']+)'/g)].map(([, word]) => word!)
      return [from, new Set(words.map((word) => target(from, word)).filter((to) => files.includes(to) && to !== from))]
    }),
  )
}

function target(from: string, word: string): string {
  if (word.startsWith('.')) return normalize(join(dirname(from), word))
  if (aliases[word]) return normalize(aliases[word])
  const slash = word.indexOf('/')
  const folder = aliases[`${word.slice(0, slash)}/*`]
  return folder === undefined ? word : normalize(folder.replace('*', word.slice(slash + 1)))
}

const graph = readImports()
const edges = [...graph].flatMap(([from, targets]) => [...targets].map((to) => [from, to] as const))

test('every import goes where the house allows it', () => {
  assert.ok(edges.length > 1000, 'the imports were read')
  const broken = edges.filter(([from, to]) => !allowed(from, to)).map(([from, to]) => `${from} → ${to}`)
  assert.deepEqual(broken, [])
})

for (const [name, drawn] of [
  ['rooms', table()],
  ['imports', diagram(edges.map(([from, to]) => [roomOf(from), roomOf(to)] as const))],
] as const)
  test(`the ${name} in docs/architecture.md are drawn from what is enforced`, () => {
    const path = join(root, 'docs/architecture.md')
    const text = readFileSync(path, 'utf8')
    const marks = new RegExp(`(<!-- ${name} -->\n)([\\s\\S]*?)(<!-- /${name} -->)`)
    assert.ok(marks.test(text), 'the marks are there')
    if (process.argv.includes('--draw'))
      writeFileSync(
        path,
        text.replace(marks, (_, a: string, __, b: string) => a + drawn + b),
      )
    else assert.equal(marks.exec(text)![2], drawn, 'run: sh bin/run test/boundaries.test.ts --draw')
  })
