import type { Context } from '#infra/context.ts'
import { Refusal, refuse } from '#core/errors.ts'
import { iso } from '#core/time.ts'
import { capabilitiesOf } from '../access.ts'
import type { HasLinks } from './links.ts'
import type { ComputerRow } from '../store.ts'

/** A slower computer counts as offline. */
const ANSWER_MS = 10_000

/** Holders of these can browse the machine anyway. */
const SEES_HOME = new Set(['exec', 'terminal', 'fs_read', 'fs_write'])

export async function testConnection(ctx: Context<HasLinks>, row: ComputerRow) {
  const { id, created_at } = row
  const { links } = ctx.engine
  const withinMs = Math.min(ANSWER_MS, links.limits.answerMs)
  const startedAt = performance.now()
  const { now, home, ...how } = await links
    .ask(id, 'daemon.probe', {}, { signal: ctx.signal, withinMs })
    .catch((error: unknown) => {
      if (!(error instanceof Refusal && error.code === 'timeout')) throw error
      return refuse('computer_offline', {
        message: 'The computer is connected but didn’t respond within 10 seconds.',
        ...(error.details && { details: error.details }),
      })
    })
  const round_trip_ms = Math.round((performance.now() - startedAt) * 1000) / 1000
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
