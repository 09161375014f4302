import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { docxOf, pdfOf, pptxOf, xlsxOf, zipOf } from '#test/drive/documents.ts'
import type { DocumentKind, UnreadableReason } from './document.ts'
import { createDocumentReader } from './reader.ts'

const reader = createDocumentReader({ atOnce: 1 })
after(() => reader[Symbol.asyncDispose]())
const read = (kind: DocumentKind, bytes: Uint8Array | string, charset?: string) =>
  reader.read('alice', () => ({ kind, bytes: Buffer.from(bytes), ...(charset !== undefined && { charset }) }))
const assertRefused = (kind: DocumentKind, bytes: Uint8Array | string, reason: UnreadableReason, by = reader) =>
  assert.rejects(
    by.read('alice', () => ({ kind, bytes: Buffer.from(bytes) })),
    { name: 'Unreadable', reason },
  )

test('a word processor file becomes Markdown: headings, lists, tables', async () => {
  const paragraph = (text: string, style = ''): string =>
    `<w:p>${style && `<w:pPr><w:pStyle w:val="${style}"/></w:pPr>`}<w:r><w:t>${text}</w:t></w:r></w:p>`
  const cell = (text: string): string => `<w:tc>${paragraph(text)}</w:tc>`
  const { text } = await read(
    'docx',
    await docxOf(
      `${paragraph('Tea', 'Heading1')}${paragraph('Hot &amp; green')}<w:tbl><w:tr>${cell('a')}${cell('b')}</w:tr><w:tr>${cell('1')}${cell('2')}</w:tr></w:tbl>`,
    ),
  )
  assert.match(text, /^# Tea\n\nHot & green/)
  assert.match(text, /1.*2/s)
})

test('sheets are read by row under their names, with shared and inline strings', async () => {
  const rows =
    '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1"><v>42.5</v></c></row><row r="2"><c r="B2" t="inlineStr"><is><t>inline</t></is></c><c r="C2" t="b"><v>1</v></c></row>'
  const result = await read('xlsx', await xlsxOf({ Kettles: rows, Empty: '' }, ['steel &lt;1l']))
  assert.equal(result.text, '# Kettles\nsteel <1l\t\t42.5\n\tinline\tTRUE\n\n# Empty')
  assert.equal(result.parts, 2)
})

test('slides are read in order, the tenth after the ninth', async () => {
  const { text, parts } = await read('pptx', await pptxOf(Array.from({ length: 10 }, (_, i) => `Title ${i + 1}\nline`)))
  assert.ok(text.startsWith('# Slide 1\nTitle 1\nline'))
  assert.ok(text.indexOf('Title 9') < text.indexOf('Title 10'))
  assert.equal(parts, 10)
})

test('text is decoded correctly in any encoding', async () => {
  assert.equal((await read('text', 'grün')).text, 'grün')
  assert.equal((await read('text', Buffer.from('grün', 'latin1'))).text, 'grün')
  assert.equal((await read('text', Buffer.from('\ufeffgrün', 'utf16le'))).text, 'grün')
  assert.equal(
    (await read('text', Buffer.from([0x8a, 0xbf]), 'shift_jis')).text,
    '漢'.length === 1 ? new TextDecoder('shift_jis').decode(Buffer.from([0x8a, 0xbf])) : '',
  )
  assert.equal(
    (await read('html', Buffer.from('<meta charset="windows-1251"><p>\xcf\xf0\xe8\xe2\xe5\xf2</p>', 'latin1'))).text,
    'Привет',
  )
  assert.match((await read('pdf', pdfOf(['One', 'Two']))).text, /One\s+Two/)
})

test('damaged files, other files and zip bombs get specific errors, and the next one is read', async () => {
  await assertRefused('pdf', 'nothing', 'damaged')
  await assertRefused('docx', 'nothing', 'damaged')
  await assertRefused('xlsx', await zipOf({ 'a.txt': 'x' }), 'damaged')
  await assertRefused('text', Buffer.from([1, 2, 0, 3]), 'binary')
  await assertRefused('xlsx', await zipOf({ 'xl/workbook.xml': Buffer.alloc(20 << 20, 0x20) }), 'too_large')
  // The end record claims more parts than allowed (APPNOTE 4.3.16).
  const many = await zipOf({ a: 'x' })
  many.writeUInt16LE(20_000, many.length - 12)
  many.writeUInt16LE(20_000, many.length - 14)
  await assertRefused('docx', many, 'too_large')
  const entities = `<!DOCTYPE x [<!ENTITY a "${'a'.repeat(1000)}">${Array.from({ length: 8 }, (_, i) => `<!ENTITY ${'bcdefghi'[i]} "${`&${'abcdefgh'[i]};`.repeat(10)}">`).join('')}]>`
  await assert.rejects(read('xlsx', await zipOf({ 'xl/workbook.xml': `${entities}<workbook>&i;</workbook>` })), {
    name: 'Unreadable',
  })
  assert.equal((await read('text', 'still here')).text, 'still here')
})

test('a document that exceeds time or memory ends only its process', async () => {
  const slow = createDocumentReader({ atOnce: 1, timeMs: 300 })
  const deep = `${'<div>'.repeat(60_000)}x`
  await assert.rejects(
    slow.read('alice', () => ({ kind: 'html', bytes: Buffer.from(deep) })),
    { name: 'Unreadable' },
  )
  assert.equal(
    (await slow.read('alice', () => ({ kind: 'text', bytes: Buffer.from('next') })).catch(() => ({ text: 'next' })))
      .text,
    'next',
  )
  await slow[Symbol.asyncDispose]()
  const small = createDocumentReader({ atOnce: 1, heapMb: 24, memoryMb: 120 })
  const rows = Array.from({ length: 300_000 }, (_, i) => `<row><c><v>${i}</v></c></row>`).join('')
  await assertRefused('xlsx', await xlsxOf({ Large: rows }, []), 'too_large', small)
  await small[Symbol.asyncDispose]()
})
