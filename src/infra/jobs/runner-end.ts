/**
 * When a runner of graphile-worker has ended. A runner of 0.18.0 that is cut off from the database at a bad moment goes
 * on for ever and does nothing: if it could not read the names of its tasks, it never asks again; if it could not write
 * the ends of two jobs in a row, its own end waits for a third.
 */
import type { Runner, WorkerEventMap, WorkerEvents } from 'graphile-worker'

/** A runner that looks for no jobs is given up after as many looks of ours that found the database and not it. */
const SILENT_LOOKS = 8
/** Turns of its clock that are left to it after its last job. */
const LAST_TURNS = 1
/** The most that it takes to give its jobs back where it could not end well. */
const FORCED_TURNS = 10

/**
 * Settles with what the runner came to, or null where it was stopped. One that looks for no jobs is stopped, and ends when
 * its last job has. Rejects never. `reach`: asks the database anything. `turnMs`: how often it looks for jobs, and we at it.
 */
export function endOf(
  runner: Runner,
  events: WorkerEvents,
  queue: WorkerEventMap['localQueue:init']['localQueue'],
  reach: () => Promise<unknown>,
  turnMs: number,
): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<unknown>()
  let why: Error | null = null
  let hasActivity = true
  let silent = 0
  let over = false
  let timer: NodeJS.Timeout

  const within = (ms: number): void => {
    setTimeout(() => {
      if (over) return
      resolve(why ?? new Error('a runner of jobs was over and did not end'))
      // The rest that it still holds — its clock, for one — is left with it.
      void runner.stop().catch(() => {})
    }, ms).unref()
  }
  events.on('localQueue:getJobs:complete', () => (hasActivity = true))
  events.on('pool:gracefulShutdown:complete', () => within(LAST_TURNS * turnMs))
  events.on('pool:gracefulShutdown:error', () => within(FORCED_TURNS * turnMs))

  // The runner keeps what it has fetched and not begun, and asks for no more; an answer that takes long is awaited.
  const asks = (): boolean => queue.mode === 'POLLING' && !queue.fetchInProgress
  async function look(): Promise<void> {
    const isMissed = !hasActivity && asks()
    hasActivity = false
    silent = isMissed && (await answers(reach)) && asks() ? silent + 1 : 0
    if (over) return
    if (silent < SILENT_LOOKS) return lookAgain()
    why = new Error('a runner of jobs looked for none')
    await runner.stop().catch(() => {})
  }
  function lookAgain(): void {
    timer = setTimeout(() => void look(), turnMs).unref()
  }
  lookAgain()

  runner.promise.then(() => resolve(why), resolve)
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
