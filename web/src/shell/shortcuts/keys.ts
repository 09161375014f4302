/** A shortcut of one key, or of two one after the other: `c`, `?`, `g c`. */
export interface Shortcut {
  keys: string
  says: string
  group: 'Everywhere' | 'Go to' | 'Here'
  run: () => void
}

/** The time within which two keys belong together. */
const TOGETHER_MS = 1_000

export interface Typed {
  key: string
  at: number
}

/** The meaning of a key at this moment, and the state for the next one. Pure. */
export function meant<T extends Pick<Shortcut, 'keys'>>(
  shortcuts: readonly T[],
  before: Typed | null,
  now: Typed,
): { found: T | null; typed: Typed | null } {
  const both = before !== null && now.at - before.at <= TOGETHER_MS ? `${before.key} ${now.key}` : null
  const pair = both === null ? undefined : shortcuts.find(({ keys }) => keys === both)
  if (pair) return { found: pair, typed: null }
  const begins = shortcuts.some(({ keys }) => keys.startsWith(`${now.key} `))
  // The newest of those that bear the same key: a page may have its own.
  const single = shortcuts.findLast(({ keys }) => keys === now.key) ?? null
  return { found: single, typed: begins && single === null ? now : null }
}

const isMac = typeof navigator !== 'undefined' && /Mac|iP(hone|ad)/.test(navigator.platform)
/** The name of the command key on this machine. */
export const commandKey = isMac ? '⌘' : 'Ctrl'
