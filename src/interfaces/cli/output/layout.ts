import { type Terminal, widthOf } from '../terminal.ts'

export type Pair = [left: string, right: string]

/** Renders bold titles with indented bodies. Empty sections are left out, except the first. */
export const sections = (terminal: Terminal, parts: readonly (readonly [title: string, body: string])[]): string =>
  parts
    .filter(([, body], i) => body !== '' || i === 0)
    .map(([title, body]) => `${terminal.style('bold', title)}\n${body === '' ? '' : indent(body, terminal)}`)
    .join('\n')

const indent = (body: string, terminal: Terminal): string =>
  body
    .trimEnd()
    .split('\n')
    .flatMap((line) =>
      line.startsWith('  ') ? [line] : wrap(line, lineOf(terminal) - 2).map((part) => (part === '' ? '' : `  ${part}`)),
    )
    .map((line) => `${line}\n`)
    .join('')

export const examples = (lines: readonly string[]): string => lines.map((line) => `  $ ${line}\n`).join('')

/** Lines in a pipe aren't wrapped, so `grep` shows them whole. */
const lineOf = ({ interactive, columns }: Terminal): number => (interactive ? columns : Infinity)

/**
 * Prints pairs in two columns. In a terminal the right column is wrapped, and starts on its own line behind a long left
 * one. In a pipe each pair is one line.
 */
export function columns(pairs: readonly Pair[], terminal: Terminal): string {
  const width = Math.min(34, Math.max(0, ...pairs.map(([left]) => widthOf(left))))
  const room = Math.max(24, lineOf(terminal) - width - 4)
  return pairs
    .map(([left, right]) => {
      const [line = '', ...more] = wrap(right, room)
      const gap = ' '.repeat(width + 4)
      const start =
        terminal.interactive && widthOf(left) > width
          ? `  ${left}\n${line === '' ? '' : `${gap}${line}`}`
          : `  ${left.padEnd(width)}  ${line}`
      return [start.trimEnd(), ...more.map((rest) => gap + rest)].join('\n') + '\n'
    })
    .join('')
}

function wrap(text: string, columns: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(/\s+/)) {
    if (line !== '' && widthOf(line) + 1 + widthOf(word) > columns) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}
