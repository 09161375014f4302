import type { Terminal } from '../terminal.ts'

/** A command that isn't an endpoint. Its module is loaded on demand. */
export interface Special {
  words: readonly string[]
  usage: string
  summary: string
  more: string
  /** Default: the bare command. */
  examples?: readonly string[]
  run(words: readonly string[], terminal: Terminal): Promise<number>
}
