import { grepLines } from './grep.ts'
import { hitLines } from './hits.ts'
import type { Seen } from './seen.ts'
import { usageTable } from './usage.ts'

/** Custom views for a terminal; null falls back to a table or card. */
const views: Readonly<Record<string, (seen: Seen) => string | null>> = {
  'drive.grep': grepLines,
  'search.query': hitLines,
  'me.usage': usageTable,
}

export const viewOf = (name: string, seen: Seen): string | null => views[name]?.(seen) ?? null
