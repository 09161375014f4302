import { rightsChanged } from '#authz/rights.ts'
import { writeOutboxAll } from '#infra/outbox/outbox.ts'
import type { Db } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import type { Span } from '#core/time.ts'
import { endpointStore } from '../store.ts'

/** Disables endpoints created while someone else had control of the account. Returns their number. */
export async function disableEndpointsOf(db: Db, accountId: Id, period: Span): Promise<number> {
  const rows = await endpointStore.disableOf(db, accountId, period)
  await rightsChanged(db, [...new Set(rows.map(({ owner_id }) => owner_id))])
  const events = rows.map(({ id, slug, name, workspace_id }) => ({
    type: 'provider_endpoint.updated',
    channels: [workspace_id === null ? `user:${accountId}` : `workspace:${workspace_id}`],
    resource: { type: 'provider_endpoint', id },
    data: { id, slug, name },
  }))
  await writeOutboxAll(db, events, null)
  return rows.length
}
