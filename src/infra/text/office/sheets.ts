import { XMLParser } from 'fast-xml-parser'
import { type Format, formatNumber, formatsOf } from './cell-format.ts'
import { charsetOf } from '../charset/charset.ts'
import { type DocumentInput, MAX_TEXT, type DocumentText, Unreadable, clip, plainRead } from '../documents/document.ts'
import { describeDrawing } from './drawing.ts'
import type { Bounds } from '../documents/markup.ts'
import { OfficePackage } from './package.ts'

/** Workbook limits: some hundred thousand cells. */
const MAX: Bounds = { elements: 1_000_000, attributes: 2_000_000, attributesOfOne: 1_000, depth: 200, tables: 20 }

/** A sheet element: `@name` is an attribute, all else are lists of elements without order. */
type Element = Record<string, unknown>

const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  removeNSPrefix: true,
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: false,
  // Required for numeric character references.
  htmlEntities: true,
  isArray: (_, __, ___, isAttribute) => !isAttribute,
})

function parse(file: OfficePackage, name: string | undefined): Element {
  const bytes = name === undefined ? undefined : file.bytes(name)
  if (bytes === undefined) return {}
  try {
    return parser.parse(new TextDecoder(charsetOf(bytes) ?? 'utf-8').decode(bytes)) as Element
  } catch {
    throw new Unreadable('damaged', 'Part of the document isn’t valid XML.')
  }
}

const all = (element: Element | undefined, ...path: string[]): Element[] =>
  path.reduce<Element[]>(
    (level, name) =>
      level.flatMap((one) => ((typeof one === 'object' ? one[name] : undefined) as Element[] | undefined) ?? []),
    element === undefined ? [] : [element],
  )

const words = (value: unknown): string =>
  Array.isArray(value)
    ? value.map(words).join('')
    : typeof value === 'string'
      ? value
      : (((value as Element | null)?.['#text'] as string | undefined) ?? '')

const textOf = (item: Element): string => unescapeText([...all(item, 't'), ...all(item, 'r', 't')].map(words).join(''))

/** Characters not allowed in XML are written as `_x000D_`; `_x005F_` is an escaped underscore (22.9.2.19). */
const unescapeText = (text: string): string =>
  text.replace(/_x([0-9A-F]{4})_/gi, (_, code: string) => String.fromCharCode(parseInt(code, 16)))

/** Keeps a cell in its row and column. */
const inCell = (text: string): string => text.replace(/\r\n|[\t\n\v\f\r\u0085\u2028\u2029]/g, ' ')

interface Book {
  shared: readonly string[]
  formats: readonly Format[][]
  from1904: boolean
}

/**
 * Reads a workbook: each sheet under its name, one line per row, tabs between cells. Formulas show their last value.
 */
export async function readXlsx({ bytes }: DocumentInput): Promise<DocumentText> {
  const file = await OfficePackage.open(bytes, MAX)
  const main = file.main('xl/workbook.xml')
  const [workbook] = all(parse(file, main), 'workbook')
  if (workbook === undefined) throw new Unreadable('damaged', 'The XLSX file can’t be read.')
  const relations = file.relations(main)
  const partOf = (type: string): Element => parse(file, file.findRelated(main, type)[0] ?? `xl/${type}.xml`)
  const book: Book = {
    shared: all(partOf('sharedStrings'), 'sst', 'si').map(textOf),
    formats: formatsIn(partOf('styles')),
    from1904: all(workbook, 'workbookPr').some((one) => /^(1|true|on)$/.test(String(one['@date1904']))),
  }
  const sheets = all(workbook, 'sheets', 'sheet')
  // A one-letter cell may expand to long text or be far to the right, so output is limited as it grows.
  let text = ''
  for (const sheet of sheets) {
    if (text.length > MAX_TEXT) break
    text += `${text === '' ? '' : '\n\n'}# ${String(sheet['@name'])}`
    const name = relations.get(String(sheet['@id']))?.target
    for (const row of all(parse(file, name), 'worksheet', 'sheetData', 'row')) {
      if (text.length > MAX_TEXT) break
      text += `\n${rowOf(row, book)}`
    }
    for (const line of name === undefined ? [] : besides(file, name)) text += `\n${line}`
  }
  return plainRead(clip(text).text, { parts: sheets.length, truncated: clip(text).truncated })
}

function besides(file: OfficePackage, sheet: string): string[] {
  const drawings = file.findRelated(sheet, 'drawing').flatMap((part) => {
    const tree = file.tree(part)
    return tree === undefined ? [] : describeDrawing(file, part, tree)
  })
  const notes = file
    .findRelated(sheet, 'comments')
    .flatMap((part) =>
      all(parse(file, part), 'comments', 'commentList', 'comment').map(
        (note) => `${String(note['@ref'])}: ${inCell(all(note, 'text').map(textOf).join(''))}`,
      ),
    )
  return [...drawings, ...notes].filter((line) => line.trim() !== '')
}

function formatsIn(styles: Element): Format[][] {
  const [sheet] = all(styles, 'styleSheet')
  const own = new Map(
    all(sheet, 'numFmts', 'numFmt').map((one) => [Number(one['@numFmtId']), String(one['@formatCode'])]),
  )
  return all(sheet, 'cellXfs', 'xf').map((one) => {
    const id = Number(one['@numFmtId'] ?? 0)
    return formatsOf(id, own.get(id))
  })
}

const MAX_COLUMNS = 16_384

function rowOf(row: Element, book: Book): string {
  let line = ''
  let columns = 0
  let next = 0
  for (const cell of all(row, 'c')) {
    const at = columnOf(String(cell['@r'] ?? '')) ?? next
    next = Math.max(at, columns) + 1
    const value = inCell(valueOf(cell, book))
    if (value === '') continue
    if (line.length > MAX_TEXT) break
    if (at > columns) {
      line += '\t'.repeat(at - columns)
      columns = at
    }
    line += `${value}\t`
    columns += 1
  }
  return line.trimEnd()
}

function valueOf(cell: Element, { shared, formats, from1904 }: Book): string {
  const value = words(all(cell, 'v')[0] ?? '')
  const formula = words(all(cell, 'f')[0] ?? '')
  if (value === '' && formula !== '' && cell['@t'] !== 'str') return `=${formula}`
  switch (cell['@t']) {
    case 's':
      return shared[Number(value)] ?? ''
    case 'inlineStr':
      return all(cell, 'is').map(textOf).join('')
    case 'str':
      return unescapeText(value)
    case 'b':
      return value === '' ? '' : value === '1' || value === 'true' ? 'TRUE' : 'FALSE'
    case 'e':
      return value
    case 'd':
      return value
        .replace(/T00:00:00(\.0+)?Z?$/, '')
        .replace(/T/, ' ')
        .replace(/Z$/, '')
    default:
      return formatNumber(value, formats[Number(cell['@s'] ?? 0)] ?? formatsOf(0, undefined), from1904)
  }
}

/** `AB12` → 27; null beyond the last valid column. */
function columnOf(reference: string): number | null {
  const letters = /^[A-Z]{1,3}/.exec(reference)?.[0]
  if (letters === undefined) return null
  let column = 0
  for (const letter of letters) column = column * 26 + letter.charCodeAt(0) - 64
  return column > MAX_COLUMNS ? null : column - 1
}
