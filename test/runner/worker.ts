import { readFileSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { resolve } from 'node:path'
import { inspect } from 'node:util'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { run } from './light-tests.ts'

const { spec } = await import('node:test/reporters')

export interface Outcome {
  file: string
  /** Spec reporter output: a line per test, counts, then failures. */
  text: string
  passed: number
  failed: number
  skipped: number
  seconds: number
  /** CPU seconds of this process and its ended children. */
  processor: number
  memory: number
  quiet: boolean
}

process.on('message', (file: string) => void runFile(file).then((outcome) => process.send!(outcome)))
process.on('disconnect', () => process.exit())

/** Stray errors of the running file. Its test may be waiting for something that will never happen. */
const FAULTY_MS = 20_000
let faults: string[] = []
let faulty = Promise.withResolvers<void>()
for (const event of ['uncaughtException', 'unhandledRejection'] as const)
  process.on(event, (error: unknown) => {
    faults.push(`${event}: ${inspect(error)}\n`)
    setTimeout(faulty.resolve, FAULTY_MS).unref()
  })

async function runFile(file: string): Promise<Outcome> {
  const before = processorSeconds()
  faults = []
  faulty = Promise.withResolvers()
  const events = run({ files: [file], isolation: 'none' })
  const outcome = { file, text: '', passed: 0, failed: 0, skipped: 0, seconds: 0 }
  events.on('test:summary', ({ counts, duration_ms, success }) => {
    outcome.passed = counts.passed
    outcome.skipped = counts.skipped
    // An error outside of tests also fails the file.
    outcome.failed = counts.tests - counts.passed - counts.skipped - counts.todo || Number(!success)
    outcome.seconds = duration_ms / 1000
  })
  void endWhenDone(file)
  const reading = (async () => {
    for await (const part of events.compose(new spec())) outcome.text += part
  })()
  await Promise.race([reading, faulty.promise])
  const quiet = await closes()
  // Worker processes end by a signal, which would lose the compile cache.
  flushCompileCache()
  outcome.failed ||= faults.length
  outcome.text += faults.join('')
  return { ...outcome, processor: processorSeconds() - before, memory: process.memoryUsage.rss(), quiet }
}

/** This process and its waited-for children: proc_pid_stat(5), fields 14 to 17, in hundredths. */
function processorSeconds(): number {
  if (process.platform !== 'linux') {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  }
  const stat = readFileSync('/proc/self/stat', 'utf8')
  const ticks = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15)
  return ticks.reduce((sum, one) => sum + Number(one), 0) / 100
}

const CLOSING_MS = 5_000
/** This process's channel and its two outputs. */
const OWN = 3

/** Whether a file's handles close; otherwise the process isn't reused. */
async function closes(): Promise<boolean> {
  for (const end = performance.now() + CLOSING_MS; performance.now() < end; await sleep(10))
    if (process.getActiveResourcesInfo().length <= OWN) return true
  return false
}

/** node:test ends a run when the process exits; this one continues, so it signals the end earlier. */
async function endWhenDone(file: string): Promise<void> {
  // The run imports it first and reports import errors.
  await turn()
  await import(pathToFileURL(resolve(file)).href).catch(() => {})
  await turn()
  process.emit('beforeExit', 0)
}
