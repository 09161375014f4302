import { createHash } from 'node:crypto'

const MOST_KNOWN = 10_000

/**
 * The searches that took too much work, by pattern and content, until this process ends. Each server process learns by
 * itself: another one tries once as well, with the same limits and the same result.
 */
export function createSlowPatterns() {
  const known = new Set<string>()
  const digest = (key: string): string => createHash('sha256').update(key).digest('base64')
  return {
    has: (key: string): boolean => known.size > 0 && known.has(digest(key)),
    add(key: string): void {
      if (known.size >= MOST_KNOWN) known.delete(known.values().next().value!)
      known.add(digest(key))
    },
  }
}
