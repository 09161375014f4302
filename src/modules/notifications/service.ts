import { callersAccount } from '#modules/accounts/service.ts'
import { checkLive } from '#authz/live.ts'
import { checkMet } from '#authz/members.ts'
import type { Context } from '#infra/context.ts'
import { finder } from '#core/context.ts'
import { refuse } from '#core/errors.ts'
import { implementWith } from '#core/implement.ts'
import { type Id, newId } from '#core/ids.ts'
import { cursorOf, pageOf, positionOf } from '#core/paging.ts'
import { type Membership, behalfOf, membershipIn } from '#core/principal.ts'
import { iso, isTimeZone, isoOrNull } from '#core/time.ts'
import { confirm, sendConfirmation } from './confirm-address.ts'
import { notifications } from './contract.ts'
import { deliveryStore } from './delivery/delivery-store.ts'
import { notify, tell } from './notify.ts'
import { type HasPushKeys, isPushKey } from './delivery/push.ts'
import { type PushRow, pushStore } from './delivery/push-store.ts'
import { isQuiet } from './preferences/quiet.ts'
import { showNotification } from './show.ts'
import { type NotificationRow, notificationStore } from './store.ts'
import { isReserved, typeOf, types } from './preferences/types.ts'
import { configs, preferences } from './preferences/preference-store.ts'

export { notificationJobs, notificationSchedules } from './delivery/deliver.ts'
export { type HasPushKeys, createPushKeys, resealPushKey } from './delivery/push.ts'
export { pushSecrets } from './delivery/push-store.ts'
export { notificationConsumer } from './consumer.ts'

const MAX_PREFERENCES = 1_000
const MAX_BROWSERS = 20

/** A key restricted to one workspace sees only that workspace's notifications, and none after its owner has left it. */
function heldTo({ principal }: Context): Id | null {
  const { credential } = principal
  if (credential.kind === 'session' || credential.workspaceId === null) return null
  if (membershipIn(principal, credential.workspaceId) === null)
    refuse('not_found', { message: 'The key’s workspace was deleted, or its owner is no longer a member.' })
  return credential.workspaceId
}

const found = finder('notification', async (ctx: Context, id) => {
  const held = heldTo(ctx)
  const row = await notificationStore.find(ctx.db, id, ctx.principal.accountId, held)
  // Its source workspace decides which keys may read it, but it belongs to the account.
  return row && { ...row, workspace_id: held, place: whole, row }
})
const whole: Membership = { role: 'owner', permissions: null, status: 'active' }

const subscription = finder('push_subscription', async (ctx: Context, id) => {
  const row = await pushStore.find(ctx.db, id, ctx.principal.accountId)
  return row && { ...row, workspace_id: null }
})

export const notificationService = implementWith<Context<HasPushKeys>>()(
  notifications,
  {
    async list(ctx, { status, type, severity, workspace_id, since, cursor, limit }) {
      const of = {
        accountId: ctx.principal.accountId,
        heldTo: heldTo(ctx),
        status,
        type,
        severity,
        workspaceId: workspace_id,
        since,
      }
      const before = positionOf('notifications', of, cursor)
      const rows = await notificationStore.list(ctx.db, of, (before?.[0] as Id) ?? null, limit + 1)
      const deliveries = Map.groupBy(
        await deliveryStore.of(
          ctx.db,
          rows.map(({ id }) => id),
        ),
        (each) => each.notification_id,
      )
      return pageOf(
        rows,
        limit,
        ({ id }) => cursorOf('notifications', of, [id]),
        (row) => showNotification(row, deliveries.get(row.id) ?? []),
      )
    },

    get: (ctx) => show(ctx, found.of(ctx).row),

    async send(ctx, { user_id, type, title, body, severity, resource, action_url }) {
      const { accountId, personalWorkspaceId } = ctx.principal
      if (isReserved(type))
        refuse('invalid_parameter', {
          param: 'type',
          message: `\`type\` ${type} is reserved for the server. Use \`message\` or your own type, such as \`build.failed\`.`,
        })
      const to = user_id ?? accountId
      await checkMet(ctx, to, 'user_id')
      const held = heldTo(ctx)
      const notified = await ctx.transaction(async (ctx) => {
        ctx.afterCommit(() => ctx.engine.bus.poke('outbox'))
        return notify(ctx.engine, ctx.db, {
          to,
          type,
          title,
          body,
          severity: severity ?? typeOf(type).severity,
          resource,
          actionUrl: action_url,
          workspaceId: held === personalWorkspaceId && to !== accountId ? null : held,
          senderId: accountId,
          toldOf: null,
        })
      })
      const { row, deliveries } = notified ?? refuse('not_found', { param: 'user_id' })
      // The recipient's channels are visible only to the recipient.
      return showNotification(row, to === accountId ? deliveries : [])
    },

    async update(ctx, { id, status }) {
      const changed = await ctx.transaction(async (ctx) => {
        const row = await notificationStore.mark(ctx.db, id, status, ctx.unchangedSince)
        if (row) await tell(ctx.db, row, 'updated', { status: row.status, read_at: isoOrNull(row.read_at) })
        if (row) ctx.afterCommit(() => ctx.engine.bus.poke('outbox'))
        return row
      })
      if (changed) return show(ctx, changed)
      const { accountId } = ctx.principal
      const row =
        (await notificationStore.find(ctx.db, id, accountId, heldTo(ctx))) ?? refuse('not_found', { param: 'id' })
      if (row.status !== status) refuse('precondition_failed')
      return show(ctx, row)
    },

    async delete(ctx, { id }) {
      await ctx.transaction(async (ctx) => {
        if (!(await notificationStore.delete(ctx.db, id))) return
        await tell(ctx.db, { id, account_id: ctx.principal.accountId }, 'deleted', {})
        ctx.afterCommit(() => ctx.engine.bus.poke('outbox'))
      })
      return { id }
    },

    async read_all(ctx, { type, workspace_id, before }) {
      const { accountId } = ctx.principal
      const read_count = await ctx.transaction(async (ctx) => {
        const of = { accountId, heldTo: heldTo(ctx), type, workspaceId: workspace_id }
        const count = await notificationStore.readAll(ctx.db, of, before)
        if (count > 0)
          await ctx.emit({
            type: 'notification.all_read',
            channels: [`user:${accountId}`],
            resource: { type: 'account', id: accountId },
            data: { type: type ?? null, workspace_id: workspace_id ?? heldTo(ctx), before: before ?? iso(ctx.now()) },
          })
        return count
      })
      return { id: accountId, created_at: iso(ctx.now()), read_count }
    },

    preferences: (ctx) => showPreferences(ctx),
    async update_preferences(ctx, { preferences: changes }) {
      const wrong = changes.findIndex(
        ({ channel, digest }) => channel !== 'email' && digest !== undefined && digest !== 'none',
      )
      if (wrong >= 0)
        refuse('invalid_parameter', { param: `preferences.${wrong}.digest`, message: 'Only email supports `digest`.' })
      await ctx.transaction(async (ctx) => {
        for (const change of changes) await preferences.set(ctx.db, ctx.principal.accountId, change)
        if ((await preferences.count(ctx.db, ctx.principal.accountId)) > MAX_PREFERENCES)
          refuse('limit_reached', {
            message: `You can have up to ${MAX_PREFERENCES} preferences.`,
            details: { limit: MAX_PREFERENCES },
          })
      })
      return showPreferences(ctx)
    },

    config: (ctx) => showConfig(ctx),
    async update_config(ctx, changes) {
      const zone = changes.quiet_hours?.time_zone
      if (zone && !isTimeZone(zone))
        refuse('invalid_time_zone', {
          param: 'quiet_hours.time_zone',
          message: `\`${zone}\` isn’t an IANA time zone, such as Europe/Berlin.`,
        })
      const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined))
      await configs.set(ctx.db, ctx.principal.accountId, given)
      return showConfig(ctx)
    },

    request_email: async (ctx) => ({ ...(await sendConfirmation(ctx)), created_at: iso(ctx.now()) }),
    confirm_email: async (ctx, { token }) => ({ ...(await confirm(ctx, token)), created_at: iso(ctx.now()) }),

    async push_key(ctx) {
      const { publicKey } = await ctx.engine.pushKeys()
      const { id, created_at } = await callersAccount(ctx)
      return { id, created_at: iso(created_at), public_key: publicKey }
    },
    async push_subscriptions(ctx, { cursor, limit }) {
      const { accountId } = ctx.principal
      const before = positionOf('push_subscriptions', accountId, cursor)
      const rows = await pushStore.list(ctx.db, accountId, (before?.[0] as Id) ?? null, limit + 1)
      return pageOf(
        rows,
        limit,
        ({ id }) => cursorOf('push_subscriptions', accountId, [id]),
        (row) => showPush(ctx, row),
      )
    },
    async push_subscribe(ctx, { endpoint, keys }) {
      const { accountId } = ctx.principal
      if (endpoint.startsWith('http:') && ctx.engine.config.fetchAllow.length === 0)
        refuse('invalid_parameter', {
          param: 'endpoint',
          message: 'The endpoint of a push service must start with https://.',
        })
      if (!isPushKey(keys.p256dh))
        refuse('invalid_parameter', {
          param: 'keys.p256dh',
          message: 'The key isn’t a valid P-256 point.',
        })
      return ctx.transaction(async (ctx) => {
        await checkLive(ctx)
        const row = await pushStore.save(ctx.db, ctx.engine.secrets, {
          id: newId(),
          accountId,
          endpoint,
          keys,
          userAgent: ctx.caller.userAgent,
          sessionId: ctx.principal.credential.kind === 'session' ? ctx.principal.credential.id : null,
          keyId: behalfOf(ctx.principal).key_id,
        })
        if ((await pushStore.list(ctx.db, accountId, null, MAX_BROWSERS + 1)).length > MAX_BROWSERS)
          refuse('limit_reached', {
            message: `You can register up to ${MAX_BROWSERS} browsers for push notifications. Remove one first.`,
            details: { limit: MAX_BROWSERS },
          })
        return showPush(ctx, row)
      })
    },
    async push_unsubscribe(ctx, { id }) {
      await pushStore.delete(ctx.db, id)
      return { id }
    },
  },
  [found, subscription],
)

const show = async (ctx: Context, row: NotificationRow) =>
  showNotification(row, await deliveryStore.of(ctx.db, [row.id]))

async function showPreferences(ctx: Context) {
  const account = await callersAccount(ctx)
  const kept = await preferences.kept(ctx.db, account.id)
  const changedAt = kept.map(({ updated_at }) => updated_at).reduce(later, account.created_at)
  const summaries: Readonly<Record<string, { summary: string }>> = types
  return {
    id: account.id,
    created_at: iso(account.created_at),
    updated_at: iso(changedAt),
    preferences: preferences.all(kept).map((each) => ({ ...each, description: summaries[each.type]?.summary ?? null })),
  }
}
const later = (a: Date, b: Date): Date => (a > b ? a : b)

async function showConfig(ctx: Context) {
  const account = await callersAccount(ctx)
  const row = await configs.get(ctx.db, account.id)
  const { time_zone } = account.settings as { time_zone?: string | null }
  return {
    id: account.id,
    created_at: iso(account.created_at),
    updated_at: iso(row?.updated_at ?? account.created_at),
    toasts: row?.toasts ?? true,
    sound: row?.sound ?? true,
    quiet_hours: row?.quiet_hours ?? null,
    quiet_now: isQuiet(row?.quiet_hours ?? null, time_zone ?? 'UTC', ctx.now()),
    digest_at: row?.digest_at ?? '08:00',
    unread_count: await notificationStore.unread(ctx.db, account.id, heldTo(ctx)),
  }
}

const showPush = ({ engine: { secrets } }: Context, row: PushRow) => ({
  id: row.id,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
  user_agent: row.user_agent,
  endpoint_origin: new URL(secrets.open(row.endpoint, row.id)).origin,
  last_success_at: isoOrNull(row.last_success_at),
})
