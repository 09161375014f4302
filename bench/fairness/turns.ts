/**
 * Loaded before the server under test: notes how much of a processor its main thread takes from one look of a timer to the
 * next, so about per turn of the event loop. Unlike a delay, that is the same on a busy machine.
 */
import { appendFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

const file = process.env['UKIYO_BENCH_TURNS']
/** Shorter turns hold up nobody. */
const NOTED_MS = 5

const spent = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

if (file !== undefined && isMainThread && process.argv[1]?.endsWith('main.ts')) {
  let before = spent()
  const look = (): void => {
    const turn = spent() - before
    if (turn >= NOTED_MS) appendFileSync(file, `${turn.toFixed(1)}\n`)
    before = spent()
    setTimeout(look, 1).unref()
  }
  look()
}
