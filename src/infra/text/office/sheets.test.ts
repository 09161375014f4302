import assert from 'node:assert/strict'
import { test } from 'node:test'
import { partsOf, relationships } from '#test/drive/office.ts'
import { readXlsx } from './sheets.ts'

const main =
  'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'

interface Book {
  rows: string
  formats?: (number | string)[]
  shared?: string[]
  from1904?: boolean
}
async function read({ rows, formats = [], shared = [], from1904 = false }: Book): Promise<string[]> {
  const own = formats.filter((one) => typeof one === 'string')
  const bytes = await partsOf({
    '_rels/.rels': relationships({ m: ['officeDocument', 'xl/book.xml'] }),
    'xl/book.xml': `<workbook ${main}><workbookPr${from1904 ? ' date1904="1"' : ''}/><sheets><sheet name="S" sheetId="9" r:id="s"/></sheets></workbook>`,
    'xl/_rels/book.xml.rels': relationships({
      s: ['worksheet', 'sheets/a.xml'],
      t: ['sharedStrings', 'strings.xml'],
      f: ['styles', 'looks.xml'],
    }),
    'xl/sheets/a.xml': `<worksheet ${main}><sheetData>${rows}</sheetData></worksheet>`,
    'xl/strings.xml': `<sst ${main}>${shared.map((one) => `<si>${one}</si>`).join('')}</sst>`,
    'xl/looks.xml': `<styleSheet ${main}><numFmts>${own.map((code, i) => `<numFmt numFmtId="${164 + i}" formatCode="${code.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"/>`).join('')}</numFmts><cellXfs><xf numFmtId="0"/>${formats.map((one) => `<xf numFmtId="${typeof one === 'number' ? one : 164 + own.indexOf(one)}"/>`).join('')}</cellXfs></styleSheet>`,
  })
  return (await readXlsx({ kind: 'xlsx', bytes })).text.split('\n').slice(1)
}
const display = async (value: string | number, format: number | string, from1904 = false): Promise<string> =>
  (await read({ rows: `<row><c s="1"><v>${value}</v></c></row>`, formats: [format], from1904 }))[0]!

/** Built-in formats (ECMA-376, part 1, 18.8.30), each with a matching number. */
const builtIn: [id: number, value: number, text: string][] = [
  [0, 1234.5, '1234.5'],
  [1, 12, '12'],
  [2, 0.5, '0.5'],
  [3, 1234, '1234'],
  [4, 1234.5, '1234.5'],
  [9, 0.5, '50%'],
  [10, 0.075, '7.5%'],
  [11, 12_345, '12345'],
  [12, 0.5, '0.5'],
  [13, 0.25, '0.25'],
  [14, 46_113, '2026-04-01'],
  [15, 46_113, '2026-04-01'],
  [16, 46_113, '2026-04-01'],
  [17, 46_113, '2026-04-01'],
  [18, 0.75, '18:00'],
  [19, 0.750_011_574_074, '18:00:01'],
  [20, 0.395_833_333_333, '09:30'],
  [21, 0.395_833_333_333, '09:30:00'],
  [22, 46_113.395_833_333_3, '2026-04-01 09:30'],
  ...[27, 28, 29, 30, 31, 36, 50, 51, 52, 53, 54, 57, 58].map((id): [number, number, string] => [
    id,
    46_113,
    '2026-04-01',
  ]),
  [32, 0.5, '12:00'],
  [33, 0.5, '12:00:00'],
  [34, 46_113, '2026-04-01'],
  [55, 0.5, '12:00'],
  [37, -5, '-5'],
  [38, -5, '-5'],
  [39, 5.25, '5.25'],
  [40, 5.25, '5.25'],
  [45, 0.003_819_444_444, '05:30'],
  [46, 1.0625, '25:30:00'],
  [47, 0.003_819_444_444, '05:30.0'],
  [48, 12_345, '12345'],
  [49, 12, '12'],
]

test('numbers of each built-in format are read as dates, times, durations and percentages', async () => {
  for (const [id, value, text] of builtIn) assert.equal(await display(value, id), text, `format ${id}`)
})

const own: [code: string, value: number, text: string][] = [
  ['yyyy\\-mm\\-dd', 46_120, '2026-04-08'],
  ['[$-409]d\\-mmm\\-yyyy;@', 46_120, '2026-04-08'],
  ['dd"/"mm"/"yyyy hh:mm:ss', 46_113.395_833_333_3, '2026-04-01 09:30:00'],
  ['[h]:mm', 2.5, '60:00'],
  ['[mm]:ss', 0.0625, '90:00'],
  ['[ss]', 0.001_157_407_4, '100'],
  ['h:mm:ss.000', 0.5, '12:00:00.000'],
  ['0.0%', 0.1234, '12.34%'],
  ['[Red]0%;[Blue]-0%', -0.25, '-25%'],
  ['#,##0 "days"', 12, '12'],
  ['0.00E+00', 12_345, '12345'],
  ['"Day" 0', 3, '3'],
  ['[Red]General', 3, '3'],
  ['_-* #,##0.00_-', 2.5, '2.5'],
  ['yyyy"年"m"月"d"日"', 46_113, '2026-04-01'],
  ['[$-411]ggge"年"m"月"d"日"', 46_113, '2026-04-01'],
  ['上午/下午h"时"mm"分"', 0.5, '12:00'],
  ['0.1', 0.3, '0.3'],
]

test('custom formats are read like built-in ones', async () => {
  for (const [code, value, text] of own) assert.equal(await display(value, code), text, code)
  // 0.1 + 0.2 in binary.
  assert.equal(await display('0.30000000000000004', 0), '0.3')
})

test('both date systems count their days, including the nonexistent 29 February 1900', async () => {
  for (const [serial, date] of [
    [1, '1900-01-01'],
    [59, '1900-02-28'],
    [60, '1900-02-29'],
    [61, '1900-03-01'],
    [2_958_465, '9999-12-31'],
    [2_958_466, '2958466'],
    [-1, '-1'],
  ] as const)
    assert.equal(await display(serial, 14), date)
  assert.equal(await display(0, 14, true), '1904-01-01')
  assert.equal(await display(44_651, 14, true), '2026-04-01')
})

test('cells of each type are read and stay in their row and column', async () => {
  const shared = [
    '<t>Caf&#233; &amp; bar</t>',
    '<t>left_x000D_right</t>',
    '<t>two\nlines</t>',
    '<r><t>rich </t></r><r><rPr><b/></rPr><t>text</t></r><rPh sb="0" eb="1"><t>reading</t></rPh>',
    '<t>a_x005F_x000D_b</t>',
    '<t>tab\there</t>',
  ]
  const cells: [xml: string, text: string][] = [
    ...shared.map((_, i): [string, string] => [
      `<c t="s"><v>${i}</v></c>`,
      ['Café & bar', 'left right', 'two lines', 'rich text', 'a_x000D_b', 'tab here'][i]!,
    ]),
    ['<c t="inlineStr"><is><t>in</t></is></c>', 'in'],
    ['<c t="inlineStr"><is><r><t>in </t></r><r><t>runs</t></r></is></c>', 'in runs'],
    ['<c t="str"><f>A1</f><v>made</v></c>', 'made'],
    ['<c><f>SUM(A1:A2)</f><v>42</v></c>', '42'],
    ['<c><f>SUM(A1:A2)</f></c>', '=SUM(A1:A2)'],
    ['<c t="b"><v>1</v></c>', 'TRUE'],
    ['<c t="b"><v>0</v></c>', 'FALSE'],
    ['<c t="e"><v>#DIV/0!</v></c>', '#DIV/0!'],
    ['<c t="d"><v>2026-04-01T00:00:00</v></c>', '2026-04-01'],
    ['<c t="d"><v>2026-04-01T09:30:00</v></c>', '2026-04-01 09:30:00'],
    ['<c t="n"><v>7</v></c>', '7'],
  ]
  const rows = cells.map(([xml]) => `<row>${xml}<c><v>1</v></c></row>`).join('')
  assert.deepEqual(
    await read({ rows, shared }),
    cells.map(([, text]) => `${text}\t1`),
  )
})

test('sheets follow the workbook’s order, for any names of their parts', async () => {
  const sheet = (text: string): string =>
    `<worksheet ${main}><sheetData><row><c t="str"><v>${text}</v></c></row></sheetData></worksheet>`
  const bytes = await partsOf({
    'xl/workbook.xml': `<workbook ${main}><sheets><sheet name="First" sheetId="2" r:id="b"/><sheet name="Second" sheetId="1" state="hidden" r:id="a"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': relationships({
      a: ['worksheet', '/xl/worksheets/sheet1.xml'],
      b: ['worksheet', 'worksheets/sheet2.xml'],
    }),
    'xl/worksheets/sheet1.xml': sheet('one'),
    'xl/worksheets/sheet2.xml': sheet('two'),
    'xl/worksheets/sheet3.xml': sheet('deleted'),
    'xl/worksheets/_rels/sheet2.xml.rels': relationships({ c: ['comments', '../comments1.xml'] }),
    'xl/comments1.xml': `<comments ${main}><commentList><comment ref="A1"><text><r><t>Check</t></r></text></comment></commentList></comments>`,
  })
  const { text, parts } = await readXlsx({ kind: 'xlsx', bytes })
  assert.deepEqual([text, parts], ['# First\ntwo\nA1: Check\n\n# Second\none', 2])
})
