/** Runs test files in this process, one after another, as `test/crew.ts` names them. */
import { resolve } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

export interface Outcome {
  file: string
  /** As the spec reporter says it: a line per test, the counts, then what failed and why. */
  text: string
  passed: number
  failed: number
  skipped: number
  seconds: number
  /** What the process holds after it, in bytes. */
  memory: number
}

process.on('message', (file: string) => void runFile(file).then((outcome) => process.send!(outcome)))
process.on('disconnect', () => process.exit())

async function runFile(file: string): Promise<Outcome> {
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
  for await (const part of events.compose(new spec())) outcome.text += part
  const left = await leftOpen()
  if (left.length > 0) {
    outcome.failed += 1
    outcome.text += `✖ ${file} leaves open what would keep its process from ending: ${left.join(', ')}\n`
  }
  return { ...outcome, memory: process.memoryUsage.rss() }
}

/** What was there when this process began: its channel and its outputs. */
const mine = process.getActiveResourcesInfo().length
const CLOSING_MS = 10_000

/** What keeps the event loop going after a file, once what was being closed is. */
async function leftOpen(): Promise<string[]> {
  const end = performance.now() + CLOSING_MS
  for (;;) {
    const open = process.getActiveResourcesInfo()
    if (open.length <= mine) return []
    if (performance.now() > end) return open
    await sleep(10)
  }
}

/** A run waits for its tests and ends when the process is about to; this one goes on, and tells it as soon as it may. */
async function endWhenDone(file: string): Promise<void> {
  // The run imports it first, and says if it cannot.
  await turn()
  await import(pathToFileURL(resolve(file)).href).catch(() => {})
  await turn()
  process.emit('beforeExit', 0)
}
