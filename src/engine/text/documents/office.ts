import { XMLParser } from 'fast-xml-parser'
import { type DocumentInput, MOST_TEXT, type Read, Unreadable, plainRead, clipped } from './document.ts'
import type { Bounds } from './markup.ts'
import { type Parts, openParts } from './zip.ts'

/** The limits of a workbook or a set of slides: some hundred thousand cells. */
const MOST: Bounds = { elements: 1_000_000, attributes: 2_000_000, attributesOfOne: 1_000, depth: 200, tables: 20 }

/** An element of an Office part: `@name` is an attribute, the rest are elements, each name a list. */
type Element = Record<string, unknown>

const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  removeNSPrefix: true,
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: false,
  isArray: (_, __, ___, isAttribute) => !isAttribute,
})

function parse(parts: Parts, name: string): Element {
  const bytes = parts.get(name)
  if (bytes === undefined) return {}
  try {
    return parser.parse(bytes) as Element
  } catch {
    throw new Unreadable('damaged', 'One of its parts is not XML.')
  }
}

const all = (element: Element | undefined, ...path: string[]): Element[] =>
  path.reduce<Element[]>(
    (level, name) =>
      level.flatMap((one) => ((typeof one === 'object' ? one[name] : undefined) as Element[] | undefined) ?? []),
    element === undefined ? [] : [element],
  )

/** Every `<t>` below, in order of appearance within its parent. */
function texts(value: unknown): string {
  if (Array.isArray(value)) return value.map(texts).join('')
  if (value === null || typeof value !== 'object') return ''
  return Object.entries(value)
    .map(([name, inner]) => (name === 't' ? words(inner) : name.startsWith('@') ? '' : texts(inner)))
    .join('')
}

const words = (value: unknown): string =>
  Array.isArray(value)
    ? value.map(words).join('')
    : typeof value === 'string'
      ? value
      : (((value as Element | null)?.['#text'] as string | undefined) ?? '')

/** Reads a workbook: each sheet under its name, a line per row, cells apart by tabs. Formulas show their last value. */
export async function readXlsx({ bytes }: DocumentInput): Promise<Read> {
  const parts = await openParts(bytes, MOST, (name) =>
    /^xl\/(workbook|sharedStrings|worksheets\/[^/]+|_rels\/workbook)\.xml(\.rels)?$/.test(name),
  )
  const [workbook] = all(parse(parts, 'xl/workbook.xml'), 'workbook')
  if (workbook === undefined) throw new Unreadable('damaged', 'It is not an XLSX that can be read.')
  const targets = new Map(
    all(parse(parts, 'xl/_rels/workbook.xml.rels'), 'Relationships', 'Relationship').map((one) => [
      String(one['@Id']),
      String(one['@Target']).replace(/^\/?(xl\/)?/, 'xl/'),
    ]),
  )
  const shared = all(parse(parts, 'xl/sharedStrings.xml'), 'sst', 'si').map(texts)
  const sheets = all(workbook, 'sheets', 'sheet')
  // A cell of one letter may stand for a long text, or far to the right: what is written is bounded as it grows.
  let said = ''
  for (const sheet of sheets) {
    if (said.length > MOST_TEXT) break
    said += `${said === '' ? '' : '\n\n'}# ${String(sheet['@name'])}`
    for (const row of all(parse(parts, targets.get(String(sheet['@id'])) ?? ''), 'worksheet', 'sheetData', 'row')) {
      if (said.length > MOST_TEXT) break
      said += `\n${rowOf(row, shared)}`
    }
  }
  const { text, truncated } = clipped(said)
  return plainRead(text, { parts: sheets.length, truncated })
}

const MOST_COLUMNS = 16_384

function rowOf(row: Element, shared: readonly string[]): string {
  let line = ''
  let columns = 0
  let next = 0
  for (const cell of all(row, 'c')) {
    const at = columnOf(String(cell['@r'] ?? '')) ?? next
    next = Math.max(at, columns) + 1
    const value = valueOf(cell, shared)
    if (value === '') continue
    if (line.length > MOST_TEXT) break
    if (at > columns) {
      line += '\t'.repeat(at - columns)
      columns = at
    }
    line += `${value}\t`
    columns += 1
  }
  return line.trimEnd()
}

function valueOf(cell: Element, shared: readonly string[]): string {
  const value = words(all(cell, 'v')[0] ?? '')
  const type = cell['@t']
  if (type === 's') return shared[Number(value)] ?? ''
  if (type === 'inlineStr') return texts(cell.is)
  if (type === 'b') return value === '1' ? 'TRUE' : 'FALSE'
  return value
}

/** `AB12` → 27; null for what lies beyond the last column that there can be. */
function columnOf(reference: string): number | null {
  const letters = /^[A-Z]{1,3}/.exec(reference)?.[0]
  if (letters === undefined) return null
  let column = 0
  for (const letter of letters) column = column * 26 + letter.charCodeAt(0) - 64
  return column > MOST_COLUMNS ? null : column - 1
}

/** Reads slides: each under its number, a line per paragraph, its notes behind it. */
export async function readPptx({ bytes }: DocumentInput): Promise<Read> {
  const parts = await openParts(bytes, MOST, (name) => /^ppt\/(slides|notesSlides)\/[^/]+\.xml$/.test(name))
  const slides = [...parts.keys()]
    .filter((name) => name.startsWith('ppt/slides/'))
    .toSorted((a, b) => numberIn(a) - numberIn(b))
  if (slides.length === 0) throw new Unreadable('damaged', 'It is not a PPTX that can be read.')
  const said = slides.map((name, i) => {
    const notes = paragraphs(parse(parts, name.replace('ppt/slides/slide', 'ppt/notesSlides/notesSlide')))
    return [
      `# Slide ${i + 1}`,
      ...paragraphs(parse(parts, name)),
      ...(notes.length > 0 ? ['', 'Notes:', ...notes] : []),
    ].join('\n')
  })
  const { text, truncated } = clipped(said.join('\n\n'))
  return plainRead(text, { parts: slides.length, truncated })
}

const numberIn = (name: string): number => Number(/(\d+)\.xml$/.exec(name)?.[1] ?? 0)

function paragraphs(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(paragraphs)
  if (value === null || typeof value !== 'object') return []
  return Object.entries(value).flatMap(([name, inner]) =>
    name === 'p' && Array.isArray(inner) ? inner.map(texts).filter((line) => line.trim() !== '') : paragraphs(inner),
  )
}
