import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { pattern } from '../../test/patterns.ts'
import { TooMuchWork, Work } from '../bounded/work.ts'
import { columnIn, matchingLines } from './lines.ts'
import { type PatternSpec, compile } from './pattern.ts'

const text = Buffer.from('ab ba aab\nfoo Bar é\n'.repeat(400))
const random = Buffer.from(
  Array.from({ length: 200_000 }, (_, i) => (((i * i * 31 + i * 7) >> 5) & 1 ? 'a' : 'b')).join(''),
)

/** A pattern per search method that costs more steps than the text has bytes. */
const ways: Record<string, Partial<PatternSpec> & { pattern: string }> = {
  word: { pattern: 'a', fixed: true },
  'a word and more': { pattern: 'a[^é]*b$' },
  automaton: { pattern: '(?:a|b)*a(?:a|b){300}c' },
  're2js in lines': { pattern: '(?i)(?:a|b)*a(?:a|b){300}c' },
  're2js over lines': { pattern: '(?i)(?:a|b)*a(?:a|b|\\n){300}c', multiline: true },
  'a match at each place, each looking to the end': { pattern: 'a(?:.|\\n)*c|a', multiline: true },
}
const specOf = (of: Partial<PatternSpec> & { pattern: string }): PatternSpec => ({
  case: 'sensitive',
  multiline: false,
  fixed: false,
  ...of,
})

for (const [way, of] of Object.entries(ways)) {
  const compiledPattern = compile(specOf(of))
  const search = (work: Work): void => {
    for (const bytes of [text, random])
      matchingLines(
        compiledPattern,
        bytes,
        (start, end) => columnIn(compiledPattern, bytes, start, end, work) > 0,
        work,
      )
  }

  test(`${way}: the search ends when its work is used up`, () => {
    const work = new Work(600)
    assert.throws(() => search(work), TooMuchWork)
    assert.ok(work.spent < 40_000, `${work.spent} steps`)
  })

  test(`${way}: a search ends within some ten thousand steps after its caller leaves`, { skip: way === 'word' }, () => {
    const reason = new Error('left')
    const work = new Work(Number.POSITIVE_INFINITY, () => {
      throw reason
    })
    assert.throws(
      () => search(work),
      (error: unknown) => error === reason,
    )
    assert.ok(work.spent < 40_000, `${work.spent} steps`)
  })
}

test('twice the text takes up to twice the steps, with any pattern', () => {
  const bytes = Buffer.from('foo bar x_42 "é" 你 ks\n'.repeat(50))
  fc.assert(
    fc.property(pattern, (source) => {
      const compiledPattern = compile(specOf({ pattern: source }))
      const stepsOf = (of: Buffer): number => {
        const work = new Work(Number.POSITIVE_INFINITY)
        matchingLines(compiledPattern, of, () => true, work)
        return work.spent
      }
      const once = stepsOf(bytes)
      const twice = stepsOf(Buffer.concat([bytes, bytes]))
      assert.ok(twice <= 2 * once + 4_096, `${source}: ${once}, ${twice}`)
    }),
    { numRuns: 60 },
  )
})
