import type { Context } from '#engine/context.ts'
import { refuse } from '#kernel/errors.ts'
import { iso } from '#kernel/time.ts'
import { capabilitiesOf } from '../access.ts'
import type { HasLinks } from './links.ts'
import type { ComputerRow } from '../store.ts'

/** The time after which it counts as away, whatever its link seems to be. */
const ANSWER_MS = 10_000

/** The capabilities whose holders are told where the home is: they may look around on the machine anyway. */
const SEES_HOME = new Set(['exec', 'terminal', 'fs_read', 'fs_write'])

export async function testConnection(ctx: Context<HasLinks>, row: ComputerRow) {
  const { id, created_at, last_seen_at } = row
  const late = AbortSignal.timeout(ANSWER_MS)
  const begun = performance.now()
  const { now, home, ...how } = await ctx.engine.links
    .ask(id, 'daemon.probe', {}, { signal: AbortSignal.any([ctx.signal, late]) })
    .catch((error: unknown) => {
      if (!late.aborted || ctx.signal.aborted) throw error
      return refuse('computer_offline', {
        message: 'The computer seems to be connected, and did not answer within 10 seconds.',
        details: { last_seen_at: last_seen_at && iso(last_seen_at) },
      })
    })
  const round_trip_ms = Math.round((performance.now() - begun) * 1000) / 1000
  return {
    id,
    created_at: iso(created_at),
    connection: 'online' as const,
    round_trip_ms,
    clock_difference_ms: Math.round(Date.parse(now) - (Date.now() - round_trip_ms / 2)),
    ...how,
    home: capabilitiesOf(ctx.principal, row).some((one) => SEES_HOME.has(one)) ? home : null,
  }
}
