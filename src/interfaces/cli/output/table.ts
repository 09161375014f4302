import { pricingSaid } from './pricing.ts'
import { type Column, ordered, valueAt } from './columns.ts'
import { clean, fit, pad, type Terminal, widthOf } from '../terminal.ts'

type Row = Record<string, unknown>

const WIDEST = 44
/** Minimum width for a cut-off sentence. */
const SENTENCE = 16

/**
 * Fits rows to the window in a terminal. In a pipe, prints complete rows with tabs, with columns that don't depend on
 * the rows. Without `columns`, uses the fields of the first row.
 */
export function table(
  rows: readonly Row[],
  terminal: Terminal,
  columns: readonly Column[] = ordered(Object.keys(rows[0] ?? {})),
): string {
  if (!terminal.interactive) return separated(rows, columns, terminal)
  const visible = columns.filter(({ path }) => rows.some((row) => isPlain(valueAt(row, path))))
  const names = visible.map(({ title }) => title)
  const lines = rows.map((row) => visible.map(({ path }) => cell(valueAt(row, path), terminal)))
  const widths = names.map((name, i) =>
    Math.max(name.length, ...lines.map((cells) => Math.min(widthOf(cells[i]!), name === 'id' ? 64 : WIDEST))),
  )
  let shown = 0
  for (let used = 0; shown < names.length; shown++) {
    const room = terminal.columns - used - (shown > 0 ? 2 : 0)
    if (widths[shown]! > room && shown > 0) {
      if (room < SENTENCE || !lines.some((cells) => isSentence(cells[shown]!))) break
      widths[shown] = room
    }
    used = terminal.columns - room + widths[shown]!
  }
  const line = (cells: readonly string[]): string =>
    cells
      .slice(0, shown)
      .map((text, i) =>
        i === shown - 1 ? fit(text, widths[i]!) : pad(fit(text.replace(/\s+/g, ' '), widths[i]!), widths[i]!),
      )
      .join('  ')
  const head = terminal.style('dim', line(names))
  return [head, ...lines.map(line)].map((text) => `${text.trimEnd()}\n`).join('')
}

/** Only sentences are cut; an ID, a name or a time is shown whole or not at all. */
const isSentence = (text: string): boolean => widthOf(text) > SENTENCE && text.split(' ').length > 2

/** Tab-separated rows. Nested columns are skipped: their field already contains them. */
function separated(rows: readonly Row[], columns: readonly Column[], terminal: Terminal): string {
  const names = columns.map(({ path }) => path).filter((path) => !path.includes('.'))
  return [names, ...rows.map((row) => names.map((name) => cell(row[name], terminal)))]
    .map((cells) => `${cells.map((text) => text.replace(/[\t\n]/g, ' ')).join('\t')}\n`)
    .join('')
}

const isPlain = (value: unknown): boolean =>
  (value !== null && value !== undefined && typeof value !== 'object') ||
  (Array.isArray(value) && value.every((item) => item === null || typeof item !== 'object'))

function cell(value: unknown, { interactive }: Terminal): string {
  if (value === null || value === undefined) return ''
  if (Array.isArray(value) && isPlain(value)) return clean(value.join(', '))
  if (typeof value === 'object') return clean(JSON.stringify(value))
  const text = clean(String(value))
  // Times are cut to the minute in a terminal only.
  return interactive && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text)
    ? `${text.slice(0, 10)} ${text.slice(11, 16)}Z`
    : text
}

/** Prints one object, one field per line: nested fields by path, and lists of objects as tables in a terminal. */
export function card(thing: Row, terminal: Terminal): string {
  const lines = flatten(thing, '', terminal)
  const width = Math.max(0, ...lines.filter(([, text]) => !text.includes('\n')).map(([name]) => name.length))
  return lines
    .map(([name, text]) => {
      const label = terminal.style('dim', pad(name, width))
      return text.includes('\n') ? `${label}\n${text.replace(/^/gm, '  ')}\n` : `${label}  ${text}`.trimEnd() + '\n'
    })
    .join('')
}

function inside(value: unknown, terminal: Terminal): string {
  if (!terminal.interactive || !areThings(value)) return cell(value, terminal)
  const paths = [...new Set(value.flatMap(pathsIn))]
  // Indented by two under the field's name.
  return table(value, { ...terminal, columns: terminal.columns - 2 }, ordered(paths)).trimEnd()
}

/** Field paths, including nested ones: `price.input`. */
const pathsIn = (thing: Row): string[] =>
  Object.entries(thing).flatMap(([name, value]) =>
    value !== null && typeof value === 'object' && !Array.isArray(value)
      ? Object.keys(value).map((inner) => `${name}.${inner}`)
      : [name],
  )

const areThings = (value: unknown): value is Row[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((item) => item !== null && typeof item === 'object' && Object.values(item as object).some(isPlain))

/** Empty fields are hidden in a terminal only. */
const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === '' ||
  (typeof value === 'object' && Object.keys(value).length === 0)

const flatten = (thing: Row, within: string, terminal: Terminal): [string, string][] =>
  Object.entries(thing).flatMap(([name, value]): [string, string][] => {
    if (terminal.interactive && isEmpty(value)) return []
    const prices = terminal.interactive && name === 'pricing' && isThing(value) ? pricingSaid(value) : null
    if (prices !== null) return [[`${within}${name}`, prices]]
    return value !== null && typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length > 0
      ? flatten(value as Row, `${within}${name}.`, terminal)
      : [[`${within}${name}`, inside(value, terminal)]]
  })

export const isThing = (value: unknown): value is Row =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
