import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Work } from '../bounded/work.ts'
import { InvalidGlob, MAX_PATH_STEPS, compileGlobs } from './glob.ts'

const DEEP = Array.from({ length: 125 }, (_, i) => `a${i % 10}`).join('/')

/** Globs with partial matches at many positions. */
const hostile: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom('', '!', '!/'),
    fc.array(
      fc.constantFrom(
        '**/',
        '*',
        '**',
        '***',
        '?',
        'a',
        'a0',
        '/',
        '{a,*}',
        '{*a,**,?}',
        '[a-c]',
        '[!b]',
        '*a*',
        '**/**/',
      ),
      { minLength: 1, maxLength: 60 },
    ),
    fc.constantFrom('b1', '', '*b'),
  )
  .map(([front, parts, end]) => front + parts.join('') + end)
const path = fc.oneof(
  fc.array(fc.constantFrom('a', 'aa', 'a0', 'ab'), { minLength: 1, maxLength: 120 }).map((names) => names.join('/')),
  fc.integer({ min: 1, max: 255 }).map((length) => 'a'.repeat(length)),
)

test('steps per path grow with path length × glob length, also with exclusions', () => {
  fc.assert(
    fc.property(fc.array(hostile, { minLength: 1, maxLength: 8 }), path, (globs, name) => {
      const work = new Work(Number.POSITIVE_INFINITY)
      compileGlobs(globs).matches(name, work)
      // A brace or `**/` has up to three states, each opened and checked.
      const length = globs.reduce((sum, glob) => sum + glob.length, 0)
      assert.ok(work.spent <= 4 * (length + globs.length) * (name.length + 1), `${work.spent} steps`)
    }),
    { numRuns: 300 },
  )
})

test('repeated stars cost as much as one', () => {
  const stepsOf = (glob: string): number => {
    const work = new Work(Number.POSITIVE_INFINITY)
    assert.equal(compileGlobs([glob]).matches(DEEP, work), true)
    return work.spent
  }
  assert.equal(stepsOf(`!${'**/'.repeat(100)}b1`), stepsOf('!**/b1'))
  assert.equal(stepsOf(`!${'*'.repeat(500)}/b1`), stepsOf('!***/b1'))
})

test('exclusions cost no more than inclusions, because a path is matched once for all of its folders', () => {
  const glob = `${'*/'.repeat(60)}**/{a,b}1/b1`
  const work = { without: new Work(Number.POSITIVE_INFINITY), with: new Work(Number.POSITIVE_INFINITY) }
  compileGlobs([glob]).matches(DEEP, work.without)
  compileGlobs([`!${glob}`]).matches(DEEP, work.with)
  assert.equal(work.with.spent, work.without.spent)
})

test('globs that would take too long are refused by name', () => {
  const long = 'a'.repeat(250)
  const name = Array.from({ length: 16 }, () => long).join('/')
  const glob = `**/${'*a'.repeat(450)}b`
  const heavy = compileGlobs(Array.from({ length: 4 }, () => `!${glob}`))
  const work = new Work(MAX_PATH_STEPS)
  assert.throws(
    () => heavy.matches(name, work),
    (error: unknown) => error instanceof InvalidGlob && error.message.includes('`**/*a*a'),
  )
  assert.ok(work.spent < MAX_PATH_STEPS * 1.01, 'it stopped there')
  assert.throws(() => compileGlobs(['x'.repeat(1_001)]), InvalidGlob)
})

test('an excluded folder excludes its files, unless a later glob includes that folder again', () => {
  for (const [globs, name, matches] of [
    [['!a'], 'a/b', false],
    [['!/b'], 'a/b', true],
    [['!a/b'], 'a/b/c/d', false],
    [['!**/c'], 'a/b/c/d', false],
    [['!a', 'a'], 'a/b', false],
    [['!a', 'a', 'b'], 'a/b', true],
    [['*', '!b'], 'a/b/c', false],
    [['!b', '*'], 'a/b/c', true],
    [['*.ts', '!x*'], 'a/b.ts', true],
    [['*.ts', '!x*'], 'xa/b.ts', false],
  ] as const)
    assert.equal(compileGlobs(globs).matches(name), matches, `${globs.join(' ')}: ${name}`)
})
