import { newId } from '#kernel/ids.ts'
import type { Emitted } from './context.ts'
import type { Db } from './postgres/client.ts'

declare module './postgres/tables.ts' {
  interface Database {
    outbox: OutboxTable
  }
}
interface OutboxTable {
  id: string
  type: string
  channels: string[]
  resource_type: string | null
  resource_id: string | null
  actor: string | null
  data: string
}

/** Writes an event into the transaction of the change that it tells of. The relay takes it from there. */
export const writeOutbox = (db: Db, event: Emitted, actor: object | null): Promise<void> =>
  writeOutboxAll(db, [event], actor)

/** The same for many, in their order. A statement takes some 9,000 of them. */
export async function writeOutboxAll(db: Db, events: readonly Emitted[], actor: object | null): Promise<void> {
  if (events.length === 0) return
  await db
    .insertInto('outbox')
    .values(
      events.map(({ type, channels, resource, data }) => ({
        id: newId(),
        type,
        channels,
        resource_type: resource?.type ?? null,
        resource_id: resource?.id ?? null,
        actor: actor && JSON.stringify(actor),
        data: JSON.stringify(data),
      })),
    )
    .execute()
}
