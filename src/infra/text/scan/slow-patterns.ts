import { createHash } from 'node:crypto'

const MOST_KNOWN = 10_000

/**
 * The searches that took too much work, by pattern and content, until this process ends. Each server process learns by
 * itself: another one tries once as well, with the same limits and the same result.
 */
export function createSlowPatterns() {
  const keys = new Set<string>()
  const digest = (key: string): string => createHash('sha256').update(key).digest('base64')
  return {
    has: (key: string): boolean => keys.size > 0 && keys.has(digest(key)),
    add(key: string): void {
      if (keys.size >= MOST_KNOWN) keys.delete(keys.values().next().value!)
      keys.add(digest(key))
    },
  }
}
