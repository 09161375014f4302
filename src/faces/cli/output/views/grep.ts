import { type Terminal, clean } from '../../terminal.ts'
import type { Row, Seen } from './seen.ts'

interface Find {
  path: string
  line?: number
  text?: string
  before?: string[]
  after?: string[]
  count?: number
}

/** Finds as ripgrep shows them: in a terminal by file, in a pipe `path:line:text` (context with `-`). */
export function grepLines({ json, input, terminal }: Seen): string {
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

/** A file's finds under its path; lines that the context of two finds holds stand once, and a gap is two dashes. */
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

/**
 * Marks matches in red. The server's expressions are RE2's, which JavaScript reads alike but for rarities: those stay
 * plain.
 */
function marker({ pattern, fixed, case: folding = 'sensitive' }: Row, terminal: Terminal): (text: string) => string {
  const words = String(pattern)
  const fold = folding === 'insensitive' || (folding === 'smart' && !/\p{Lu}/u.test(words))
  try {
    const source = fixed ? words.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&') : words
    const found = new RegExp(source, fold ? 'giu' : 'gu')
    return (text) => clean(text).replace(found, (match) => (match === '' ? '' : terminal.style('red', match)))
  } catch {
    return clean
  }
}
