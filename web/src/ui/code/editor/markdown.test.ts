import { StringStream } from '@codemirror/language'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { markdown } from './markdown.ts'

function read(text: string): string[] {
  const place = markdown.startState!(2)
  return text.split('\n').flatMap((line) => {
    const stream = new StringStream(line, 2, 2)
    const found: string[] = []
    while (!stream.eol()) {
      stream.start = stream.pos
      const token = markdown.token(stream, place)
      assert.ok(stream.pos > stream.start, `${line} is read no further than ${stream.pos}`)
      if (token) found.push(`${token}: ${stream.current()}`)
    }
    return found
  })
}

test('the editor highlights headings, lists, quotes, code, emphasis and links, but nothing inside words or code', () => {
  assert.deepEqual(read('# Who you are\n- one *fine* thing\n 2) two\n> said\n---\n#no'), [
    'heading: # Who you are',
    'keyword: -',
    'emphasis: *fine*',
    'keyword:  2)',
    'meta: >',
    'meta: ---',
  ])
  assert.deepEqual(
    read('a **b *c* d** `e*f*` [g](https://h.example) \\*i\\* <https://j.example> _k_ snake_case_name 2 * 3 * 4'),
    [
      'strong: **b *c* d**',
      'string: `e*f*`',
      'link: [g](https://h.example)',
      'escape: \\*',
      'escape: \\*',
      'link: <https://j.example>',
      'emphasis: _k_',
    ],
  )
  assert.deepEqual(read('```ts\n# no *heading*\n~~~\n```\n# Heading'), [
    'string: ```ts',
    'string: # no *heading*',
    'string: ~~~',
    'string: ```',
    'heading: # Heading',
  ])
})

test('a long line of Markdown markers parses quickly', () => {
  for (const mark of ['*', '_', '`', '[', '![', '**a ', '\\']) read(mark.repeat(5_000 / mark.length))
})
