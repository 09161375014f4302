import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Records } from './records.ts'

test('the journal isn’t rewritten for each command, even with more recent commands than its line limit', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'uk-records-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'execs')
  const entries = Array.from({ length: 11_000 }, (_, i) => ({ key: `key-${i}`, at: Date.now(), end: 'lost' }))
  writeFileSync(path, entries.map((fact) => `${JSON.stringify(fact)}\n`).join(''))
  const records = new Records(path)
  const { ino, size } = statSync(path)
  for (let i = 0; i < 20; i++) records.starts(`new-${i}`, 'mark')
  assert.equal(statSync(path).ino, ino)
  assert.ok(statSync(path).size > size)
  assert.equal(records.get('key-0')?.status, 'lost')
})
