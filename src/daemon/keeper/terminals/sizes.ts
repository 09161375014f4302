/** What a viewer of a terminal can show, and when it last did something. */
export interface Viewing {
  cols: number
  rows: number
  /** ms by `uptimeMs`: it typed, or changed its size. */
  active: number
  resized: number
}

/** So long after it did something, a viewer counts as the one that is looked at. */
const FOCUS_MS = 5_000

/**
 * The size that a terminal should have: the smallest of the viewers that did something in the last 5 s, else the one that
 * changed its size last. Who only attaches has said no size: a full-screen program would draw anew for nothing.
 */
export function wantedSize(viewings: readonly Viewing[], now: number): { cols: number; rows: number } | null {
  const looked = viewings.filter(({ active }) => now - active <= FOCUS_MS)
  if (looked.length > 0)
    return { cols: Math.min(...looked.map(({ cols }) => cols)), rows: Math.min(...looked.map(({ rows }) => rows)) }
  const [last] = [...viewings].sort((a, b) => b.resized - a.resized)
  return last ? { cols: last.cols, rows: last.rows } : null
}
