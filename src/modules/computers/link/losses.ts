import { setTimeout as sleep } from 'node:timers/promises'
import { Refusal, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { LinkLost, StreamReset } from '#packages/mux/stream.ts'

const PATIENCE_MS = 60_000
const RETRY_MS = 250

export interface Losses {
  /** Waits for the computer. Throws other errors, or when patience runs out. */
  outlast(error: unknown): Promise<void>
  /** Resets patience after progress. */
  over(): void
}

export interface LossesMore {
  signal: AbortSignal
  patienceMs?: number
  /** Makes the first attempt wait too. */
  underWay?: boolean
  gone?: (lostAt: Date) => never
}

/** Measures patience on the monotonic clock. */
export function lossesOf(
  links: { online(computerId: Id, waitMs: number, signal: AbortSignal): Promise<boolean> },
  computerId: Id,
  { signal, patienceMs = PATIENCE_MS, underWay = false, gone = refuseLost }: LossesMore,
): Losses {
  const now = (): { at: Date; until: number } => ({ at: new Date(), until: performance.now() + patienceMs })
  let since = underWay ? now() : null
  return {
    over: () => void (since = null),
    async outlast(error) {
      signal.throwIfAborted()
      if (error instanceof StreamReset)
        refuse('interrupted', { message: `The computer aborted the transfer: ${error.message}.` })
      // Doesn't wait for computers offline from the start. If its server process died, a computer was online a moment ago.
      const waits = error instanceof LinkLost || isUnreached(error) || (since !== null && isOffline(error))
      if (!waits) throw error
      const again = since !== null
      since ??= now()
      const remainingMs = since.until - performance.now()
      if (remainingMs <= 0 || !(await links.online(computerId, remainingMs, signal))) {
        if (isUnreached(error)) throw error
        gone(since.at)
      }
      signal.throwIfAborted()
      // The row may briefly name a broken link or a dead process.
      if (again || isUnreached(error)) await sleep(RETRY_MS)
    },
  }
}

const isOffline = (error: unknown): boolean => error instanceof Refusal && error.code === 'computer_offline'
/** Whether the process with the link is unreachable, so the computer never got the request. */
const isUnreached = (error: unknown): boolean => error instanceof Refusal && error.code === 'unavailable'

const refuseLost = (lostAt: Date): never =>
  refuse('computer_offline', {
    message: 'The connection to the computer was lost during the transfer and wasn’t restored.',
    details: { last_seen_at: lostAt.toISOString() },
  })
