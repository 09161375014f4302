import type { GramQuery } from '#packages/linear-grep/regex/grams.ts'
import type { LineSpec } from '#packages/linear-grep/regex/line-pattern.ts'
import type { PatternSpec } from '#packages/linear-grep/regex/pattern.ts'

export interface ScanFile {
  index: number
  source: { path: string } | { bytes: Uint8Array }
  /** Known to be UTF-8 text. */
  plain: boolean
  /** A pattern that was too slow for this content isn't tried again. */
  sha256: string
}

export interface ScanTask {
  spec: PatternSpec
  files: ScanFile[]
  /** `lines` returns them, `count` only their number, `any` stops at the first. */
  want: 'lines' | 'count' | 'any'
  before: number
  after: number
  /** Maximum lines per file after `afterLine`. */
  mostLines: number
  countAll: boolean
}

export interface ScanLine {
  line: number
  column: number
  text: string
  before: string[]
  after: string[]
}

export interface ScanResult {
  index: number
  count: number
  lines: ScanLine[]
  more: boolean
  skipped: 'binary' | 'gone' | 'too_slow' | null
}

export type ScanRequest =
  | { prepare: PatternSpec }
  | { files: ScanTask; limits: ScanLimits }
  | { lines: readonly string[]; spec: LineSpec; limits: ScanLimits }

export interface ScanLimits {
  /** Steps and CPU time per file or set of lines. */
  steps: number
  cpuMs: number
  /** CPU time after which remaining files wait for another turn. */
  sliceMs: number
}

/** Fewer results than files: the rest wasn't reached. Fewer hits than lines: the rest was too much work. */
export type ScanReply =
  | { grams: GramQuery }
  | { invalid: string }
  | { scanned: ScanResult[] }
  | { hits: boolean[] }
  | { canceled: true }

/** Slots of the memory shared with a thread: the stop flag and the current file. */
export const STOP = 0
export const AT_FILE = 1
