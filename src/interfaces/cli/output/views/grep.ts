import { createRequire } from 'node:module'
import type { RE2JS } from 're2js'
import { findsIn } from '#packages/linear-grep/bounded/counted-text.ts'
import { TooMuchWork, Work } from '#packages/linear-grep/bounded/work.ts'
import { type Terminal, clean } from '../../terminal.ts'
import type { Row, ViewInput } from './view-input.ts'

interface Find {
  path: string
  line?: number
  text?: string
  before?: string[]
  after?: string[]
  count?: number
}

/** Prints matches as ripgrep does: by file in a terminal, `path:line:text` in a pipe (context with `-`). */
export function grepLines({ json, input, terminal }: ViewInput): string {
  const rows = json.data as Find[]
  if (input.mode === 'files') return rows.map(({ path }) => `${clean(path)}\n`).join('')
  if (input.mode === 'count') return rows.map(({ path, count }) => `${clean(path)}:${count}\n`).join('')
  const mark = marker(input, terminal)
  return terminal.interactive ? byFile(rows, mark, terminal) : rows.flatMap(piped).join('')
}

function piped({ path, line = 0, text = '', before = [], after = [] }: Find): string[] {
  const context = (from: number) => (words: string, i: number) => `${path}-${from + i}-${words}\n`
  return [
    ...before.map(context(line - before.length)),
    ...text.split('\n').map((words, i) => `${path}:${line + i}:${words}\n`),
    ...after.map(context(line + 1)),
  ]
}

/** Groups matches under their file. Overlapping context lines print once; `--` marks a gap. */
function byFile(rows: readonly Find[], mark: (text: string) => string, terminal: Terminal): string {
  const files = new Map<string, Map<number, string>>()
  const dim = (text: string) => terminal.style('dim', clean(text))
  const number = (line: number, sign: string) =>
    `${terminal.style('green', String(line))}${terminal.style('dim', sign)}`
  for (const { path, line = 0, text = '', before = [], after = [] } of rows) {
    const lines = files.get(path) ?? new Map<number, string>()
    files.set(path, lines)
    const beside = [
      ...before.map((words, i) => [line - before.length + i, words] as const),
      ...after.map((words, i) => [line + 1 + i, words] as const),
    ]
    for (const [at, words] of beside) if (!lines.has(at)) lines.set(at, `${number(at, '-')}${dim(words)}`)
    text.split('\n').forEach((words, i) => lines.set(line + i, `${number(line + i, ':')}${mark(words)}`))
  }
  return [...files]
    .map(([path, lines]) => {
      const sorted = [...lines].toSorted(([a], [b]) => a - b)
      const contexts = rows.some(({ before, after }) => (before?.length ?? 0) + (after?.length ?? 0) > 0)
      const shown = sorted.map(([at, words], i) =>
        contexts && i > 0 && sorted[i - 1]![0] !== at - 1 ? `${terminal.style('dim', '--')}\n${words}` : words,
      )
      return `${terminal.style('magenta', clean(path))}\n${shown.join('\n')}\n`
    })
    .join('\n')
}

/** Budget for highlighting one page (pattern states × characters): a few seconds of work. */
const MAX_MARKING = 100_000_000
/** Larger patterns would cost too much. */
const MAX_STATES = 500

/**
 * Highlights matches in red with the server's regex engine, since JavaScript's could backtrack for hours. Past the work
 * budget, the rest of the page stays plain.
 */
function marker({ pattern, fixed, case: folding = 'sensitive' }: Row, terminal: Terminal): (text: string) => string {
  const words = String(pattern)
  const fold = folding === 'insensitive' || (folding === 'smart' && !/\p{Lu}/u.test(words))
  // Loaded only for this view.
  const { RE2JS } = createRequire(import.meta.url)('re2js') as typeof import('re2js')
  try {
    const re2 = RE2JS.compile(fixed === true ? RE2JS.quote(words) : words, fold ? RE2JS.CASE_INSENSITIVE : 0)
    if (re2.programSize() > MAX_STATES) return clean
    const work = new Work(Math.ceil(MAX_MARKING / re2.programSize()))
    return (text) => marked(clean(text), re2, work, (match) => terminal.style('red', match))
  } catch {
    return clean
  }
}

function marked(text: string, re2: RE2JS, work: Work, style: (match: string) => string): string {
  let shown = ''
  let at = 0
  try {
    const finds = findsIn(re2, text, work)
    for (let from = 0; from <= text.length && finds.find(from);) {
      const [start, end] = [finds.start(), finds.end()]
      if (end > start) shown += text.slice(at, start) + style(text.slice(start, end))
      at = Math.max(at, end)
      from = end > start ? end : end + 1
    }
  } catch (error) {
    if (!(error instanceof TooMuchWork)) throw error
  }
  return shown + text.slice(at)
}
