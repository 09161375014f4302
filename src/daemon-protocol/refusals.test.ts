import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { SAID } from './shapes/refusal.ts'

test('a code that a daemon says is one that the other end knows', () => {
  const daemon = join(import.meta.dirname, '../daemon')
  const files = readdirSync(daemon, { recursive: true, encoding: 'utf8' }).filter((file) => /(?<!test)\.ts$/.test(file))
  const said = files.flatMap((file) =>
    [...readFileSync(join(daemon, file), 'utf8').matchAll(/(?:refuse|Refusal)\(\s*'(\w+)'/g)].map(([, code]) => code!),
  )
  assert.ok(said.length > 50)
  assert.deepEqual(
    [...new Set(said)].filter((code) => !SAID.has(code)),
    [],
  )
})
