import { refuse } from '#kernel/errors.ts'
import type { Id } from '#kernel/ids.ts'
import { iso } from '#kernel/time.ts'
import type { Lifecycle } from '../store.ts'

interface Away {
  id: Id
  lifecycle: Lifecycle
  last_seen_at: Date | null
}

/** Refuses what needs a computer that is there, and says what brings it back. Null: it is gone. */
export function offline(computer: Away | null): never {
  const seen = computer?.last_seen_at ?? null
  return refuse('computer_offline', {
    message: (computer && resting(computer)) ?? unheard(seen),
    details: { last_seen_at: seen === null ? null : iso(seen) },
  })
}

const unheard = (seen: Date | null): string =>
  seen === null
    ? 'The computer is not connected.'
    : `The computer is not connected; it was last heard of at ${iso(seen)}.`

/** What a cloud computer does when it does not run. */
function resting({ id, lifecycle }: Away): string | null {
  const start = `Start it with \`uk computers start ${id}\`, or \`POST /computers/${id}/start\`.`
  switch (lifecycle) {
    case 'stopped':
      return `The computer is stopped. ${start}`
    case 'error':
      return `The computer does not run: its \`lifecycle_reason\` says why. ${start}`
    case 'stopping':
      return 'The computer is being stopped.'
    case 'starting':
    case 'provisioning':
      return 'The computer is being started: it is there in a moment.'
    default:
      return null
  }
}
