import { useSyncExternalStore } from 'react'

/** The connection to the server: open, or lost since `lostAt` (ms since 1970). */
type Line = 'open' | { lostAt: number }

let line: Line = 'open'
const listeners = new Set<() => void>()

export function lineIs(now: Line): void {
  line = now
  for (const listener of listeners) listener()
}
/** The first loss counts: it is the age of the page's data. */
export const lineLost = (): void => {
  if (line === 'open') lineIs({ lostAt: Date.now() })
}

function subscribe(listener: () => void): () => void {
  if (listeners.size === 0) window.addEventListener('offline', lineLost)
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0) window.removeEventListener('offline', lineLost)
  }
}

export const useLine = (): Line => useSyncExternalStore(subscribe, () => line)
