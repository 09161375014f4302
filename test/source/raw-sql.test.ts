import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '../..')

function argument(source: string, from: number): string {
  let open = 1
  let at = from
  for (; open > 0 && at < source.length; at += 1) {
    if (source[at] === '(') open += 1
    if (source[at] === ')') open -= 1
  }
  return source.slice(from, at - 1).trim()
}

/** Whether it consists only of constants, so it can't contain a call's values. */
function isFixed(argumentText: string, source: string): boolean {
  const words = /^'[^'\\]*'$/
  if (words.test(argumentText)) return true
  const either = /^[^?]+\? ('[^'\\]*') : ('[^'\\]*')$/.exec(argumentText)
  if (either) return true
  // A constant of the file, or an entry of a constant table with any key.
  const name = /^(\w+)(?:\[\w+\]|\.\w+)?$/.exec(argumentText)?.[1]
  return name !== undefined && new RegExp(`^(?:export )?const (?:${name}\\b|\\[[^\\]]*\\b${name}\\b)`, 'm').test(source)
}

test('sql.raw receives only constants from the source, never values', () => {
  let calls = 0
  const wrong: string[] = []
  for (const path of globSync('src/**/*.ts', { cwd: root })) {
    const source = readFileSync(join(root, path), 'utf8')
    for (const { index } of source.matchAll(/\bsql\s*\.\s*raw\b/g)) {
      calls += 1
      const open = /^sql\s*\.\s*raw\s*\(/.exec(source.slice(index))
      // Passed as a function, it may receive anything.
      const argumentText = open === null ? null : argument(source, index + open[0].length)
      if (argumentText === null || !isFixed(argumentText, source))
        wrong.push(`${path}: sql.raw(${argumentText ?? ' …'})`)
    }
  }
  assert.ok(calls >= 5, `${calls} calls of sql.raw were read`)
  assert.deepEqual(wrong, [])
})
