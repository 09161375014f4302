import fc from 'fast-check'
import { MAX_STEPS, stepsOf } from '../src/regex/steps.ts'

/** Trees of files, and patterns that find something in them. */
export type Tree = Record<string, string>

export const word = fc.constantFrom(
  'foo',
  'Foo',
  'bar',
  'ba',
  'x',
  'error',
  'ERROR',
  'é',
  'ß',
  '42',
  '_',
  'a b',
  'Kelvin',
  '\u212aelvin',
  'straſse',
  '你好',
  '😀',
  '-',
  '"',
)
export const text = fc
  .array(
    fc.array(word, { maxLength: 6 }).map((words) => words.join(' ').trimEnd()),
    { maxLength: 12 },
  )
  .chain((lines) => fc.constantFrom('\n', '').map((end) => lines.join('\n') + (lines.length > 0 ? end : '')))
const name = fc.constantFrom('a', 'b', 'readme', 'index', 'Test', '.hidden', 'x y', 'ü')
const ending = fc.constantFrom('.ts', '.js', '.md', '.test.ts', '')
const path = fc
  .tuple(fc.array(name, { maxLength: 3 }), name, ending)
  .map(([folders, last, end]) => [...folders.map((one) => `${one}.d`), last + end].join('/'))
export const tree: fc.Arbitrary<Tree> = fc.dictionary(path, text, { minKeys: 1, maxKeys: 8 })

// `\b` and `\B` are left to ASCII words: RE2's edges are those of ASCII.
const atom = fc.constantFrom(
  'foo',
  'Foo',
  'bar',
  'ba',
  'x',
  'err',
  '42',
  '.',
  '[a-c]',
  '[^a-z ]',
  String.raw`\w`,
  String.raw`\d`,
  String.raw`\s`,
  String.raw`\W`,
  'é',
  '你',
  '[é-ü]',
  '[x_]',
  String.raw`\.`,
  '"',
  'k',
  's',
)
/** Two of them in one pattern are not refused for their size. */
export const pattern: fc.Arbitrary<string> = fc
  .letrec<{ one: string; all: string }>((tie) => ({
    one: fc.oneof(
      { maxDepth: 3 },
      atom,
      fc
        .tuple(tie('one'), fc.constantFrom('*', '+', '?', '{2}', '{1,3}', '{0,2}', '{2,}', '+?', '*?'))
        .map(([of, times]) => `(?:${of})${times}`),
      fc.tuple(tie('one'), tie('one')).map(([a, b]) => `(${a}|${b})`),
    ),
    all: fc
      .tuple(
        fc.constantFrom('', '', '', '^'),
        fc.array(tie('one'), { minLength: 1, maxLength: 4 }),
        fc.constantFrom('', '', '', '$'),
      )
      .map(([begin, parts, end]) => begin + parts.join('') + end),
  }))
  .all.filter((one) => stepsOf(one) < MAX_STEPS / 2)
