import { clean, fit, pad, type Terminal, widthOf } from './terminal.ts'

type Row = Record<string, unknown>

/** Columns that say most come first; where the window is narrow, the last ones are left out. */
const first = ['id', 'name', 'title', 'slug', 'username', 'email', 'type', 'kind', 'role', 'status', 'text']
const last = ['created_at', 'updated_at', 'workspace_id', 'created_by']
const WIDEST = 44

/** Rows fitted to the window for a person; tab-separated and whole for a program. */
export function table(rows: readonly Row[], terminal: Terminal): string {
  const names = columnsOf(rows)
  const lines = rows.map((row) => names.map((name) => cell(row[name], terminal)))
  if (!terminal.interactive)
    return [names, ...lines]
      .map((cells) => `${cells.map((text) => text.replace(/[\t\n]/g, ' ')).join('\t')}\n`)
      .join('')
  const widths = names.map((name, i) =>
    Math.max(name.length, ...lines.map((cells) => Math.min(widthOf(cells[i]!), name === 'id' ? 64 : WIDEST))),
  )
  let shown = 0
  for (let used = 0; shown < names.length; shown++) {
    used += widths[shown]! + (shown > 0 ? 2 : 0)
    if (used > terminal.columns && shown > 0) break
  }
  const line = (cells: readonly string[]): string =>
    cells
      .slice(0, shown)
      .map((text, i) =>
        i === shown - 1 ? fit(text, widths[i]!) : pad(fit(text.replace(/\s+/g, ' '), widths[i]!), widths[i]!),
      )
      .join('  ')
  const head = terminal.style('dim', line(names.map((name) => name.replaceAll('_', ' '))))
  return [head, ...lines.map(line)].map((text) => `${text.trimEnd()}\n`).join('')
}

function columnsOf(rows: readonly Row[]): string[] {
  const names = Object.keys(rows[0] ?? {}).filter((name) => rows.some((row) => isPlain(row[name])))
  const rank = (name: string): number => {
    if (first.includes(name)) return first.indexOf(name)
    return last.includes(name) ? 200 + last.indexOf(name) : 100
  }
  return names.toSorted((a, b) => rank(a) - rank(b))
}

const isPlain = (value: unknown): boolean =>
  (value !== null && typeof value !== 'object') ||
  (Array.isArray(value) && value.every((item) => item === null || typeof item !== 'object'))

function cell(value: unknown, { interactive }: Terminal): string {
  if (value === null || value === undefined) return ''
  if (Array.isArray(value) && isPlain(value)) return clean(value.join(', '))
  if (typeof value === 'object') return clean(JSON.stringify(value))
  const text = clean(String(value))
  // A person reads times to the minute; a pipe gets them whole.
  return interactive && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text)
    ? `${text.slice(0, 10)} ${text.slice(11, 16)}Z`
    : text
}

/** One thing, a field per line; nested ones by their path. */
export function card(thing: Row, terminal: Terminal): string {
  const lines = flatten(thing, '', terminal)
  const width = Math.max(0, ...lines.map(([name]) => name.length))
  return lines
    .map(([name, text]) => {
      const label = terminal.style('dim', pad(name, width))
      return text.includes('\n') ? `${label}\n${text.replace(/^/gm, '  ')}\n` : `${label}  ${text}`.trimEnd() + '\n'
    })
    .join('')
}

const flatten = (thing: Row, within: string, terminal: Terminal): [string, string][] =>
  Object.entries(thing).flatMap(([name, value]): [string, string][] =>
    value !== null && typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length > 0
      ? flatten(value as Row, `${within}${name}.`, terminal)
      : [[`${within}${name}`, cell(value, terminal)]],
  )
