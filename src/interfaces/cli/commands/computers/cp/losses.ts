import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '../../../../client.ts'
import { Unreachable } from '../../../server/send.ts'

export { ApiError }

/** How long to retry a lost server or computer. */
const PATIENCE_MS = 90_000
const FIRST_MS = 250
const LONGEST_MS = 4_000

export const hasCode = (error: unknown, code: string): boolean =>
  error instanceof ApiError && (error.code ?? error.type) === code

/** Whether an error is temporary: a server restart, an offline computer, a rate limit. */
function passes(error: unknown): boolean {
  if (error instanceof Unreachable) return true
  if (!(error instanceof ApiError)) return false
  return (
    [429, 502, 503, 504].includes(error.status) ||
    ['computer_offline', 'stale_update'].some((code) => hasCode(error, code))
  )
}

export interface Losses {
  /** Resolves when it's time to retry. Throws permanent errors, and temporary ones that last too long. */
  outlast(error: unknown): Promise<void>
  over(): void
}

export function lossesOf(): Losses {
  let since: number | null = null
  let wait = FIRST_MS
  return {
    over() {
      since = null
      wait = FIRST_MS
    },
    async outlast(error) {
      if (!passes(error)) throw error
      since ??= Date.now()
      if (Date.now() - since > PATIENCE_MS) throw error
      const retryAfterMs = error instanceof ApiError ? (error.retryAfterSeconds ?? 0) * 1_000 : 0
      await sleep(Math.max(retryAfterMs, wait * (0.5 + Math.random() / 2)))
      wait = Math.min(wait * 2, LONGEST_MS)
    },
  }
}

/** Retries until success or a permanent error. */
export async function patiently<T>(ask: (again: boolean) => Promise<T>): Promise<T> {
  const losses = lossesOf()
  for (let again = false; ; again = true)
    try {
      return await ask(again)
    } catch (error) {
      await losses.outlast(error)
    }
}
