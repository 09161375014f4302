import type { Engine } from '#infra/context.ts'
import type { Consumer, DeliveredEvent } from '#infra/outbox/deliveries.ts'
import { type Id, newId } from '#core/ids.ts'
import { isScope } from '#core/scopes.ts'
import { matches } from './matches.ts'
import { placeOfResponsible } from './responsible.ts'
import { deliveryStore } from './delivery-store.ts'
import { endpointStore } from './store.ts'

export const webhookConsumer = (engine: Engine): Consumer => ({
  name: 'webhooks',
  async sift(db) {
    const activeChannels = await endpointStore.channelsWithEndpoints(db)
    return ({ channels }) => activeChannels.size > 0 && channels.some((channel) => activeChannels.has(channel))
  },
  async handle(event) {
    const { db } = engine.postgres
    const workspaces = event.channels
      .filter((channel) => channel.startsWith('workspace:'))
      .map((channel) => channel.slice(10))
    const scope = engine.events.scopeOf(event.type, event.resource_type)
    let hasDeliveries = false
    for (const endpoint of await endpointStore.enabledIn(db, workspaces)) {
      if (!matches(endpoint.events, event.type)) continue
      if (scope !== null && endpoint.scopes !== null && !endpoint.scopes.includes(scope)) continue
      const place = await placeOfResponsible(engine, endpoint)
      if (place === null || (scope !== null && isScope(scope) && place.permissions?.has(scope) === false)) continue
      const row = {
        id: newId(),
        endpoint_id: endpoint.id,
        message_id: event.id,
        event_type: event.type,
        payload: payloadOf(event, endpoint.workspace_id),
        redelivery_of: null,
      }
      if (await deliveryStore.insert(db, row)) hasDeliveries = true
    }
    if (hasDeliveries) engine.bus.poke('webhooks')
  },
})

export const payloadOf = (
  event: Pick<DeliveredEvent, 'id' | 'type' | 'at' | 'data' | 'resource_type' | 'resource_id'>,
  workspaceId: Id,
): string =>
  JSON.stringify({
    type: event.type,
    timestamp: new Date(event.at).toISOString(),
    id: event.id,
    workspace_id: workspaceId,
    resource:
      event.resource_type !== null && event.resource_id !== null
        ? { type: event.resource_type, id: event.resource_id }
        : null,
    data: event.data,
  })
