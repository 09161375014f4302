/**
 * Detects the end of a graphile-worker runner. If a 0.18.0 runner loses the database at a bad moment, it hangs: after
 * failing to read its task names it never retries, and after failing to write two completions in a row its shutdown
 * waits for a third.
 */
import type { Runner, WorkerEventMap, WorkerEvents } from 'graphile-worker'

/** A runner is abandoned after this many of our polls succeeded and none of its polls did. */
const SILENT_LOOKS = 8
const LAST_TURNS = 1
/** Polling intervals it gets to return its jobs if it couldn't stop cleanly. */
const FORCED_TURNS = 10

/**
 * Resolves with the runner's error, or null if it was stopped; never rejects. A runner that stops polling is stopped
 * and ends after its last job. `reach`: any database query. `turnMs`: the polling interval, also of this check.
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
      // Remaining resources, such as its timer, are abandoned.
      void runner.stop().catch(() => {})
    }, ms).unref()
  }
  events.on('localQueue:getJobs:complete', () => (hasActivity = true))
  events.on('pool:gracefulShutdown:complete', () => within(LAST_TURNS * turnMs))
  events.on('pool:gracefulShutdown:error', () => within(FORCED_TURNS * turnMs))

  // The runner keeps fetched jobs and stops requesting; a slow fetch is awaited.
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
