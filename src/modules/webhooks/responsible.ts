import type { Engine } from '#infra/context.ts'
import { writeOutbox } from '#infra/outbox/outbox.ts'
import type { Db } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import type { Span } from '#core/time.ts'
import { atLeast } from '#core/scopes.ts'
import { deliveryStore } from './delivery-store.ts'
import { type DisabledReason, type EndpointRow, type Place, endpointStore } from './store.ts'

/**
 * Returns the responsible person's membership. If they are no longer an admin, disables the endpoint and returns null.
 */
export async function placeOfResponsible(engine: Engine, endpoint: EndpointRow): Promise<Place | null> {
  const place = await endpointStore.placeBehind(engine.postgres.db, endpoint)
  if (place !== null && atLeast(place.role, 'admin')) return place
  await disable(engine, endpoint.id, 'rights_lost')
  return null
}

export async function disable(
  engine: Engine,
  id: Id,
  reason: Exclude<DisabledReason, 'manual' | 'account_recovered'>,
): Promise<void> {
  const row = await engine.postgres.db.transaction().execute(async (db) => {
    const disabled = await endpointStore.disable(db, id, reason)
    if (disabled) {
      await deliveryStore.cancelWaiting(db, id)
      await emitDisabled(db, disabled)
    }
    return disabled
  })
  if (row) engine.bus.poke('outbox')
}

/**
 * Disables endpoints that this account created in the period, because its owner recovered the account. Returns how
 * many.
 */
export async function disableWebhooksOf(db: Db, accountId: Id, period: Span): Promise<number> {
  const ids = await endpointStore.enabledOf(db, accountId, period)
  for (const id of ids) {
    const row = await endpointStore.disable(db, id, 'account_recovered')
    await deliveryStore.cancelWaiting(db, id)
    if (row !== null) await emitDisabled(db, row)
  }
  return ids.length
}

const emitDisabled = (db: Db, row: EndpointRow): Promise<void> =>
  writeOutbox(
    db,
    {
      type: 'webhook_endpoint.disabled',
      channels: [`workspace:${row.workspace_id}`, ...(row.created_by === null ? [] : [`user:${row.created_by}`])],
      resource: { type: 'webhook_endpoint', id: row.id },
      data: { id: row.id, workspace_id: row.workspace_id, name: row.name, reason: row.disabled_reason },
    },
    null,
  )
