/** Indexing long texts yields to the event loop regularly. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SearchDocument } from '#infra/text/index/searchable.ts'
import { bySize } from './rows.ts'
import { indexed } from './words.ts'

function split(text: string) {
  const steps = indexed([text])
  let pauses = 0
  let step = steps.next()
  for (; step.done !== true; step = steps.next()) pauses++
  return { pauses, words: step.value.words[0]!.split(' '), lexemes: new Set(step.value.lexemes.split(' ')) }
}

test('a long text is split with pauses, with or without spaces', () => {
  for (const unit of ['a ', 'a-', 'a1', 'é.', 'don’t ']) {
    const { pauses, words } = split(unit.repeat(40_000))
    assert.ok(words.length >= 40_000)
    assert.ok(pauses >= Math.floor(words.length / 4_000), `${unit}: ${pauses} pauses for ${words.length} words`)
  }
  assert.equal(split('a short text').pauses, 0)
})

test('words in a long run without spaces are found like those in a short one', () => {
  for (const length of [2, 999, 1_000, 1_001, 2_001, 2_500]) {
    const run = Array.from(
      { length },
      (_, n) => `w${'abcdefghij'.at(n % 10)}${'klmnopqrst'.at(Math.floor(n / 10) % 10)}`,
    )
    const { words, lexemes } = split(run.join('-'))
    assert.deepEqual(words, run)
    for (const [n, word] of run.entries()) {
      assert.ok(lexemes.has(`'${word}'`), `${length}: ${word}`)
      if (n > 0) assert.ok(lexemes.has(`'${run[n - 1]}-${word}'`), `${length}: ${run[n - 1]}-${word}`)
    }
  }
})

test('one statement writes few long documents or many short ones', () => {
  const document = (length: number): SearchDocument => ({ body: 'x'.repeat(length) }) as SearchDocument
  const sizes = (...lengths: number[]) =>
    Array.from(bySize(lengths.map(document)), (group) => group.map(({ body }) => body.length))
  assert.deepEqual(sizes(), [])
  assert.deepEqual(sizes(...Array.from({ length: 200 }, () => 100)), [Array.from({ length: 200 }, () => 100)])
  assert.deepEqual(sizes(100_000, 100_000, 1, 100_000, 300_000, 5), [[100_000, 100_000], [1, 100_000], [300_000], [5]])
})
