import assert from 'node:assert/strict'
import { test } from 'node:test'
import { growingLexer } from './lex.ts'
import { isTooDeep } from './maths.ts'
import { decode } from './plain.ts'

interface Token {
  type: string
  raw: string
  text?: string
  href?: string
  tokens?: Token[]
  items?: Token[]
}

const lex = (text: string): readonly Token[] => growingLexer()(text)

const drawn = (tokens: readonly Token[]): string =>
  tokens
    .map((token) => {
      if (token.type === 'space' || token.type === 'def') return ''
      if (token.type === 'html') return token.raw
      const inner = token.tokens ?? token.items
      return inner === undefined ? decode(token.text ?? token.raw) : drawn(inner)
    })
    .join('')

const kinds = (tokens: readonly Token[]): string[] =>
  tokens.flatMap(({ type, tokens: inner = [] }) => [type, ...kinds(inner)])

const codePoints = function* (matching: RegExp, from = 0x80, to = 0x323af): Generator<string> {
  for (let point = from; point <= to; point++) {
    const character = String.fromCodePoint(point)
    if ((point < 0xd800 || point > 0xdfff) && matching.test(character)) yield character
  }
}
const ASCII = [...codePoints(/[\p{P}\p{S}]/u, 0x21, 0x7e)]
/** Punctuation of all scripts, and the first symbol of each row of 16. */
const PUNCTUATION = [
  ...codePoints(/\p{P}/u),
  ...[...codePoints(/\p{S}/u)].filter((one) => one.codePointAt(0)! % 16 === 0),
]

test('ordinary sentences keep each ASCII punctuation character', () => {
  assert.equal(ASCII.length, 32)
  const wrong = ASCII.flatMap((mark) =>
    [
      `气温10${mark}15度，湿度40${mark}60%`,
      `From 10${mark}15 to 40${mark}60 in all`,
      `Sizes: 10${mark}15${mark}20 cm`,
      `One ${mark} two ${mark} three`,
      `価格は100${mark}です。`,
      `See item (${mark}) and item 4`,
    ].filter(
      (sentence) =>
        // Two backticks around words are code, whose backticks aren't shown.
        !(mark === '`' && sentence.split(mark).length > 2) &&
        // A backslash before punctuation escapes it.
        !sentence.includes('\\)') &&
        drawn(lex(sentence)) !== sentence,
    ),
  )
  assert.deepEqual(wrong, [])
})

test('one tilde is text and two tildes strike out', () => {
  assert.deepEqual(kinds(lex('~a~ 10~15，40~60')), ['paragraph', 'text'])
  assert.deepEqual(kinds(lex('~~a~~')), ['paragraph', 'del', 'text'])
  assert.deepEqual(kinds(lex('已~~删除。~~继续')), ['paragraph', 'text', 'del', 'text', 'text'])
})

for (const [marks, kind] of [
  ['**', 'strong'],
  ['*', 'em'],
  ['~~', 'del'],
] as const)
  test(`${marks} next to punctuation of any script becomes ${kind}`, () => {
    const wrong = PUNCTUATION.filter((mark) =>
      [
        `文${marks}${mark}字${marks}文`,
        `文${marks}字${mark}${marks}文`,
        `${mark}${marks}字${marks}${mark}`,
        `ก${marks}${mark}ข${mark}${marks}ค`,
        `a${marks}b${mark}${marks}c`,
      ].some((text) => !kinds(lex(text)).includes(kind)),
    )
    assert.deepEqual(wrong, [])
  })

test('bold text in ASCII quotes, parentheses and code works next to letters of any script', () => {
  const letters = [...codePoints(/\p{L}/u)].filter((one) => one.codePointAt(0)! % 32 === 0)
  assert.ok(letters.length > 3_000)
  const wrong = letters.filter((letter) =>
    [`${letter}**"x"**${letter}`, `${letter}**(${letter})**${letter}`, `${letter}**\`x\`**${letter}`].some(
      (text) => !kinds(lex(text)).includes('strong'),
    ),
  )
  assert.deepEqual(wrong, [])
})

test('formulas, identifiers and sizes with asterisks and underscores are unchanged', () => {
  for (const text of ['π*(a+b)*2', '2*3*4', 'snake_case_name', '5 * 3 * 2', '2**3', '**Note:**next', 'x ** y ** z'])
    assert.equal(drawn(lex(text)), text)
})

test('punctuation outside ASCII ends a bare link, and letters do not', () => {
  const link = (text: string) => lex(text)[0]!.tokens!.find(({ type }) => type === 'link')
  const wrong = PUNCTUATION.filter(
    (mark) =>
      link(`参见 https://example.com/plan${mark}谢谢`)?.href !== 'https://example.com/plan' ||
      link(`${mark}https://example.com/help${mark}请看`)?.href !== 'https://example.com/help',
  )
  assert.deepEqual(wrong, [])
  for (const address of [
    'https://ja.example.org/wiki/日本',
    'https://example.com/a_(b)?c=d~e&f#g',
    'https://example.com/é',
  ])
    assert.equal(link(address)?.href, address)
  assert.equal(link('https://example.com/a.。b')?.href, 'https://example.com/a')
  assert.equal(link('[https://example.com。](https://other.example)')?.href, 'https://other.example')
})

test('deeply nested text is parsed, and too deep parts are shown as written', () => {
  const many = (text: string, count = 3_500) => text.repeat(count)
  const texts = {
    quotes: many('>') + ' a',
    'spaced quotes': many('> ') + 'a',
    lists: many('- ') + 'a',
    'numbered lists': many('1. ') + 'a',
    'lists in quotes': many('> - ') + 'a',
    'quotes with lazy lines': many('>', 40) + ' a\nb\n' + many('>', 39) + ' c\nd',
    'stairs of lists': Array.from({ length: 120 }, (_, i) => `${'  '.repeat(i)}- a`).join('\n'),
    'stairs of quotes': Array.from({ length: 120 }, (_, i) => `${'>'.repeat(i + 1)} a`).join('\n'),
    emphasis: many('*a ', 1_000) + many('b*', 1_000),
    'bold text': many('**a ', 1_000) + many('b**', 1_000),
    underscores: many('_a ', 1_000) + many('b_', 1_000),
    deletions: many('~~a ', 1_000) + many('b~~', 1_000),
    links: many('[') + 'a' + many('](b)'),
    pictures: many('![') + 'a' + many('](b)'),
    references: `[a]: b\n\n${many('[')}a${many('][a]')}`,
    parentheses: `[a](${many('(')}${many(')')})`,
    elements: many('<a>'),
    tables: `|a|\n|-|\n${many('|')}`,
    braces: `$${many('{', 400)}a${many('}', 400)}$`,
  }
  const depthOf = (tokens: readonly Token[]): number =>
    Math.max(0, ...tokens.map(({ tokens: inner, items }) => 1 + depthOf(inner ?? items ?? [])))
  for (const [name, text] of Object.entries(texts)) {
    const tokens = lex(text)
    assert.ok(depthOf(tokens) <= 2 * 32 + 12 + 4, `${name}: ${depthOf(tokens)} deep`)
    assert.match(drawn(tokens), name === 'elements' || name === 'tables' ? /./ : /a|\(|\|/, name)
  }
})

test('formulas with deeply nested groups aren’t rendered', () => {
  assert.equal(isTooDeep('\\frac{a_{1}}{\\sqrt{b}} \\left(\\begin{matrix}a\\end{matrix}\\right)'), false)
  assert.equal(isTooDeep('{a}'.repeat(1_000) + '\\{'.repeat(500)), false)
  for (const open of ['{', '\\left(', '\\begin{matrix}', '\\sqrt']) assert.equal(isTooDeep(open.repeat(200)), true)
})
