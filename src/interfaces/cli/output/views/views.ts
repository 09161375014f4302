import { grepLines } from './grep.ts'
import { hitLines } from './hits.ts'
import type { ViewInput } from './view-input.ts'
import { usageTable } from './usage.ts'

/** Custom views for a terminal; null falls back to a table or card. */
const views: Readonly<Record<string, (input: ViewInput) => string | null>> = {
  'drive.grep': grepLines,
  'search.query': hitLines,
  'me.usage': usageTable,
}

export const viewOf = (name: string, input: ViewInput): string | null => views[name]?.(input) ?? null
