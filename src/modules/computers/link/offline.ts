import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { iso } from '#core/time.ts'
import type { Lifecycle } from '../store.ts'
import type { Place } from './state.ts'

interface Away {
  id: Id
  lifecycle: Lifecycle
  last_seen_at: Date | null
}

/** How long a computer may take to reconnect. Daemons retry at least every 15 s. */
export const COMES_BACK_MS = 20_000
/** Computers lost longer than this before the server started aren't expected back with it. */
const LOST_LATELY_MS = 3_600_000

/**
 * How long a call waits for an offline computer, in milliseconds; 0 if it isn't expected back. `serverMs`: time since
 * this server started.
 */
export function comesWithin({ lifecycle, lost_ms }: Pick<Place, 'lifecycle' | 'lost_ms'>, serverMs: number): number {
  if (lifecycle === 'starting') return COMES_BACK_MS
  if (lifecycle !== 'running' || lost_ms === null || lost_ms > LOST_LATELY_MS) return 0
  return Math.max(0, COMES_BACK_MS - Math.min(lost_ms, serverMs))
}

/** Refuses a call to an offline computer and says how to bring it online. Null: it was deleted. */
export function offline(computer: Away | null): never {
  const seen = computer?.last_seen_at ?? null
  return refuse('computer_offline', {
    message: (computer && resting(computer)) ?? unheard(seen),
    details: { last_seen_at: seen === null ? null : iso(seen) },
  })
}

const unheard = (seen: Date | null): string =>
  seen === null ? 'The computer is not connected.' : `The computer isn’t connected. It was last seen at ${iso(seen)}.`

/** The reason why a cloud computer isn't running. Null: it should be. */
function resting({ id, lifecycle }: Away): string | null {
  const start = `Start it with \`uk computers start ${id}\`, or \`POST /computers/${id}/start\`.`
  switch (lifecycle) {
    case 'stopped':
      return `The computer is stopped. ${start}`
    case 'error':
      return `The computer isn’t running. \`lifecycle_reason\` says why. ${start}`
    case 'stopping':
      return 'The computer is stopping.'
    case 'starting':
    case 'provisioning':
      return 'The computer is starting. Try again in a moment.'
    default:
      return null
  }
}
