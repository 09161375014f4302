import { Work } from '../bounded/work.ts'
import { findsIn, holdsPattern } from '../bounded/counted-text.ts'
import type { Pattern } from './pattern.ts'

const LF = 10

const unlimitedWork = (): Work => new Work(Number.POSITIVE_INFINITY)
type Take = (start: number, end: number) => boolean

/**
 * Calls back with the start and end of each matching line (without its break) until it returns false. Throws
 * `TooMuchWork`.
 */
export function matchingLines(pattern: Pattern, bytes: Buffer, take: Take, work = unlimitedWork()): void {
  const onMatch: Take = (start, end) => {
    work.spend(1)
    return take(start, end)
  }
  if (pattern.multiline) return matchingBlocks(pattern, bytes, onMatch, work)
  if (pattern.literal) return withWord(pattern.literal, bytes, null, onMatch)
  const automaton = pattern.automaton(bytes)
  if (pattern.word) {
    const inLine = automaton
      ? (start: number, end: number) => automaton.next(bytes, start, end, work) >= 0
      : (start: number, end: number) => holdsPattern(pattern.re2, bytes.toString('utf8', start, end), work)
    return withWord(pattern.word, bytes, inLine, onMatch)
  }
  if (automaton === null) return byRe2(pattern, bytes, onMatch, work)
  for (let at = 0; at < bytes.length;) {
    const end = automaton.next(bytes, at, bytes.length, work)
    if (end < 0 || !onMatch(end === 0 ? 0 : bytes.lastIndexOf(LF, end - 1) + 1, end)) return
    at = end + 1
  }
}

function withWord(word: Buffer, bytes: Buffer, inLine: Take | null, onMatch: Take): void {
  for (let at = bytes.indexOf(word); at >= 0;) {
    const start = at === 0 ? 0 : bytes.lastIndexOf(LF, at - 1) + 1
    const end = endOfLine(bytes, at)
    if ((inLine === null || inLine(start, end)) && !onMatch(start, end)) return
    at = bytes.indexOf(word, end + 1)
    if (end >= bytes.length) return
  }
}

function byRe2({ re2 }: Pattern, bytes: Buffer, onMatch: Take, work: Work): void {
  if (!holdsPattern(re2, bytes.toString(), work)) return
  for (let start = 0; start < bytes.length;) {
    const end = endOfLine(bytes, start)
    if (holdsPattern(re2, bytes.toString('utf8', start, end), work) && !onMatch(start, end)) return
    start = end + 1
  }
}

/** Multiline matching: the lines of a match are one result, merged with matches sharing a line. */
function matchingBlocks({ re2 }: Pattern, bytes: Buffer, onMatch: Take, work: Work): void {
  const text = bytes.toString()
  if (!holdsPattern(re2, text, work)) return
  const matcher = findsIn(re2, text, work)
  // Text offsets are UTF-16 units; byte offsets continue from the last one.
  let unit = 0
  let byte = 0
  const byteAt = (place: number): number => {
    byte += Buffer.byteLength(text.slice(unit, place))
    unit = place
    return byte
  }
  let block: { first: number; end: number } | null = null
  const tell = (): boolean => block === null || onMatch(byteAt(block.first), byteAt(block.end))
  for (let at = 0; at <= text.length && matcher.find(at);) {
    const begins = matcher.start()
    const ends = matcher.end()
    if (begins >= text.length && (text.endsWith('\n') || text === '')) break
    const first = begins === 0 ? 0 : text.lastIndexOf('\n', begins - 1) + 1
    // A final line break belongs to the match's last line.
    const stop = text.indexOf('\n', Math.max(begins, ends - 1))
    const end = stop < 0 ? text.length : stop
    if (block !== null && first <= block.end) block.end = Math.max(block.end, end)
    else {
      if (!tell()) return
      block = { first, end }
    }
    at = ends > begins ? ends : ends + 1
  }
  tell()
}

export function endOfLine(bytes: Buffer, from: number): number {
  const end = bytes.indexOf(LF, from)
  return end < 0 ? bytes.length : end
}

export function lineCounter(bytes: Buffer): (place: number) => number {
  let at = 0
  let line = 1
  return (place) => {
    for (let next = bytes.indexOf(LF, at); next >= 0 && next < place; next = bytes.indexOf(LF, at)) {
      line++
      at = next + 1
    }
    return line
  }
}

/** The leftmost match's byte column, from 1, as in ripgrep's `--column`. */
export function columnIn(
  { re2, literal, multiline }: Pattern,
  bytes: Buffer,
  start: number,
  end: number,
  work = unlimitedWork(),
): number {
  if (literal) return bytes.indexOf(literal, start) - start + 1
  const text = bytes.toString('utf8', start, multiline ? end + 1 : end)
  const matcher = findsIn(re2, text, work)
  return matcher.find() ? Buffer.byteLength(text.slice(0, matcher.start())) + 1 : 1
}
