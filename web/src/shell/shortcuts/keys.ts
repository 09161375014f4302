/** One key, or two in sequence: `c`, `?`, `g c`. */
export interface Shortcut {
  keys: string
  says: string
  group: 'Everywhere' | 'Go to' | 'Here'
  run: () => void
}

/** The maximum delay between the two keys of a sequence. */
const TOGETHER_MS = 1_000

export interface Typed {
  key: string
  at: number
}

/** Returns the shortcut for a key press, and the state for the next one. */
export function meant<T extends Pick<Shortcut, 'keys'>>(
  shortcuts: readonly T[],
  before: Typed | null,
  now: Typed,
): { found: T | null; typed: Typed | null } {
  const both = before !== null && now.at - before.at <= TOGETHER_MS ? `${before.key} ${now.key}` : null
  const pair = both === null ? undefined : shortcuts.find(({ keys }) => keys === both)
  if (pair) return { found: pair, typed: null }
  const begins = shortcuts.some(({ keys }) => keys.startsWith(`${now.key} `))
  // Later bindings win: a page can override a global shortcut.
  const single = shortcuts.findLast(({ keys }) => keys === now.key) ?? null
  return { found: single, typed: begins && single === null ? now : null }
}

const isMac = typeof navigator !== 'undefined' && /Mac|iP(hone|ad)/.test(navigator.platform)
export const commandKey = isMac ? '⌘' : 'Ctrl'
