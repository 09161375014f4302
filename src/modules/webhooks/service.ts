import { checkLive } from '#authz/live.ts'
import { writeAudit } from '#authz/audit.ts'
import { type Context, type Engine, implement } from '#infra/context.ts'
import { every } from '#infra/jobs/schedules.ts'
import { checkGivenUrl } from '#infra/outbound/given-url.ts'
import { newWebhookSecret } from '#core/text/standard-webhooks.ts'
import { finder } from '#core/context.ts'
import { refuse } from '#core/errors.ts'
import { type Id, newId } from '#core/ids.ts'
import { cursorOf, pageOf, positionOf, wholeAt } from '#core/paging.ts'
import { hasScope } from '#core/principal.ts'
import { scopes } from '#core/scopes.ts'
import { iso, isoOrNull } from '#core/time.ts'
import { payloadOf } from './consumer.ts'
import { webhooks } from './contract.ts'
import { sendableTypes, firstUnknownPattern } from './matches.ts'
import { type DeliveryRow, deliveryStore } from './delivery-store.ts'
import { type EndpointRow, type FormerSecret, endpointStore } from './store.ts'
import { shorten } from '#core/text/shorten.ts'

export { webhookConsumer } from './consumer.ts'
export { disableWebhooksOf } from './responsible.ts'
export { startSender } from './sender.ts'
export { webhookSecrets } from './store.ts'

const MAX_ENDPOINTS = 50

const endpointFinder = finder('webhook_endpoint', async (ctx: Context, id) => {
  const row = await endpointStore.get(ctx.db, id)
  return row && { id, workspace_id: row.workspace_id, updated_at: row.updated_at, row }
})

export const webhookService = implement(
  webhooks,
  {
    event_types(ctx, { cursor, limit }) {
      const list = sendableTypes(ctx.engine.events)
      const from = wholeAt(positionOf('event_types', null, cursor), 0) ?? 0
      const rows = list.slice(from, from + limit + 1).map((row, i) => ({ ...row, place: from + i }))
      return pageOf(
        rows,
        limit,
        ({ place }) => cursorOf('event_types', null, [place + 1]),
        ({ type, summary, scope }) => ({ type, description: summary, scope }),
      )
    },

    async list(ctx, { cursor, limit }) {
      const { id } = ctx.workspace!
      const before = positionOf('webhook_endpoints', id, cursor)
      const rows = await endpointStore.list(ctx.db, id, (before?.[0] as Id) ?? null, limit + 1)
      return pageOf(
        rows,
        limit,
        (row) => cursorOf('webhook_endpoints', id, [row.id]),
        (row) => show(row),
      )
    },

    create(ctx, { name, url, events }) {
      checkEvents(ctx, events)
      checkGivenUrl(ctx.engine.config, url)
      const workspaceId = ctx.workspace!.id
      const secret = newWebhookSecret()
      const id = newId()
      return ctx.transaction(async (ctx) => {
        if ((await endpointStore.count(ctx.db, workspaceId)) >= MAX_ENDPOINTS)
          refuse('limit_reached', {
            message: `A workspace can have up to ${MAX_ENDPOINTS} webhook endpoints.`,
            details: { limit: MAX_ENDPOINTS },
          })
        const row = await endpointStore.insert(ctx.db, {
          id,
          workspace_id: workspaceId,
          name,
          url,
          events: [...new Set(events)],
          scopes: readableScopes(ctx),
          secret: ctx.engine.secrets.seal(secret, id),
          created_by: ctx.principal.accountId,
          account_id: ctx.principal.accountId,
        })
        await emitEndpointEvent(ctx, 'created', row)
        return show(row, secret)
      })
    },

    get: (ctx) => show(endpointFinder.of(ctx).row),

    update(ctx, { id, name, url, events, status }) {
      if (events) checkEvents(ctx, events)
      if (url !== undefined) checkGivenUrl(ctx.engine.config, url)
      return ctx.transaction(async (ctx) => {
        await checkLive(ctx)
        const { row: current } = endpointFinder.of(ctx)
        const turned = status !== undefined && status !== current.status
        const row = await endpointStore.update(
          ctx.db,
          id,
          {
            ...(name !== undefined && { name }),
            ...(url !== undefined && { url }),
            ...(events && { events: [...new Set(events)] }),
            // A caller who changes events or URL, or enables the endpoint, becomes responsible for it with their
            // permissions.
            ...((events ?? url ?? (turned && status === 'enabled' ? status : undefined)) !== undefined && {
              scopes: readableScopes(ctx),
              account_id: ctx.principal.accountId,
            }),
            ...(turned && {
              status,
              disabled_reason: status === 'disabled' ? ('manual' as const) : null,
              disabled_at: status === 'disabled' ? ctx.now() : null,
              failing_since: null,
            }),
          },
          ctx.unchangedSince,
        )
        if (!row) return refuse(ctx.unchangedSince ? 'precondition_failed' : 'not_found', { param: 'id' })
        if (turned && status === 'disabled') await deliveryStore.cancelWaiting(ctx.db, id)
        await emitEndpointEvent(ctx, 'updated', row)
        return show(row)
      })
    },

    async delete(ctx, { id }) {
      await ctx.transaction(async (ctx) => {
        await endpointStore.delete(ctx.db, id)
        await emitEndpointEvent(ctx, 'deleted', endpointFinder.of(ctx).row)
      })
      return { id }
    },

    rotate_secret(ctx, { id, overlap_seconds }) {
      const secret = newWebhookSecret()
      return ctx.transaction(async (ctx) => {
        const current = (await endpointStore.lock(ctx.db, id)) ?? refuse('not_found', { param: 'id' })
        const ends = new Date(ctx.now().getTime() + overlap_seconds * 1000)
        const formerSecrets = overlap_seconds === 0 ? [] : retireSecrets(ctx, current, ends)
        await endpointStore.retire(ctx.db, id, formerSecrets)
        const activeSecrets = await endpointStore.formerSecrets(ctx.db, id, ctx.now())
        const row = await endpointStore.update(ctx.db, id, {
          secret: ctx.engine.secrets.seal(secret, id),
          previous_secret: null,
          previous_expires_at:
            activeSecrets.length === 0
              ? null
              : new Date(Math.max(...activeSecrets.map((one) => one.expires_at.getTime()))),
        })
        if (!row) return refuse('not_found', { param: 'id' })
        await emitEndpointEvent(ctx, 'updated', row)
        return show(row, secret)
      })
    },

    test(ctx, { id }) {
      const { row } = endpointFinder.of(ctx)
      checkEnabled(row)
      const messageId = newId()
      const at = iso(ctx.now())
      const event = { id: messageId, type: 'webhook.test', at, resource_type: 'webhook_endpoint', resource_id: id }
      return send(ctx, {
        endpoint_id: id,
        message_id: messageId,
        event_type: event.type,
        payload: payloadOf({ ...event, data: { id, name: row.name } }, row.workspace_id),
        redelivery_of: null,
      })
    },

    async deliveries(ctx, { id, status, event_type, cursor, limit }) {
      const filters = { endpointId: id, status, eventType: event_type }
      const before = positionOf('webhook_deliveries', filters, cursor)
      const rows = await deliveryStore.list(ctx.db, filters, (before?.[0] as Id) ?? null, limit + 1)
      return pageOf(rows, limit, (row) => cursorOf('webhook_deliveries', filters, [row.id]), showDelivery)
    },

    delivery: async (ctx, { id, delivery_id }) => showDelivery(await deliveryOf(ctx, id, delivery_id)),

    async redeliver(ctx, { id, delivery_id }) {
      checkEnabled(endpointFinder.of(ctx).row)
      const { message_id, event_type, payload, id: redelivery_of } = await deliveryOf(ctx, id, delivery_id)
      return send(ctx, { endpoint_id: id, message_id, event_type, payload, redelivery_of })
    },
  },
  [endpointFinder],
)

async function send(
  ctx: Context,
  row: Pick<DeliveryRow, 'endpoint_id' | 'message_id' | 'event_type' | 'payload' | 'redelivery_of'>,
) {
  const newDelivery =
    (await deliveryStore.insert(ctx.db, { id: newId(), ...row })) ?? refuse('not_found', { param: 'id' })
  ctx.engine.bus.poke('webhooks')
  return showDelivery(newDelivery)
}

const deliveryOf = async (ctx: Context, endpointId: Id, id: Id): Promise<DeliveryRow> =>
  (await deliveryStore.get(ctx.db, endpointId, id)) ?? refuse('not_found', { param: 'delivery_id' })

/** The caller's read scopes, which limit the events sent; null: all. */
function readableScopes({ principal, workspace }: Context): string[] | null {
  const permissions = workspace!.membership.permissions
  if (principal.credential.kind === 'session' && permissions === null) return null
  return scopes.filter((scope) => hasScope(principal, scope) && (permissions?.has(scope) ?? true))
}

function checkEvents({ engine }: Context, events: readonly string[]): void {
  const wrong = firstUnknownPattern(events, engine.events)
  if (wrong !== null)
    refuse('invalid_parameter', {
      param: 'events',
      message: `The event ${shorten(wrong, 64)} doesn’t exist. \`GET /v1/webhook-endpoints/event-types\` lists all events.`,
    })
}

function checkEnabled({ status }: EndpointRow): void {
  if (status === 'disabled')
    refuse('invalid_state', {
      message: 'The endpoint is disabled. Enable it first.',
      details: { status, allowed: ['enabled'] },
    })
}

/** The rotated secret, and one from before the secrets table, each with its own expiry. */
function retireSecrets({ engine: { secrets }, now }: Context, current: EndpointRow, ends: Date): FormerSecret[] {
  const { id: endpoint_id, secret, previous_secret, previous_expires_at } = current
  const retire = (sealed: string, expires_at: Date): FormerSecret => {
    const id = newId()
    return { id, endpoint_id, sealed_secret: secrets.seal(secrets.open(sealed, endpoint_id), id), expires_at }
  }
  const older = previous_secret !== null && previous_expires_at !== null && previous_expires_at > now()
  return [...(older ? [retire(previous_secret, previous_expires_at)] : []), retire(secret, ends)]
}

async function emitEndpointEvent(
  ctx: Context,
  verb: 'created' | 'updated' | 'deleted',
  row: EndpointRow,
): Promise<void> {
  const { id, workspace_id, name, status } = row
  await writeAudit(ctx, {
    action: `webhook_endpoint.${verb}`,
    workspaceId: workspace_id,
    subject: { type: 'webhook_endpoint', id },
    details: { name, origin: new URL(row.url).origin, events: row.events, status },
  })
  await ctx.emit({
    type: `webhook_endpoint.${verb}`,
    channels: [`workspace:${workspace_id}`],
    resource: { type: 'webhook_endpoint', id },
    data: { id, workspace_id, name, status },
  })
}

const show = (row: EndpointRow, secret: string | null = null) => ({
  id: row.id,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
  workspace_id: row.workspace_id,
  name: row.name,
  url: row.url,
  events: row.events,
  status: row.status,
  disabled_reason: row.disabled_reason,
  disabled_at: isoOrNull(row.disabled_at),
  failing_since: isoOrNull(row.failing_since),
  last_success_at: isoOrNull(row.last_success_at),
  secret_rotation_ends_at: isoOrNull(row.previous_expires_at),
  created_by: row.created_by,
  secret,
})

const showDelivery = (row: DeliveryRow) => ({
  id: row.id,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
  endpoint_id: row.endpoint_id,
  message_id: row.message_id,
  event_type: row.event_type,
  status: row.status,
  attempts: row.attempts,
  next_attempt_at: isoOrNull(row.due_at),
  completed_at: isoOrNull(row.completed_at),
  redelivery_of: row.redelivery_of,
  payload: row.payload,
})

export const webhookSchedules = (engine: Engine) => [
  every('webhooks.retain', 86_400, () => deliveryStore.retain(engine.postgres.db)),
]
