/** The questions to a scanning thread, and its answers. */
import type { PatternSpec } from '../../search-engine/regex/pattern.ts'

export interface ScanFile {
  /** The file's place in the order of the call. */
  index: number
  /** The path of its bytes on this machine, or the bytes. */
  source: { path: string } | { bytes: Uint8Array }
  /** The bytes were looked at before and are UTF-8 text. */
  plain: boolean
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

export interface Scanned {
  index: number
  count: number
  lines: ScanLine[]
  /** Whether the file has more lines than `mostLines`. */
  more: boolean
  /** The reason why the file was not searched. */
  skipped: 'binary' | 'gone' | 'too_slow' | null
}
