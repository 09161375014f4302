import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { snippetOf } from './highlight.ts'

/** Returns a snippet and the most work between two pauses. */
function snippet(body: string, stems: readonly string[], prefix: string | null = null) {
  const steps = snippetOf(body, stems, prefix)
  let most = 0
  let step = steps.next()
  for (; step.done !== true; step = steps.next()) most = Math.max(most, step.value)
  const { snippet: text, spans } = step.value
  return { most, text, marked: spans.map(({ start, end }) => text.slice(start, end)) }
}

test('a word is found anywhere in a long text, even across part boundaries', () => {
  const fillers = { 'x ': ['oolong'], 'é ': ['oolong', 'Café'], '茶 ': ['oolong'], 'e\u0301 ': ['oolong'] }
  const place = fc.integer({ min: 0, max: 20_000 })
  const borders = fc
    .tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: -12, max: 12 }))
    .map(([n, by]) => n * 4_096 + by)
  for (const [filler, words] of Object.entries(fillers))
    for (const word of words)
      fc.assert(
        fc.property(fc.oneof(place, borders), (at) => {
          const before = filler.repeat(Math.ceil(at / filler.length))
          const body = `${before}${word} ${filler.repeat(500)}`
          const stem = word.toLowerCase().replace('é', 'e')
          assert.deepEqual(snippet(body, [stem]).marked, [word])
          assert.deepEqual(snippet(body, [], stem.slice(0, 3)).marked, [word])
        }),
        { numRuns: 6 },
      )
})

test('the snippet shows the window with the most distinct words', () => {
  const gap = 'nothing to see '.repeat(3_000)
  for (const filler of [gap, gap.replaceAll('o', 'ö')]) {
    const { text } = snippet(`tea ${filler} tea with milk ${filler} milk`, ['tea', 'milk'])
    assert.match(text, /tea with milk/)
  }
})

test('work between two pauses is bounded for any text', () => {
  const texts = [
    'a',
    'aa ',
    'ab',
    'abcdefgh ',
    'é',
    'e\u0301\u0301',
    '茶',
    '𝒜',
    '0',
    'a0',
    '\u0301',
    'ﬃ',
    'И',
    '👩‍👩‍👧',
  ].map((unit) => unit.repeat(Math.ceil(12_000 / unit.length)))
  const stems = ['a', 'ab', 'e', '0', '茶', 'i', 'studi', 'abcdefghijkl']
  for (const text of texts)
    for (const prefix of [null, 'a']) {
      const { most } = snippet(text, stems, prefix)
      assert.ok(most <= 10, `${text.slice(0, 10)} ${prefix}: ${most}`)
    }
})
