import { sql } from 'kysely'
import { newId } from '#core/ids.ts'
import type { Db } from '../postgres/client.ts'
import type { Actor } from '#core/principal.ts'

/** An event for all who subscribe. Written in the transaction of the change. */
export interface EmittedEvent {
  /** `chat.created`: the resource's kind and a past participle. */
  type: string
  /** The channels it concerns: `workspace:<id>`, `chat:<id>`, `user:<id>`, … The table of events says which hear it. */
  channels: string[]
  resource?: { type: string; id: string }
  data: Record<string, unknown>
}

/** An event and who made it happen; null is the server itself. */
export interface AttributedEvent {
  event: EmittedEvent
  actor: Actor | null
}

/** Writes an event into the transaction of the change that it tells of. The relay takes it from there. */
export const writeOutbox = (db: Db, event: EmittedEvent, actor: Actor | null): Promise<void> =>
  writeOutboxEach(db, [{ event, actor }])

/** The same for many, in their order. */
export const writeOutboxAll = (db: Db, events: readonly EmittedEvent[], actor: Actor | null): Promise<void> =>
  writeOutboxEach(
    db,
    events.map((event) => ({ event, actor })),
  )

/** The same for many that different people made happen. */
export async function writeOutboxEach(db: Db, events: readonly AttributedEvent[]): Promise<void> {
  if (events.length === 0) return
  const rows = outboxRows(events)
  // One text for any number of events, which is planned once per connection.
  await sql`insert into outbox (id, type, channels, resource_type, resource_id, actor, data)
    select id, type, channels, resource_type, resource_id, actor, data from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
      as x(id text, type text, channels text[], resource_type text, resource_id text, actor jsonb, data jsonb)`.execute(
    db,
  )
}

/** Events as rows, for a statement that writes them beside what they tell of. */
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
