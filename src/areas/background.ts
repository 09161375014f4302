/** What the areas do when nobody waits: jobs by name, housekeeping, and what follows from events. */
import type { Engine } from '#engine/context.ts'
import type { Consumer } from '#engine/deliveries.ts'
import { type JobHandler, type Schedule, every } from '#engine/jobs.ts'
import { retainChanges } from '#engine/relay.ts'

export interface Background {
  handlers: Record<string, JobHandler>
  schedules: Schedule[]
  consumers: Consumer[]
}

export const background = (engine: Engine): Background => ({
  handlers: {},
  schedules: [every('changes.retain', 3600, async () => void (await retainChanges(engine.postgres)))],
  consumers: [],
})
