import { sql } from 'kysely'
import { newId } from '#core/ids.ts'
import type { Db } from '../postgres/client.ts'
import type { Actor } from '#core/principal.ts'

export interface EmittedEvent {
  type: string
  /** Affected channels: `workspace:<id>`, `chat:<id>`, `user:<id>`, … The event table decides which receive it. */
  channels: string[]
  resource?: { type: string; id: string }
  data: Record<string, unknown>
}

export interface AttributedEvent {
  event: EmittedEvent
  actor: Actor | null
}

export const writeOutbox = (db: Db, event: EmittedEvent, actor: Actor | null): Promise<void> =>
  writeOutboxEach(db, [{ event, actor }])

export const writeOutboxAll = (db: Db, events: readonly EmittedEvent[], actor: Actor | null): Promise<void> =>
  writeOutboxEach(
    db,
    events.map((event) => ({ event, actor })),
  )

export async function writeOutboxEach(db: Db, events: readonly AttributedEvent[]): Promise<void> {
  if (events.length === 0) return
  const rows = outboxRows(events)
  // One SQL text for any number of events, planned once per connection.
  await sql`insert into outbox (id, type, channels, resource_type, resource_id, actor, data)
    select id, type, channels, resource_type, resource_id, actor, data from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
      as x(id text, type text, channels text[], resource_type text, resource_id text, actor jsonb, data jsonb)`.execute(
    db,
  )
}

export const outboxRows = (events: readonly AttributedEvent[]) =>
  events.map(({ event: { type, channels, resource, data }, actor }) => ({
    id: newId(),
    type,
    channels,
    resource_type: resource?.type ?? null,
    resource_id: resource?.id ?? null,
    actor,
    data,
  }))
