/** Runs test files in this process, one after another, as `test/runner/crew.ts` names them. */
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
  /** As the spec reporter says it: a line per test, the counts, then what failed and why. */
  text: string
  passed: number
  failed: number
  skipped: number
  seconds: number
  /** The seconds of processor that this process took for it, and those that it started, as far as they have ended. */
  processor: number
  /** The memory that the process holds after it, in bytes. */
  memory: number
  /** Nothing that it opened is left. */
  quiet: boolean
}

process.on('message', (file: string) => void runFile(file).then((outcome) => process.send!(outcome)))
process.on('disconnect', () => process.exit())

/** Of the file that is running: what no test is there to hear of. Its test may wait in vain for what did not come. */
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
    // A fault outside of every test fails the file all the same.
    outcome.failed = counts.tests - counts.passed - counts.skipped - counts.todo || Number(!success)
    outcome.seconds = duration_ms / 1000
  })
  void endWhenDone(file)
  const reading = (async () => {
    for await (const part of events.compose(new spec())) outcome.text += part
  })()
  await Promise.race([reading, faulty.promise])
  const quiet = await closes()
  // Processes of a run end by a signal, and would keep nothing of it for those that come after them.
  flushCompileCache()
  // Behind the counts, where the reporter has what failed and why.
  outcome.failed ||= faults.length
  outcome.text += faults.join('')
  return { ...outcome, processor: processorSeconds() - before, memory: process.memoryUsage.rss(), quiet }
}

/** Of this process and of the children that it has waited for: proc_pid_stat(5), fields 14 to 17, in hundredths. */
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
/** Of this process itself: its channel and its two outputs. */
const OWN = 3

/** Whether what a file opened goes: else the process is not fit for the next one. */
async function closes(): Promise<boolean> {
  for (const end = performance.now() + CLOSING_MS; performance.now() < end; await sleep(10))
    if (process.getActiveResourcesInfo().length <= OWN) return true
  return false
}

/** A run waits for its tests and ends when the process is about to; this one goes on, and tells it as soon as it may. */
async function endWhenDone(file: string): Promise<void> {
  // The run imports it first, and says if it cannot.
  await turn()
  await import(pathToFileURL(resolve(file)).href).catch(() => {})
  await turn()
  process.emit('beforeExit', 0)
}
