import { type Terminal, clean, fit } from '../../terminal.ts'
import type { ViewInput } from './view-input.ts'

interface Hit {
  type: string
  id: string
  title: string
  snippet: string
  highlights: { field: string; start: number; end: number }[]
}

/** Prints each result on two lines: what it is, and the matching excerpt. A pipe gets the table. */
export function hitLines({ json, terminal }: ViewInput): string | null {
  const hits = json.data as Hit[]
  if (!terminal.interactive || hits.length === 0) return null
  return hits
    .map(({ type, id, title, snippet, highlights }) => {
      const name = marked(title, 'title', highlights, terminal)
      const about = terminal.style('dim', `${type}  ${id}`)
      const words = around(snippet, highlights, terminal.columns - 3)
      return `${name}  ${about}\n${words === null ? '' : `  ${marked(words.text, 'snippet', words.highlights, terminal)}\n`}`
    })
    .join('')
}

type Highlight = Hit['highlights'][number]

/** Picks the part of a snippet that fits on one line and has the most matches. */
function around(
  snippet: string,
  all: readonly Highlight[],
  columns: number,
): { text: string; highlights: Highlight[] } | null {
  if (snippet.trim() === '') return null
  // Replaced one for one, so the highlight positions stay valid.
  const line = snippet.replaceAll(/\s/g, ' ')
  const matches = all.filter(({ field }) => field === 'snippet')
  const countFrom = (start: number) =>
    matches.filter((one) => one.start >= start && one.end <= start + columns - 2).length
  const best = matches.map(({ start }) => start).toSorted((a, b) => countFrom(b) - countFrom(a) || a - b)[0] ?? 0
  const from = line.length <= columns || best < 20 ? 0 : best - 20
  const text = fit(`${from > 0 ? '…' : ''}${line.slice(from)}`, columns)
  const shift = from - (from > 0 ? 1 : 0)
  return {
    text,
    highlights: matches
      .map((one) => ({ ...one, start: one.start - shift, end: one.end - shift }))
      .filter(({ start, end }) => start >= 0 && end < text.length + 1),
  }
}

function marked(text: string, field: string, highlights: readonly Highlight[], terminal: Terminal): string {
  let shown = ''
  let at = 0
  for (const one of highlights.filter((each) => each.field === field).toSorted((a, b) => a.start - b.start)) {
    if (one.start < at) continue
    shown += clean(text.slice(at, one.start)) + terminal.style('bold', clean(text.slice(one.start, one.end)))
    at = one.end
  }
  return (shown + clean(text.slice(at))).replaceAll('\n', ' ')
}
