import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Tokens, growingLexer } from './lex.ts'
import { isMisleading, targetOf } from './links.ts'
import { visible } from '../text/visible.ts'
import type { Maths } from './maths.ts'
import { decode } from './plain.ts'

const TEXT = [
  '# One',
  'A paragraph\nof two lines\nthat becomes a heading\n===',
  '- a\n- b\n\n  more of b\n\n1. first\n2. second',
  '```ts\nconst a = 1\n\n\nconst b = 2\n```',
  '| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |',
  '> quoted\nlazily\n\n> and on',
  '    indented\n\n    code\n\nThe end.',
  '<div>\nraw\n\n</div>\n\n***\n\n* other',
  'A line\n$$\nx^2\n$$\nand $a_1$, for $5 and $6 or \\(b\\)\n\n\\[\nc\n\\]\n\n$$ not closed',
].join('\n\n')

test('incremental parsing gives the same result as parsing the whole text', () => {
  const read = growingLexer()
  for (let end = 1; end <= TEXT.length; end++) {
    const raw = (blocks: readonly { raw: string; type: string }[]) => blocks.map(({ type, raw: of }) => `${type} ${of}`)
    assert.deepEqual(raw(read(TEXT.slice(0, end))), raw(growingLexer()(TEXT.slice(0, end))), TEXT.slice(0, end))
  }
  assert.equal(read('Another text')[0]!.raw, 'Another text')
})

test('links lead only to the web, to email addresses and to this server', () => {
  for (const href of [
    'javascript:alert(1)',
    'JAVASCRIPT:x',
    ' data:text/html,x',
    'vbscript:x',
    '//evil.example',
    '/\\evil',
    '/\t/evil.example',
    '/\n\\evil.example',
    '/a/..//evil.example',
    'file:///x',
    'x y',
    '#a',
  ])
    assert.equal(targetOf(href), null, href)
  assert.deepEqual(targetOf('/app/chats'), { href: '/app/chats', host: null })
  // Drive images are loaded by the path that browsers resolve, not by the one written.
  assert.deepEqual(targetOf('/v1/drive/files/../../app'), { href: '/v1/app', host: null })
  assert.deepEqual(targetOf('https://a.example/b'), { href: 'https://a.example/b', host: 'a.example' })
  assert.equal(isMisleading('https://bank.example', 'evil.example'), true)
  assert.equal(isMisleading('bank.example/login', 'evil.example'), true)
  assert.equal(isMisleading('the bank', 'evil.example'), false)
  assert.equal(isMisleading('example.com', 'www.example.com'), false)
  assert.equal(isMisleading('example.com/a', 'example.com:8080'), false)
})

test('invisible characters become visible, and character references are decoded', () => {
  assert.equal(visible('a\u202eb\u{e0041}'), 'a⟨U+202E⟩b⟨U+E0041⟩')
  assert.equal(decode('&lt;b&gt; &amp;amp; &#x41;&#66; &#0; &nothing;'), '<b> &amp; AB \ufffd &nothing;')
})

test('formulas are distinguished from prices, and unclosed ones are ignored', () => {
  const formulas = (text: string) =>
    growingLexer()(text).flatMap((block) => [
      ...(block.type === 'maths' ? [`block ${(block as unknown as Maths).tex}`] : []),
      ...((block as Tokens.Paragraph).tokens ?? []).flatMap((token) =>
        token.type === 'maths-inline' ? [(token as unknown as Maths).tex] : [],
      ),
    ])
  assert.deepEqual(formulas('$a + b$, \\(c\\) and $$d$$'), ['a + b', 'c', 'd'])
  assert.deepEqual(formulas('from $5 to $10, $HOME and $PATH, US$5-$6'), [])
  assert.deepEqual(formulas('Text\n$$\nx\n$$\nmore'), ['block x'])
  assert.deepEqual(formulas('\\[ y \\]'), ['block y'])
  assert.deepEqual(formulas('```\n$a$\n```\n`$b$`'), [])
  assert.deepEqual(formulas('$$\n\nx\n\n$$'), [])
  // A lexer that rescans from each mark would need hours for these.
  for (const hostile of ['\n$$'.repeat(30_000), '$a '.repeat(50_000), '\\['.repeat(50_000), '\\('.repeat(50_000)])
    growingLexer()(hostile)
})
