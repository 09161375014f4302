import type { Terminal } from '../../terminal.ts'

export type Row = Record<string, unknown>

/** An answer, and what was asked. */
export interface Seen {
  json: Row
  input: Readonly<Record<string, unknown>>
  terminal: Terminal
}
