// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { needs } from '#test/needs.ts'
import { type Tree, pattern, tree, word } from '../test/patterns.ts'
import { compileGlobs } from './glob/glob.ts'
import { columnIn, lineCounter, matchingLines } from './regex/lines.ts'
import { type PatternSpec, compile } from './regex/pattern.ts'
import { fileTypes } from './glob/types.ts'

function withTree<T>(tree: Tree, work: (root: string) => T): T {
  const root = mkdtempSync(join(tmpdir(), 'ukiyo-rg-'))
  try {
    for (const [path, text] of Object.entries(tree)) {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      writeFileSync(join(root, path), text)
    }
    return work(root)
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

function rg(root: string, args: string[]): string[] {
  try {
    const all = ['--no-config', '--no-ignore', '--hidden', '--no-heading', '--sort', 'path', ...args]
    return execFileSync('rg', all, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
      .split('\n')
      .filter(Boolean)
  } catch (error) {
    // 1: no match.
    if ((error as { status?: number }).status === 1) return []
    throw error
  }
}

const ours = (tree: Tree, spec: PatternSpec): string[] => {
  const pattern = compile(spec)
  return Object.keys(tree)
    .toSorted()
    .flatMap((path) => {
      const bytes = Buffer.from(tree[path]!)
      const lineAt = lineCounter(bytes)
      const rows: string[] = []
      matchingLines(pattern, bytes, (start, end) => {
        const line = lineAt(start)
        bytes
          .toString('utf8', start, end)
          .split('\n')
          .forEach((text, i) => {
            const column = i === 0 ? columnIn(pattern, bytes, start, end) : 1
            rows.push(`${path}:${line + i}:${column}:${text}`)
          })
        return true
      })
      return rows
    })
}

/** Ripgrep omits the column of an empty match at the very end. */
function same(mine: string[], actual: string[], about: unknown): void {
  const theirs = actual.map((row) => row.replace(/^\.\//, ''))
  const bare = (row: string): string => row.replace(/^([^:]*:\d+):\d+:/, '$1:')
  const adjustedRows = mine.map((row, i) => (theirs[i] === bare(row) ? bare(row) : row))
  assert.deepEqual(adjustedRows, theirs, JSON.stringify(about))
}

const flagsOf = ({ case: how, multiline, fixed }: PatternSpec): string[] => [
  { sensitive: '-s', insensitive: '-i', smart: '-S' }[how],
  ...(multiline ? ['-U'] : []),
  ...(fixed ? ['-F'] : []),
]

const rgIs = needs(spawnSync('rg', ['--version']).status === 0, 'ripgrep')

test('lines, line numbers and columns match ripgrep', rgIs, () => {
  fc.assert(
    fc.property(
      tree,
      fc.array(
        fc.record({
          pattern,
          case: fc.constantFrom('sensitive' as const, 'insensitive' as const, 'smart' as const),
          multiline: fc.constant(false),
          fixed: fc.constant(false),
        }),
        { minLength: 6, maxLength: 6 },
      ),
      (files, specs) => {
        withTree(files, (root) => {
          for (const spec of specs)
            same(ours(files, spec), rg(root, ['-n', '--column', ...flagsOf(spec), '-e', spec.pattern, '.']), spec)
        })
      },
    ),
    { numRuns: 40, endOnFailure: true },
  )
})

test('plain words match as in ripgrep', rgIs, () => {
  fc.assert(
    fc.property(
      tree,
      word,
      fc.constantFrom('sensitive' as const, 'insensitive' as const, 'smart' as const),
      (files, words, how) => {
        const spec = { pattern: words, case: how, multiline: false, fixed: true }
        withTree(files, (root) =>
          assert.deepEqual(
            ours(files, spec),
            rg(root, ['-n', '--column', ...flagsOf(spec), '-e', words, '.']).map((row) => row.replace(/^\.\//, '')),
          ),
        )
      },
    ),
    { numRuns: 40, endOnFailure: true },
  )
})

test('multiline matches are those of ripgrep', rgIs, () => {
  // `^` is tested below: ripgrep treats the end of its last match as a line start.
  const across = fc.tuple(pattern, pattern).map(([a, b]) => `${a.replace(/^\^|\$$/g, '')}\\n${b.replace('^', '')}`)
  const numbered = (rows: string[]): string[] => rows.map((row) => row.replace(/^(.*?:\d+):\d+:/, '$1:'))
  fc.assert(
    fc.property(tree, across, (files, pattern) => {
      const spec = { pattern, case: 'sensitive' as const, multiline: true, fixed: false }
      withTree(files, (root) =>
        assert.deepEqual(
          numbered(ours(files, spec)),
          numbered(rg(root, ['-n', '--column', '-U', '-e', pattern, '.']).map((row) => row.replace(/^\.\//, ''))),
          pattern,
        ),
      )
    }),
    { numRuns: 60, endOnFailure: true },
  )
})

test('globs select the files that ripgrep lists', rgIs, () => {
  const piece = fc.constantFrom(
    '*',
    // `?` is a character here and a byte in ripgrep, so only ASCII is compared.
    'readm?',
    'a',
    'b',
    'readme',
    '*.ts',
    '*.{ts,md}',
    '[a-c]',
    '[!a-c]*',
    '{a,b*}',
    '*.d',
    '**',
    '***',
    'a**',
    '**/**',
    '**/**/**',
    '{**,a*}',
    '.*',
    'T*',
    'x y',
    'ü',
    '*e*',
  )
  const glob = fc
    .tuple(fc.constantFrom('', '!', '/', '!/'), fc.array(piece, { minLength: 1, maxLength: 3 }))
    .map(([front, parts]) => front + parts.join('/'))
  fc.assert(
    fc.property(
      tree,
      fc.array(fc.array(glob, { minLength: 1, maxLength: 4 }), { minLength: 5, maxLength: 5 }),
      (files, all) => {
        withTree(files, (root) => {
          for (const globs of all) {
            const compiledGlobs = compileGlobs(globs)
            const paths = Object.keys(files)
              .filter((file) => compiledGlobs.matches(file))
              .toSorted()
            assert.deepEqual(
              paths,
              rg(root, ['--files', ...globs.flatMap((one) => ['-g', one])]).toSorted(),
              JSON.stringify(globs),
            )
          }
        })
      },
    ),
    { numRuns: 40, endOnFailure: true },
  )
})

test('types select the same files as in ripgrep', rgIs, () => {
  const files: Tree = Object.fromEntries(
    Object.values(fileTypes).flatMap((globs) =>
      globs.map(
        (one) =>
          [
            `x/${one
              .replace('*', 'n')
              .replace(/\[(.).*?\]/g, '$1')
              .replace('*', 'm')}`,
            'x',
          ] as const,
      ),
    ),
  )
  withTree(files, (root) => {
    for (const type of Object.keys(fileTypes))
      assert.deepEqual(
        Object.keys(files)
          .filter((file) => compileGlobs(fileTypes[type]!).matches(file))
          .toSorted(),
        rg(root, ['--files', '-t', type]).toSorted(),
        type,
      )
  })
})

test('a multiline match starts at a line start, wherever the search resumes', () => {
  const spec = { pattern: '^\\n(?:\\W{2,}|\\w){1,3}', case: 'sensitive' as const, multiline: true, fixed: false }
  assert.deepEqual(
    ours({ 'a.ts': '\nFoo\n" s\n' }, spec).map((row) => row.replace(/^(.*?:\d+):\d+:/, '$1:')),
    ['a.ts:1:', 'a.ts:2:Foo'],
  )
})
