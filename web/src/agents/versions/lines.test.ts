import assert from 'node:assert/strict'
import { test } from 'node:test'
import { diffLines } from './lines.ts'

const drawn = (before: string, after: string): string[] =>
  diffLines(before, after).map(({ kind, text }) => `${{ same: ' ', gone: '-', new: '+' }[kind]}${text}`)

test('shared lines are kept, and added and removed lines are marked', () => {
  assert.deepEqual(drawn('a\nb\nc\nd', 'a\nx\nc\nd\ne'), [' a', '-b', '+x', ' c', ' d', '+e'])
  assert.deepEqual(drawn('', 'a'), ['+a'])
  assert.deepEqual(drawn('a', ''), ['-a'])
  assert.deepEqual(drawn('a\n\nb', 'a\n\nb'), [' a', ' ', ' b'])
})

test('both texts can be reconstructed from their diff', () => {
  const words = ['one', 'two', 'three', '']
  let seed = 7
  const next = (most: number): number => (seed = (seed * 48_271) % 2_147_483_647) % most
  for (let round = 0; round < 200; round++) {
    const [a, b] = [1, 2].map(() => Array.from({ length: 1 + next(12) }, () => words[next(4)]!).join('\n')) as [
      string,
      string,
    ]
    const lines = diffLines(a, b)
    const side = (not: string): string => lines.flatMap(({ kind, text }) => (kind === not ? [] : [text])).join('\n')
    assert.deepEqual([side('new'), side('gone')], [a, b])
  }
})

test('texts too long to compare are shown as one removed and one added block', () => {
  const long = (of: string): string => Array.from({ length: 2_500 }, (_, i) => `${of} ${i}`).join('\n')
  const lines = diffLines(long('a'), long('b'))
  assert.deepEqual([lines.length, lines[0]!.kind, lines.at(-1)!.kind], [5_000, 'gone', 'new'])
})
