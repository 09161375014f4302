import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { pattern, text, word } from '../test/patterns.ts'
import { compileGlob } from './glob/glob.ts'
import { type GramQuery, gramsOf } from './regex/grams.ts'
import { matchingLines } from './regex/lines.ts'
import { type PatternSpec, compile } from './regex/pattern.ts'

/** As the index answers: `@>`, or rows without trigrams. */
function lets(query: GramQuery, grams: ReadonlySet<number> | null): boolean {
  if (query === null || grams === null) return true
  if ('grams' in query) return query.grams.every((gram) => grams.has(gram))
  return 'all' in query ? query.all.every((one) => lets(one, grams)) : query.any.some((one) => lets(one, grams))
}

const spec: fc.Arbitrary<PatternSpec> = fc.oneof(
  fc.record({
    pattern: fc.oneof(
      pattern,
      fc.tuple(word, pattern).map(([some, more]) => `${some}${more.replace('^', '')}`),
      fc.tuple(pattern, pattern).map(([a, b]) => `${a.replace('$', '')}|${b.replace('^', '')}`),
    ),
    case: fc.constantFrom('sensitive' as const, 'insensitive' as const, 'smart' as const),
    multiline: fc.boolean(),
    fixed: fc.constant(false),
  }),
  fc.record({
    pattern: fc.tuple(word, word).map((words) => words.join('\n')),
    case: fc.constantFrom('sensitive' as const, 'insensitive' as const),
    multiline: fc.constant(true),
    fixed: fc.constant(true),
  }),
)

test('the trigram index never hides a match', () => {
  let narrowedCount = 0
  let matchCount = 0
  fc.assert(
    fc.property(spec, fc.array(text, { minLength: 4, maxLength: 4 }), (patternSpec, texts) => {
      const compiledPattern = compile(patternSpec)
      for (const one of texts) {
        const bytes = Buffer.from(one)
        const grams = gramsOf(bytes)
        const passes = lets(compiledPattern.grams, grams && new Set(grams))
        let matches = false
        matchingLines(compiledPattern, bytes, () => !(matches = true))
        if (matches) assert.ok(passes, JSON.stringify([patternSpec, one]))
        matchCount += Number(matches)
        narrowedCount += Number(!passes)
      }
    }),
    { numRuns: 1_500 },
  )
  assert.ok(matchCount > 400 && narrowedCount > 200, `${matchCount} finds, ${narrowedCount} texts left out`)
})

test('the database prefilter passes every path that matches the glob', () => {
  const piece = fc.constantFrom(
    '*',
    '**',
    '?',
    'a',
    'b_',
    '%',
    '[a-c]',
    '[!a]',
    '[]%]',
    '{a,b_}',
    '{a*,{b,c}}',
    '\\*',
    '\\%',
    'é',
  )
  const globs = fc
    .array(fc.oneof(piece, fc.constant('/')), { minLength: 1, maxLength: 7 })
    .map((parts) => parts.join(''))
  const paths = fc
    .array(fc.constantFrom('a', 'b_', 'b', 'c', '%', '*', ']', 'é', 'x', '/'), { maxLength: 7 })
    .map((parts) => parts.join(''))
  const likes = (like: string): RegExp =>
    new RegExp(
      `^${like.replace(/\\(.)|(%)|(_)|./gsu, (one, plain?: string, any?: string, single?: string) =>
        any ? '.*' : single ? '.' : RegExp.escape(plain ?? one),
      )}$`,
      'su',
    )
  let namedCount = 0
  fc.assert(
    fc.property(globs, fc.array(paths, { minLength: 5, maxLength: 5 }), (glob, all) => {
      const { matches, like } = compileGlob(glob)
      for (const path of all.filter((one) => matches(one))) {
        namedCount++
        assert.match(path, likes(like), `${glob} as ${like}`)
      }
    }),
    { numRuns: 5_000 },
  )
  assert.ok(namedCount > 500, `${namedCount} paths were named`)
})
