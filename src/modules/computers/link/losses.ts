import { setTimeout as sleep } from 'node:timers/promises'
import { Refusal, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { LinkLost, StreamReset } from '#daemon-protocol/stream.ts'

/** The time that a computer which is lost in the middle of something is waited for. */
const PATIENCE_MS = 60_000
const RETRY_MS = 250

/** The losses of a link in the middle of one thing, which then goes on where it was. */
export interface Losses {
  /**
   * Resolves when the computer is back after an error that says it was lost; throws any other, and one that is over for
   * good.
   */
  outlast(error: unknown): Promise<void>
  /** Says that it goes on. */
  over(): void
}

export interface LossesMore {
  signal: AbortSignal
  patienceMs?: number
  /** Whether it was under way before: then the computer is waited for from the beginning. */
  underWay?: boolean
  /** Refuses where the computer has not come back in time. `lostAt`: when it was lost. */
  gone?: (lostAt: Date) => never
}

/** The losses of one thing; patience is counted on a clock that nobody sets. */
export function lossesOf(
  links: { online(computerId: Id, waitMs: number, signal: AbortSignal): Promise<boolean> },
  computerId: Id,
  { signal, patienceMs = PATIENCE_MS, underWay = false, gone = lost }: LossesMore,
): Losses {
  const now = (): { at: Date; until: number } => ({ at: new Date(), until: performance.now() + patienceMs })
  let since = underWay ? now() : null
  return {
    over: () => void (since = null),
    async outlast(error) {
      signal.throwIfAborted()
      if (error instanceof StreamReset)
        refuse('interrupted', { message: `The computer aborted the transfer: ${error.message}.` })
      // A computer that was not there to begin with is not waited for; one whose process has died was there just now.
      const waits = error instanceof LinkLost || isUnreached(error) || (since !== null && isOffline(error))
      if (!waits) throw error
      const again = since !== null
      since ??= now()
      const left = since.until - performance.now()
      if (left <= 0 || !(await links.online(computerId, left, signal))) {
        if (isUnreached(error)) throw error
        gone(since.at)
      }
      signal.throwIfAborted()
      // The row may name a link that is broken, or a process that has died, for a moment yet.
      if (again || isUnreached(error)) await sleep(RETRY_MS)
    },
  }
}

const isOffline = (error: unknown): boolean => error instanceof Refusal && error.code === 'computer_offline'
/** Whether the process that holds its link cannot be reached: then nothing was asked of the computer. */
const isUnreached = (error: unknown): boolean => error instanceof Refusal && error.code === 'unavailable'

const lost = (lostAt: Date): never =>
  refuse('computer_offline', {
    message: 'The connection to the computer was lost during the transfer and wasn’t restored.',
    details: { last_seen_at: lostAt.toISOString() },
  })
