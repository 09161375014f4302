import type { Terminal } from '../../terminal.ts'
import { grepLines } from './grep.ts'
import { hitLines } from './hits.ts'
import { usageTable } from './usage.ts'

export type Row = Record<string, unknown>

/** An answer, and what was asked. */
export interface Seen {
  json: Row
  input: Readonly<Record<string, unknown>>
  terminal: Terminal
}

/** Answers that a person reads better in another form than a table or a card; null leaves it to these. */
const views: Readonly<Record<string, (seen: Seen) => string | null>> = {
  'drive.grep': grepLines,
  'search.query': hitLines,
  'me.usage': usageTable,
}

export const viewOf = (name: string, seen: Seen): string | null => views[name]?.(seen) ?? null
