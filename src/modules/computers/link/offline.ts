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

/** Daemons retry at least every 15 s. */
export const COMES_BACK_MS = 20_000
/** Computers lost earlier don't return with the server. */
const MAX_LOST_MS = 3_600_000

/** In milliseconds; 0 if the computer isn't expected back. `serverMs`: since this server started. */
export function comesWithin({ lifecycle, lost_ms }: Pick<Place, 'lifecycle' | 'lost_ms'>, serverMs: number): number {
  if (lifecycle === 'starting') return COMES_BACK_MS
  if (lifecycle !== 'running' || lost_ms === null || lost_ms > MAX_LOST_MS) return 0
  return Math.max(0, COMES_BACK_MS - Math.min(lost_ms, serverMs))
}

/** Says how to bring the computer online. Null: deleted. */
export function offline(computer: Away | null): never {
  const lastSeenAt = computer?.last_seen_at ?? null
  return refuse('computer_offline', {
    message: (computer && lifecycleMessage(computer)) ?? offlineMessage(lastSeenAt),
    details: { last_seen_at: lastSeenAt === null ? null : iso(lastSeenAt) },
  })
}

const offlineMessage = (lastSeenAt: Date | null): string =>
  lastSeenAt === null
    ? 'The computer is not connected.'
    : `The computer isn’t connected. It was last seen at ${iso(lastSeenAt)}.`

function lifecycleMessage({ id, lifecycle }: Away): string | null {
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
