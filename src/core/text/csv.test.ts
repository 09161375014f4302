import assert from 'node:assert/strict'
import { test } from 'node:test'
import { csvLine } from './csv.ts'

test('a CSV line is quoted where needed and contains no spreadsheet formula', () => {
  assert.equal(csvLine(['a', 1.5, null, true, 'b,"c"\n']), 'a,1.5,,true,"b,""c""\n"\r\n')
  assert.equal(csvLine([-2]), '-2\r\n', 'a number is a number')
  for (const evil of ['=1+1', '+1', '-1', '@sum(a1)', '\t=1', '\r=1', ' =1', '\0=1'])
    assert.match(csvLine([evil]), /^"?'/, JSON.stringify(evil))
})
