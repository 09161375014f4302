import { createHash } from 'node:crypto'

const MAX_KNOWN = 10_000

/**
 * Remembers too expensive searches by pattern and content. Per process: another one tries once with the same limits and
 * result.
 */
export function createSlowPatterns() {
  const keys = new Set<string>()
  const digest = (key: string): string => createHash('sha256').update(key).digest('base64')
  return {
    has: (key: string): boolean => keys.size > 0 && keys.has(digest(key)),
    add(key: string): void {
      if (keys.size >= MAX_KNOWN) keys.delete(keys.values().next().value!)
      keys.add(digest(key))
    },
  }
}
