import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readCsv } from './csv.ts'
import { kindOf } from './kinds.ts'

test('tables are parsed as RFC 4180 defines, with the separator of the first line', () => {
  assert.deepEqual(readCsv('a,b\r\n1,"x, ""y""\nz"\r\n,\n').rows, [
    ['a', 'b'],
    ['1', 'x, "y"\nz'],
    ['', ''],
  ])
  assert.deepEqual(readCsv('a;b\n1,5;2').rows, [
    ['a', 'b'],
    ['1,5', '2'],
  ])
  assert.deepEqual(readCsv('a\tb').rows, [['a', 'b']])
  assert.deepEqual(readCsv('a,').rows, [['a', '']])
  assert.deepEqual(readCsv('"never closed').rows, [['never closed']])
  const long = readCsv('x\n'.repeat(2_000))
  assert.deepEqual([long.rows.length, long.isCut], [1_000, true])
})

test('artifacts are detected by language or by their first characters', () => {
  const kind = (language: string, text: string) => kindOf({ language, text })
  assert.equal(kind('html', '<p>'), 'html')
  assert.equal(kind('', '<!DOCTYPE html><p>'), 'html')
  assert.equal(kind('xml', '  <svg/>'), 'svg')
  assert.equal(kind('xml', '<feed/>'), null)
  assert.equal(kind('csv', 'a,b'), 'table')
  assert.equal(kind('mermaid', 'graph LR'), 'diagram')
  assert.equal(kind('ts', 'a\n'.repeat(10)), null)
  assert.equal(kind('ts', 'a\n'.repeat(20)), 'code')
})
