/** A thread that searches files and reads them itself, so that many small ones cost only their reading. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import type { RE2JS } from 're2js'
import { charsetOf } from '../charset/charset.ts'
import { columnIn, endOfLine, lineCounter, matchingLines } from '#packages/linear-grep/regex/lines.ts'
import { type LineSpec, compileLine } from '#packages/linear-grep/regex/line-pattern.ts'
import { holdsPattern } from '#packages/linear-grep/bounded/counted-text.ts'
import { InvalidPattern, type Pattern, type PatternSpec, compile } from '#packages/linear-grep/regex/pattern.ts'
import { TooMuchWork, Work } from '#packages/linear-grep/bounded/work.ts'
import { AT_FILE, STOP, type ScanFile, type ScanLimits, type ScanLine, type ScanReply } from './scan.ts'
import type { ScanRequest, ScanTask, ScanResult } from './scan.ts'
import { shorten } from '#core/text/shorten.ts'

const MAX_LINE = 10_000
/** A pattern may keep about 20 MB of states. */
const MAX_COMPILED = 4
const patternOf = memoize<PatternSpec, Pattern>(compile)
const linePatternOf = memoize<LineSpec, RE2JS>(compileLine)
const sharedState = workerData as Int32Array

/** This thread's lower priority, in `nice` steps. */
const BEHIND = 5
// Linux has priorities per thread (setpriority(2)); elsewhere this would affect the whole server.
if (process.platform === 'linux') setPriority(Math.min(19, getPriority() + BEHIND))

class CanceledError extends Error {}

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

function checkStop(): void {
  if (Atomics.load(sharedState, STOP) !== 0) throw new CanceledError()
}

function workFor({ steps, cpuMs: most }: ScanLimits): Work {
  const until = cpuMs() + most
  return new Work(steps, () => {
    checkStop()
    if (cpuMs() > until) throw new TooMuchWork('The pattern takes too long to match. Use a simpler one.')
  })
}

function memoize<Spec, Compiled>(make: (spec: Spec) => Compiled): (spec: Spec) => Compiled {
  const cache = new Map<string, Compiled>()
  return (spec) => {
    const key = JSON.stringify(spec)
    const value = cache.get(key) ?? make(spec)
    if (!cache.has(key) && cache.size >= MAX_COMPILED) cache.delete(cache.keys().next().value!)
    cache.set(key, value)
    return value
  }
}

let room = Buffer.allocUnsafeSlow(1 << 20)

function readWhole(path: string): Buffer {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    if (size > room.length) room = Buffer.allocUnsafeSlow(size)
    let at = 0
    for (let bytesRead = 1; at < size && bytesRead > 0; at += bytesRead)
      bytesRead = readSync(file, room, at, size - at, at)
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

function scan(task: ScanTask, file: ScanFile, work: Work): ScanResult {
  const result: ScanResult = { index: file.index, count: 0, lines: [], more: false, skipped: null }
  let bytes: Buffer | 'binary'
  try {
    bytes = load(file)
  } catch {
    return { ...result, skipped: 'gone' }
  }
  if (bytes === 'binary') return { ...result, skipped: 'binary' }
  try {
    search(task, bytes, result, work)
  } catch (error) {
    if (error instanceof TooMuchWork) return { ...result, count: 0, lines: [], more: false, skipped: 'too_slow' }
    throw error
  }
  return result
}

function search(task: ScanTask, text: Buffer, result: ScanResult, work: Work): void {
  const pattern = patternOf(task.spec)
  const lineAt = lineCounter(text)
  const take = (start: number, end: number): boolean => {
    result.count++
    if (task.want === 'any') return false
    if (task.want === 'count') return true
    if (result.lines.length >= task.mostLines) {
      result.more = true
      return task.countAll
    }
    const column = columnIn(pattern, text, start, end, work)
    result.lines.push({ line: lineAt(start), column, ...aroundOf(task, text, start, end) })
    return true
  }
  matchingLines(pattern, text, take, work)
}

const display = (bytes: Buffer, start: number, end: number): string => {
  const text = bytes.toString('utf8', start, Math.min(end, start + MAX_LINE * 4))
  return text.length > MAX_LINE ? shorten(text, MAX_LINE) : text
}

function aroundOf(
  { before, after }: ScanTask,
  bytes: Buffer,
  start: number,
  end: number,
): Omit<ScanLine, 'line' | 'column'> {
  const above: string[] = []
  for (let at = start; above.length < before && at > 0;) {
    const begins = at === 1 ? 0 : bytes.lastIndexOf(10, at - 2) + 1
    above.unshift(display(bytes, begins, at - 1))
    at = begins
  }
  const below: string[] = []
  for (let at = end + 1; below.length < after && at < bytes.length;) {
    const ends = endOfLine(bytes, at)
    below.push(display(bytes, at, ends))
    at = ends + 1
  }
  return { text: display(bytes, start, end), before: above, after: below }
}

/** Searches until the time slice ends, but always one file, so that every turn makes progress. */
function scanAll(task: ScanTask, limits: ScanLimits): ScanResult[] {
  const until = cpuMs() + limits.sliceMs
  const results: ScanResult[] = []
  for (const [at, file] of task.files.entries()) {
    if (at > 0 && cpuMs() > until) break
    checkStop()
    Atomics.store(sharedState, AT_FILE, at)
    results.push(scan(task, file, workFor(limits)))
  }
  return results
}

function hitsOf(lines: readonly string[], re2: RE2JS, work: Work): boolean[] {
  const hits: boolean[] = []
  try {
    for (const line of lines) hits.push(holdsPattern(re2, line, work))
  } catch (error) {
    if (!(error instanceof TooMuchWork)) throw error
  }
  return hits
}

function answer(request: ScanRequest): ScanReply {
  Atomics.store(sharedState, AT_FILE, 0)
  try {
    if ('files' in request) return { scanned: scanAll(request.files, request.limits) }
    if ('prepare' in request) return { grams: patternOf(request.prepare).grams }
    return { hits: hitsOf(request.lines, linePatternOf(request.spec), workFor(request.limits)) }
  } catch (error) {
    if (error instanceof CanceledError) return { canceled: true }
    if (error instanceof InvalidPattern) return { invalid: error.message }
    throw error
  }
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
parentPort!.on('message', (request: ScanRequest) => parentPort!.postMessage(answer(request)))
