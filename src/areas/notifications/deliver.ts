import { personOf } from '#areas/accounts/service.ts'
import type { Engine } from '#engine/context.ts'
import { type JobHandler, type Schedule, every } from '#engine/jobs.ts'
import { sendMail } from '#engine/mail.ts'
import type { Id } from '#kernel/ids.ts'
import { watchCaps } from './caps.ts'
import { type DeliveryRow, deliveryStore } from './deliveries.ts'
import { notificationMail } from './mails.ts'
import { wakeDelivery } from './notify.ts'
import { push } from './push.ts'
import { openSubscription, pushStore } from './push-store.ts'
import { type NotificationRow, notificationStore } from './store.ts'

const MOST_BROWSERS = 20

export const notificationJobs = (engine: Engine): Record<string, JobHandler> => ({
  async 'notifications.deliver'({ account_id }: { account_id: Id }, { lastAttempt }: { lastAttempt: boolean }) {
    await mailDue(engine, account_id)
    await pushDue(engine, account_id, lastAttempt)
  },
})

export const notificationSchedules = (engine: Engine): Schedule[] => [
  every('notifications.retain', 86_400, () => notificationStore.retain(engine.postgres.db)),
  every('notifications.late', 3_600, async () => {
    for (const id of await deliveryStore.late(engine.postgres.db))
      await wakeDelivery(engine, engine.postgres.db, id, new Date())
  }),
  every('notifications.caps', 30, () => watchCaps(engine)),
]

/** Everything that is due to somebody goes in one mail, taken by the mail queue in the same transaction: never twice. */
async function mailDue(engine: Engine, accountId: Id): Promise<void> {
  await engine.postgres.db.transaction().execute(async (db) => {
    const due = await deliveryStore.due(db, accountId, 'email')
    if (due.length === 0) return
    const person = await personOf(db, accountId)
    const rows = await wanted(db, due)
    if (!person?.mailable || rows.length === 0)
      return deliveryStore.close(db, idsOf(due), 'skipped', person?.mailable ? null : 'The address is not verified.')
    await sendMail({ engine, db }, notificationMail(person.email, rows, { origin: engine.origin() }))
    await deliveryStore.close(db, idsOf(due), 'sent')
  })
}

/** What was read or deleted before it went out is old news. */
async function wanted(
  db: Parameters<typeof notificationStore.byIds>[0],
  due: readonly DeliveryRow[],
): Promise<NotificationRow[]> {
  const rows = await notificationStore.byIds(
    db,
    due.map(({ notification_id }) => notification_id),
  )
  return rows.filter(({ status }) => status === 'unread')
}

/** At least once to every browser: a push that is repeated replaces itself. */
async function pushDue(engine: Engine, accountId: Id, lastAttempt: boolean): Promise<void> {
  const { db } = engine.postgres
  const due = await db.transaction().execute((tx) => deliveryStore.due(tx, accountId, 'push'))
  if (due.length === 0) return
  const browsers = (await pushStore.list(db, accountId, null, MOST_BROWSERS)).map((row) =>
    openSubscription(engine.secrets, row),
  )
  const rows = new Map((await wanted(db, due)).map((row) => [row.id, row]))
  let again: unknown = null
  for (const delivery of due) {
    const row = rows.get(delivery.notification_id)
    if (row === undefined || browsers.length === 0) {
      await deliveryStore.close(db, [delivery.id], 'skipped', row && 'No browser takes your pushes.')
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
    else if (failed) await deliveryStore.close(db, [delivery.id], 'failed', 'The push service did not take it.')
    else if (refused) await deliveryStore.close(db, [delivery.id], 'failed', refused.refused)
    else await deliveryStore.close(db, [delivery.id], 'skipped', 'No browser takes your pushes.')
  }
  if (again !== null) throw again
}

const idsOf = (due: readonly DeliveryRow[]): Id[] => due.map(({ id }) => id)
