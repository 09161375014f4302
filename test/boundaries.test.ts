import assert from 'node:assert/strict'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { test } from 'node:test'
import { allowed, diagram, roomOf } from './boundaries.ts'

const root = join(import.meta.dirname, '..')
const aliases: Record<string, string> = { '#app': 'src/app.ts', '#config': 'src/config.ts', '#test/': 'test/' }

/** Every import of a file of ours by another, tests left out. */
function imports(): { from: string; to: string }[] {
  return globSync(['src/**/*.ts', 'web/src/**/*.{ts,tsx}'], { cwd: root })
    .filter((file) => !/\.(test|long)\.ts$|fixtures/.test(file))
    .flatMap((from) => {
      const text = readFileSync(join(root, from), 'utf8')
      const words = [...text.matchAll(/(?:\bfrom|\bimport|\bmodule)\s*\(?\s*'([#.][^']+)'/g)].map(([, word]) => word!)
      return words.map((word) => ({ from, to: target(from, word) })).filter(({ to }) => /^(src|web)\//.test(to))
    })
}

function target(from: string, word: string): string {
  if (word.startsWith('.')) return normalize(join(dirname(from), word))
  for (const [alias, path] of Object.entries(aliases))
    if (word.startsWith(alias)) return path + word.slice(alias.length)
  return `src/${word.slice(1)}`
}

test('every import goes where the house allows it', () => {
  const found = imports()
  assert.ok(found.length > 100, 'the imports were read')
  const broken = found.filter(({ from, to }) => !allowed(from, to)).map(({ from, to }) => `${from} → ${to}`)
  assert.deepEqual(broken, [])
})

test('the diagram in docs/architecture.md is drawn from the imports', () => {
  const drawn = diagram(imports().map(({ from, to }) => [roomOf(from), roomOf(to)] as const))
  const path = join(root, 'docs/architecture.md')
  const text = readFileSync(path, 'utf8')
  const marks = /(<!-- rooms -->\n)([\s\S]*?)(<!-- \/rooms -->)/
  assert.ok(marks.test(text), 'the marks are there')
  if (process.argv.includes('--draw'))
    writeFileSync(
      path,
      text.replace(marks, (_, a: string, __, b: string) => a + drawn + b),
    )
  else
    assert.equal(
      marks.exec(text)![2],
      drawn,
      `run: sh bin/run test/boundaries.test.ts --draw (${relative(root, path)})`,
    )
})
