import assert from 'node:assert/strict'
import { stripVTControlCharacters } from 'node:util'
import { test } from 'node:test'
import { textLine } from './text-line.ts'

const format = (line: object): string =>
  stripVTControlCharacters(textLine(JSON.stringify({ level: 'warn', time: '2026-11-27T09:30:00.123Z', ...line })))

test('a log line reads as text', () => {
  assert.equal(format({ msg: 'it is slow' }), '09:30:00 warn   it is slow\n')
  assert.equal(
    format({ msg: 'it failed', request_id: '01KA', count: 2, why: null, words: 'two words', list: ['a'] }),
    '09:30:00 warn   it failed  request_id=01KA  count=2  why=null  words="two words"  list=["a"]\n',
  )
  assert.equal(format({}), '09:30:00 warn   \n')
  const error = {
    type: 'Error',
    message: 'no route',
    stack: 'Error: no route\n    at one (a.ts:1:2)\n    at two (b.ts:3:4)',
  }
  assert.equal(
    format({ msg: 'it failed', error }),
    '09:30:00 warn   it failed  error="no route"\n  at one (a.ts:1:2)\n  at two (b.ts:3:4)\n',
  )
})

test('a log line can’t move a terminal’s cursor or imitate another line', () => {
  const hostile = 'a\u001b[2J\r\n09:30:00 error  forged\u009b1A\u202eb'
  for (const line of [
    { msg: hostile },
    { name: hostile },
    { error: { message: hostile, stack: `x\n${hostile}` } },
    { deep: [hostile] },
  ]) {
    const text = format(line)
    assert.doesNotMatch(text.replaceAll('\n', ''), /[\p{Cc}\u202e]/u)
    assert.doesNotMatch(text.split('\n').slice(1).join('\n'), /^09:30:00 error/m)
  }
})
