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
export async function writeOutbox(
  db: Db,
  { type, channels, resource, data }: Emitted,
  actor: object | null,
): Promise<void> {
  await db
    .insertInto('outbox')
    .values({
      id: newId(),
      type,
      channels,
      resource_type: resource?.type ?? null,
      resource_id: resource?.id ?? null,
      actor: actor && JSON.stringify(actor),
      data: JSON.stringify(data),
    })
    .execute()
}
