/**
 * When a runner of graphile-worker has ended. Cut off from the database at a bad moment, one of 0.18.0 goes on for ever
 * and does nothing: where it could not read the names of its tasks, it never asks again; where two ends of jobs could not
 * be written one after the other, its own end waits for a third.
 */
import type { Runner, WorkerEvents } from 'graphile-worker'

const LOOK_MS = 1_000
/** A runner looks for jobs every second, and is given up after as many looks of ours that found the database and not it. */
const SILENT_LOOKS = 8
/** What is left to it after its last job. */
const LAST_MS = 1_000

/**
 * Settles with the error that the runner came to, or null. One that is of no use any more is stopped, and has ended
 * `stopMs` later at the latest, when its jobs have had time to be stopped. Rejects never. `reach`: asks the database anything.
 */
export function endOf(
  runner: Runner,
  events: WorkerEvents,
  { stopMs, reach }: { stopMs: number; reach: () => Promise<unknown> },
): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<unknown>()
  const stop = (why: string): Promise<void> => runner.stop(why).catch(() => {})
  const within = (ms: number, why: string): void => {
    setTimeout(() => {
      if (over) return
      resolve(new Error(why))
      // What it still holds — its clock, for one — is left with it.
      void stop(why)
    }, ms).unref()
  }
  let asks = true
  let heard = true
  let silent = 0
  let over = false

  events.on('localQueue:setMode', ({ newMode }) => {
    // What it has fetched and not begun it keeps, and asks for no more.
    asks = newMode === 'POLLING'
    heard = true
  })
  events.on('localQueue:getJobs:complete', () => (heard = true))
  events.on('pool:gracefulShutdown', () => within(stopMs + LAST_MS, 'it was stopped and did not end'))
  events.on('pool:gracefulShutdown:complete', () => within(LAST_MS, 'its last job has ended, and it has not'))

  async function look(): Promise<void> {
    const well = heard || !asks
    heard = false
    silent = well || !(await answers(reach)) ? 0 : silent + 1
    if (over) return
    if (silent < SILENT_LOOKS) return lookAgain()
    within(stopMs + LAST_MS, 'it looked for no jobs')
    await stop('it looks for no jobs')
  }
  let timer: NodeJS.Timeout
  const lookAgain = (): void => void (timer = setTimeout(() => void look(), LOOK_MS).unref())
  lookAgain()

  runner.promise.then(() => resolve(null), resolve)
  return promise.finally(() => {
    over = true
    clearTimeout(timer)
  })
}

const answers = (ask: () => Promise<unknown>): Promise<boolean> =>
  ask().then(
    () => true,
    () => false,
  )
