import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { RE2JS } from 're2js'
import { MAX_STEPS, stepsOf } from './steps.ts'

test('a pattern’s steps are estimated before compiling', () => {
  for (const [pattern, steps] of [
    ['abc', 3],
    ['(ab){3}', 9],
    ['a{2,5}', 5],
    ['a{3,}', 4],
    ['\\{1000}', 6],
    ['\\x{61}{3}\\p{Greek}', 23],
    ['\\Q[a{9}\\E{3}b', 8],
    ['(\\Q)\\E){3}', 6],
    ['[\\pL\\d]', 21],
    ['[a-é]', 1_001],
    ['[é-ü]{2}', 40],
    ['[ü-é一-龥]', 1_002],
    ['[é-\\x{ff}]', 1_001],
    ['[]{9}]x', 2],
    ['[[:alpha:]{9}]{2}', 2],
    ['(a{30}){30}', 930],
  ] as const)
    assert.equal(stepsOf(pattern), steps, pattern)
})

test('an expensive pattern is refused before compiling', () => {
  for (const pattern of [
    '(a?){1000}'.repeat(90),
    `\\Q[\\E(?:${'ab.'.repeat(300)}){1000}`,
    `(?:${'a'.repeat(400)}\\Q)\\E){1000}`,
    `[${'B-𞥂'.repeat(200)}]`,
    `[${'\\x{42}-\\x{1e942}'.repeat(50)}]`,
    `^(?:${'\\PL'.repeat(17)}){1000}`,
  ])
    assert.ok(stepsOf(pattern) > MAX_STEPS, pattern)
})

test('a compiled re2js pattern isn’t much larger than estimated', () => {
  const pattern = fc.letrec((tie) => ({
    one: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom('a', '.', '[a-z]', '\\d', '^', 'é', '\\Q[{9}\\E', '\\Q)\\E', '[[(]', '\\p{Greek}', '[\\]é-ü]'),
      fc.tuple(tie('one'), tie('one')).map(([a, b]) => `(${String(a)}${String(b)})`),
      fc.tuple(tie('one'), tie('one')).map(([a, b]) => `(?:${String(a)}|${String(b)})`),
      fc
        .tuple(tie('one'), fc.constantFrom('{3}', '{2,7}', '{4,}', '*', '?', '+'))
        .map(([a, n]) => `(?:${String(a)})${n}`),
    ),
  })).one
  fc.assert(
    fc.property(pattern, (source) => {
      let size: number
      try {
        size = RE2JS.compile(source).programSize()
      } catch {
        return
      }
      assert.ok(size <= 4 * stepsOf(source) + 20, `${source}: ${size}, ${stepsOf(source)}`)
    }),
    { numRuns: 500 },
  )
})
