import type { Terminal } from '../../terminal.ts'

export type Row = Record<string, unknown>

/** A response with its request. */
export interface ViewInput {
  json: Row
  input: Readonly<Record<string, unknown>>
  terminal: Terminal
}
