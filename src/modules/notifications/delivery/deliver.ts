import { personOf } from '#modules/accounts/service.ts'
import type { Engine } from '#infra/context.ts'
import type { JobHandler } from '#infra/jobs/jobs.ts'
import { type Schedule, every } from '#infra/jobs/schedules.ts'
import { sendMail } from '#infra/mail/mail.ts'
import type { Db } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import { watchCaps } from '../caps.ts'
import { type DeliveryRow, deliveryStore } from './delivery-store.ts'
import { notificationMail } from './mail.ts'
import { type HasPushKeys, push } from './push.ts'
import { openSubscription, pushStore } from './push-store.ts'
import { type NotificationRow, notificationStore } from '../store.ts'
import { preferences } from '../preferences/preference-store.ts'

const MAX_BROWSERS = 20

/** Pushes queued while others for the account are being sent are handled by one job at the end of this interval. */
const TURN_MS = 2_000

export function notificationJobs(engine: Engine<HasPushKeys>): Record<string, JobHandler> {
  /** Accounts being pushed to, and whether more was queued meanwhile. */
  const pushing = new Map<Id, { more: boolean }>()
  return {
    async 'notifications.deliver'({ account_id }: { account_id: Id }, { lastAttempt }: { lastAttempt: boolean }) {
      await mailDue(engine, account_id)
      const before = pushing.get(account_id)
      if (before !== undefined) {
        // A push service may be slow, so each account uses one job slot. If this process dies, another continues.
        before.more = true
        const turn = new Date((Math.floor(Date.now() / TURN_MS) + 1) * TURN_MS)
        return await wakeDelivery(engine, engine.postgres.db, account_id, turn)
      }
      const mine = { more: true }
      pushing.set(account_id, mine)
      try {
        while (mine.more) {
          mine.more = false
          await pushDue(engine, account_id, lastAttempt)
        }
      } finally {
        pushing.delete(account_id)
      }
    },
  }
}

export const notificationSchedules = (engine: Engine): Schedule[] => [
  every('notifications.retain', 86_400, () => notificationStore.retain(engine.postgres.db)),
  every('push_subscriptions.retain', 3_600, () => pushStore.retain(engine.postgres.db)),
  every('notifications.late', 3_600, async () => {
    for (const id of await deliveryStore.late(engine.postgres.db))
      await wakeDelivery(engine, engine.postgres.db, id, new Date())
  }),
  every('notifications.caps', 30, () => watchCaps(engine)),
]

export const wakeDelivery = (engine: Engine, db: Db, accountId: Id, due: Date): Promise<void> =>
  engine.jobs.add(
    { db },
    'notifications.deliver',
    { account_id: accountId },
    { runAt: due, key: `notifications:${accountId}:${due.getTime()}` },
  )

/** Sends all due notifications of an account in one email, queued in the same transaction, so none is sent twice. */
async function mailDue(engine: Engine, accountId: Id): Promise<void> {
  await engine.postgres.db.transaction().execute(async (db) => {
    const due = await deliveryStore.due(db, accountId, 'email')
    if (due.length === 0) return
    const person = await personOf(db, accountId)
    if (!person?.mailable) return deliveryStore.close(db, idsOf(due), 'skipped', 'The email address isn’t verified.')
    const rows = await wanted(db, accountId, due)
    const ids = new Set(rows.map(({ id }) => id))
    const goes = Map.groupBy(due, ({ notification_id }) => ids.has(notification_id))
    await deliveryStore.close(db, idsOf(goes.get(false) ?? []), 'skipped')
    if (rows.length === 0) return
    await sendMail({ engine, db }, notificationMail(person.email, rows, { origin: engine.origin() }))
    await deliveryStore.close(db, idsOf(goes.get(true)!), 'sent')
  })
}

/** Skips notifications that were read, deleted or switched off meanwhile. */
async function wanted(db: Db, accountId: Id, due: readonly DeliveryRow[]): Promise<NotificationRow[]> {
  const rows = await notificationStore.byIds(
    db,
    due.map(({ notification_id }) => notification_id),
  )
  const kept = await preferences.kept(db, accountId)
  const channel = due[0]?.channel
  const off = new Set(kept.filter((each) => each.channel === channel && !each.enabled).map(({ type }) => type))
  return rows.filter(({ status, type }) => status === 'unread' && !off.has(type))
}

/** Pushes once to every browser. If a process dies meanwhile, the repeated push replaces the first. */
async function pushDue(engine: Engine<HasPushKeys>, accountId: Id, lastAttempt: boolean): Promise<void> {
  const { db } = engine.postgres
  const due = await deliveryStore.claim(db, { accountId, channel: 'push', processId: engine.processId })
  if (due.length === 0) return
  try {
    await pushAll(engine, accountId, due, lastAttempt)
  } finally {
    await deliveryStore.release(db, idsOf(due))
  }
}

async function pushAll(
  engine: Engine<HasPushKeys>,
  accountId: Id,
  due: readonly DeliveryRow[],
  lastAttempt: boolean,
): Promise<void> {
  const { db } = engine.postgres
  const browsers = (await pushStore.list(db, accountId, null, MAX_BROWSERS)).map((row) =>
    openSubscription(engine.secrets, row),
  )
  const rows = new Map((await wanted(db, accountId, due)).map((row) => [row.id, row]))
  let again: unknown = null
  for (const delivery of due) {
    const row = rows.get(delivery.notification_id)
    if (row === undefined || browsers.length === 0) {
      await deliveryStore.close(db, [delivery.id], 'skipped', row && 'No browser is registered for push notifications.')
      continue
    }
    const outcomes = await Promise.all(
      browsers.map(async (browser) => {
        try {
          const outcome = await push(engine, browser, row)
          if (outcome === 'gone') await pushStore.delete(db, browser.id)
          if (outcome === 'sent') await pushStore.succeeded(db, browser.id)
          return outcome
        } catch (error) {
          return { failed: error }
        }
      }),
    )
    const failed = outcomes.find((outcome) => typeof outcome === 'object' && 'failed' in outcome)
    const refused = outcomes.find((outcome) => typeof outcome === 'object' && 'refused' in outcome)
    if (outcomes.includes('sent')) await deliveryStore.close(db, [delivery.id], 'sent')
    else if (failed && !lastAttempt) again = failed.failed
    else if (failed)
      await deliveryStore.close(db, [delivery.id], 'failed', 'The push service rejected the notification.')
    else if (refused) await deliveryStore.close(db, [delivery.id], 'failed', refused.refused)
    else await deliveryStore.close(db, [delivery.id], 'skipped', 'No browser is registered for push notifications.')
  }
  if (again !== null) throw again
}

const idsOf = (due: readonly DeliveryRow[]): Id[] => due.map(({ id }) => id)
