/** A thread that searches files: it reads them by itself, so that many small ones cost no more than their reading. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'
import { charsetOf } from '../charset/charset.ts'
import { columnIn, endOfLine, lineCounter, matchingLines } from '../../search-engine/regex/lines.ts'
import { type Pattern, compile } from '../../search-engine/regex/pattern.ts'
import type { ScanFile, ScanLine, ScanTask, Scanned } from './scan.ts'
import { shorten } from '#kernel/text/shorten.ts'

const MOST_LINE = 10_000
const MOST_COMPILED = 16
const compiled = new Map<string, Pattern>()

function patternOf(spec: ScanTask['spec']): Pattern {
  const key = JSON.stringify(spec)
  const known = compiled.get(key)
  if (known) return known
  if (compiled.size >= MOST_COMPILED) compiled.clear()
  const pattern = compile(spec)
  compiled.set(key, pattern)
  return pattern
}

let room = Buffer.allocUnsafeSlow(1 << 20)

/** The bytes of a file; they hold until the next is read. */
function readWhole(path: string): Buffer {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    if (size > room.length) room = Buffer.allocUnsafeSlow(size)
    let at = 0
    for (let read = 1; at < size && read > 0; at += read) read = readSync(file, room, at, size - at, at)
    return room.subarray(0, at)
  } finally {
    closeSync(file)
  }
}

function load({ source, plain }: ScanFile): Buffer | 'binary' {
  const bytes =
    'path' in source
      ? readWhole(source.path)
      : Buffer.from(source.bytes.buffer, source.bytes.byteOffset, source.bytes.byteLength)
  if (plain) return bytes
  const charset = charsetOf(bytes)
  if (charset === null) return 'binary'
  return charset === 'utf-8' ? bytes : Buffer.from(new TextDecoder(charset).decode(bytes))
}

function scan(task: ScanTask, file: ScanFile): Scanned {
  const found: Scanned = { index: file.index, count: 0, lines: [], more: false, skipped: null }
  let bytes: Buffer | 'binary'
  try {
    bytes = load(file)
  } catch {
    return { ...found, skipped: 'gone' }
  }
  if (bytes === 'binary') return { ...found, skipped: 'binary' }
  const text = bytes
  const pattern = patternOf(task.spec)
  const lineAt = lineCounter(text)
  matchingLines(pattern, text, (start, end) => {
    found.count++
    if (task.want === 'any') return false
    if (task.want === 'count') return true
    if (found.lines.length >= task.mostLines) {
      found.more = true
      return task.countAll
    }
    found.lines.push(lineOf(task, pattern, text, start, end, lineAt(start)))
    return true
  })
  return found
}

const shown = (bytes: Buffer, start: number, end: number): string => {
  const text = bytes.toString('utf8', start, Math.min(end, start + MOST_LINE * 4))
  return text.length > MOST_LINE ? shorten(text, MOST_LINE) : text
}

function lineOf(
  { before, after }: ScanTask,
  pattern: Pattern,
  bytes: Buffer,
  start: number,
  end: number,
  line: number,
): ScanLine {
  const above: string[] = []
  for (let at = start; above.length < before && at > 0;) {
    const begins = at === 1 ? 0 : bytes.lastIndexOf(10, at - 2) + 1
    above.unshift(shown(bytes, begins, at - 1))
    at = begins
  }
  const below: string[] = []
  for (let at = end + 1; below.length < after && at < bytes.length;) {
    const ends = endOfLine(bytes, at)
    below.push(shown(bytes, at, ends))
    at = ends + 1
  }
  return {
    line,
    column: columnIn(pattern, bytes, start, end),
    text: shown(bytes, start, end),
    before: above,
    after: below,
  }
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
parentPort!.on('message', (task: ScanTask) => parentPort!.postMessage(task.files.map((file) => scan(task, file))))
