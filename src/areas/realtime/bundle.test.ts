import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Bundle } from './bundle.ts'

test('readers who get the same frames share their bytes; who gets others has their own, in order', () => {
  const [a, b, c] = ['a', 'b', 'c'].map((word) => Buffer.from(word)) as [Buffer, Buffer, Buffer]
  const begin = new Bundle()
  const first = begin.add(a).add(b).add(c)
  const second = begin.add(a).add(b).add(c)
  const third = begin.add(a).add(c)
  assert.equal(first.bytes(), second.bytes())
  assert.deepEqual([first.bytes().toString(), third.bytes().toString()], ['abc', 'ac'])
})
