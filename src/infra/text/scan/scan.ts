/** The requests to a scanning thread, and its answers. */
import type { GramQuery } from '../../search-engine/regex/grams.ts'
import type { LineSpec } from '../../search-engine/regex/line-pattern.ts'
import type { PatternSpec } from '../../search-engine/regex/pattern.ts'

export interface ScanFile {
  /** The file's place in the order of the call. */
  index: number
  /** The path of its bytes on this machine, or the bytes. */
  source: { path: string } | { bytes: Uint8Array }
  /** The bytes were looked at before and are UTF-8 text. */
  plain: boolean
  /** The digest of the file: a pattern that was too slow for its content is not tried again. */
  sha256: string
}

export interface ScanTask {
  spec: PatternSpec
  files: ScanFile[]
  /** `lines` answers them, `count` how many there are, `any` stops at the first. */
  want: 'lines' | 'count' | 'any'
  before: number
  after: number
  /** Lines of one file at most, of those behind `afterLine`. */
  mostLines: number
  /** Counts on when that many lines are there. */
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
  /** Whether the file has more lines than `mostLines`. */
  more: boolean
  /** The reason why the file was not searched. */
  skipped: 'binary' | 'gone' | 'too_slow' | null
}

/** Compiles the pattern, searches files, or says of each line whether the pattern is in it. */
export type ScanRequest =
  | { prepare: PatternSpec }
  | { files: ScanTask; limits: ScanLimits }
  | { lines: readonly string[]; spec: LineSpec; limits: ScanLimits }

export interface ScanLimits {
  /** The steps and the processor time of one file, or of one request for lines. */
  steps: number
  cpuMs: number
  /** After so much processor time the rest of the files waits for another turn. */
  sliceMs: number
}

/** Fewer answers than files: the rest was not reached. Fewer hits than lines: the rest was too much work. */
export type ScanReply =
  | { grams: GramQuery }
  | { invalid: string }
  | { scanned: ScanResult[] }
  | { hits: boolean[] }
  | { canceled: true }

/** Places of the memory that a thread shares with the server: whether to stop, and the file that it is at. */
export const STOP = 0
export const AT_FILE = 1
