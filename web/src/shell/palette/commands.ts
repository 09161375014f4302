import type { IconName } from '../../ui/icons.tsx'

export interface Command {
  id: string
  label: string
  about?: string | undefined
  icon: IconName
  keys?: string
  also?: string
  run: () => void
}

export interface Group {
  value: string
  items: readonly Command[]
}

const plain = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/\p{Diacritic}/gu, '')
    .toLowerCase()

/**
 * The score of a command for the typed words: 3 for each word prefix, 1 for each substring, 0 if any word is missing.
 */
export function fits({ label, also = '' }: Pick<Command, 'label' | 'also'>, words: string): number {
  const name = plain(label)
  const all = ` ${name} ${plain(also)}`
  const terms = plain(words).split(/\s+/).filter(Boolean)
  if (name.startsWith(plain(words).trim())) return 4
  let least = 3
  for (const word of terms) {
    if (!all.includes(word)) return 0
    if (!all.includes(` ${word}`)) least = 1
  }
  return least
}

/** Returns up to `limit` matching commands, best first; all of them if nothing was typed. */
export const fitting = (commands: readonly Command[], words: string, most: number): Command[] =>
  words === ''
    ? commands.slice(0, most)
    : commands
        .map((command) => ({ command, rank: fits(command, words) }))
        .filter(({ rank }) => rank > 0)
        .toSorted((a, b) => b.rank - a.rank)
        .slice(0, most)
        .map(({ command }) => command)
