import { docxOf, pdfOf, pptxOf, xlsxOf, zipOf } from './documents.ts'
import type { DocumentKind } from '#infra/text/documents/document.ts'

type Attack = () => Promise<Buffer> | Buffer

/** So many words that the elements around them are more than any kind may have; empty ones beside them cost least to make. */
const MANY = 110_000
const EMPTY = 8
const TWENTY = [...'bcdefghijklmnopqrstu'].map((name) => ` ${name}=""`).join('')
/** Numbers that repeat nowhere, so that it is not packed as a bomb is. */
const each = (count: number, one: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => one(i)).join('')
const odd = (i: number): number => (i * 2_654_435_761) % 4_294_967_296
const attributes = (count: number): string => each(count, (i) => ` a${odd(i)}="${i}"`)
const nested = (open: string, close: string, levels: number, within = ''): string =>
  `${open.repeat(levels)}${within}${close.repeat(levels)}`
const entities = `<!DOCTYPE x [<!ENTITY a "${'a'.repeat(1000)}">${each(8, (i) => `<!ENTITY ${'bcdefghi'[i]} "${`&${'abcdefgh'[i]};`.repeat(10)}">`)}]>`
/** Packed as no text is, and as large as it says. */
const bomb =
  (name: string): Attack =>
  () =>
    zipOf({ [name]: Buffer.alloc(65 << 20, 0x20) })

const word = (more: string): string => `<w:p><w:r><w:t>${more}</w:t></w:r></w:p>`
const slide = (more: string): string => `</a:t></a:r></a:p>${more}<a:p><a:r><a:t>`

/** A document for every kind that is read and every way to make its reader work for long or hold much. */
export const attacks: Record<DocumentKind, Record<string, Attack>> = {
  docx: {
    'too many elements': () => docxOf(each(MANY, (i) => word(String(odd(i))))),
    'too many attributes': () => docxOf(each(110_000, (i) => `<w:p a="${odd(i)}" b="" c="" d="" e="" f=""/>`)),
    'too many attributes of one': () => docxOf(`<w:p${attributes(100_000)}/>`),
    'deep nesting': () => docxOf(nested('<w:p>', '</w:p>', 50_000)),
    'tables in tables': () => docxOf(nested('<w:tbl><w:tr><w:tc>', '</w:tc></w:tr></w:tbl>', 30, word('x'))),
    entities: () => zipOf({ 'word/document.xml': `${entities}<w:document>&i;</w:document>` }),
    'a zip bomb': bomb('word/document.xml'),
    'slow styles': () => docxOf(each(30_000, (i) => `<w:p><w:pPr><w:pStyle w:val="s${odd(i)}"/></w:pPr></w:p>`)),
  },
  xlsx: {
    'too many elements': () =>
      xlsxOf({ A: each(MANY, (i) => `<row><c><v>${odd(i)}</v></c>${'<c/>'.repeat(EMPTY)}</row>`) }, []),
    'too many attributes': () => xlsxOf({ A: each(MANY, (i) => `<row a="${odd(i)}"${TWENTY}/>`) }, []),
    'too many attributes of one': () => xlsxOf({ A: `<row${attributes(100_000)}/>` }, []),
    'deep nesting': () => xlsxOf({ A: nested('<row>', '</row>', 50_000) }, []),
    'cells far to the right': () =>
      xlsxOf({ A: each(20_000, (i) => `<row r="${odd(i)}"><c r="XFD1"><v>1</v></c></row>`) }, []),
    'empty cells far to the right': () =>
      xlsxOf({ A: each(20_000, (i) => `<row r="${odd(i)}"><c r="XFD1"/></row>`) }, []),
    'one long text, named often': () =>
      xlsxOf({ A: each(10_000, (i) => `<row r="${odd(i)}"><c t="s"><v>0</v></c></row>`) }, ['y'.repeat(500_000)]),
    entities: () => zipOf({ 'xl/workbook.xml': `${entities}<workbook>&i;</workbook>` }),
    'a zip bomb': bomb('xl/workbook.xml'),
  },
  pptx: {
    'too many elements': () =>
      pptxOf([slide(each(MANY, (i) => `<a:p><a:r><a:t>${odd(i)}</a:t></a:r>${'<a:br/>'.repeat(EMPTY)}</a:p>`))]),
    'too many attributes': () => pptxOf([slide(each(MANY, (i) => `<a:p a="${odd(i)}"${TWENTY}/>`))]),
    'too many attributes of one': () => pptxOf([slide(`<a:p${attributes(100_000)}/>`)]),
    'deep nesting': () => pptxOf([slide(nested('<a:p>', '</a:p>', 50_000))]),
    'too many slides': () => pptxOf(Array.from({ length: 9_000 }, (_, i) => each(4, (j) => `${odd(i * 4 + j)}\n`))),
    entities: () => zipOf({ 'ppt/slides/slide1.xml': `${entities}<p:sld>&i;</p:sld>` }),
    'a zip bomb': bomb('ppt/slides/slide1.xml'),
  },
  html: {
    'too many elements': () => Buffer.from(each(MANY, (i) => `<i>${odd(i)}</i>`)),
    'too many attributes': () => Buffer.from(each(100_000, (i) => `<p a="${odd(i)}" b c d e f>x</p>`)),
    'too many attributes of one': () => Buffer.from(`<p${attributes(100_000)}>x</p>`),
    'attributes behind a sign in quotes': () => Buffer.from(`<p x=">"${attributes(100_000)}>x</p>`),
    'elements within a quote that is none': () => Buffer.from(`<p " >${each(MANY, (i) => `<i>${odd(i)}</i>`)}`),
    'deep nesting': () => Buffer.from(nested('<div>', '</div>', 60_000, 'x')),
    'tables in tables': () => Buffer.from(nested('<table><tr><td>x', '</td></tr></table>', 40, 'x')),
    entities: () => Buffer.from(`${entities}<p>&i;</p>`),
    'one long tag': () => Buffer.from(`<p ${'x'.repeat(3_000_000)}`),
  },
  pdf: {
    'too many pages': () => pdfOf(Array.from({ length: 30_000 }, (_, i) => `${odd(i)}`)),
    'one long page': () => pdfOf([each(150_000, (i) => `${odd(i)} `)]),
  },
  text: { 'one long line': () => Buffer.alloc(30 << 20, 'x') },
}
