export interface Viewing {
  cols: number
  rows: number
  /** When it last typed or resized, by `uptimeMs`. */
  active: number
  resized: number
}

/** How long after its last activity a viewer counts as focused. */
const FOCUS_MS = 5_000

/**
 * Returns the smallest size of the focused viewers, else that of the last to resize. Attaching alone sets none,
 * since a full-screen program would redraw for nothing.
 */
export function wantedSize(viewings: readonly Viewing[], now: number): { cols: number; rows: number } | null {
  const looked = viewings.filter(({ active }) => now - active <= FOCUS_MS)
  if (looked.length > 0)
    return { cols: Math.min(...looked.map(({ cols }) => cols)), rows: Math.min(...looked.map(({ rows }) => rows)) }
  const [last] = [...viewings].sort((a, b) => b.resized - a.resized)
  return last ? { cols: last.cols, rows: last.rows } : null
}
