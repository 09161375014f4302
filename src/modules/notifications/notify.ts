import { type Person, personOf } from '#modules/accounts/service.ts'
import type { Engine } from '#infra/context.ts'
import { canMail } from '#infra/mail/mail.ts'
import { writeOutbox } from '#infra/outbox/outbox.ts'
import type { Db } from '#infra/postgres/client.ts'
import { type Id, newId } from '#core/ids.ts'
import { type DeliveryRow, deliveryStore } from './delivery/delivery-store.ts'
import { wakeDelivery } from './delivery/deliver.ts'
import { pushStore } from './delivery/push-store.ts'
import { dueAt, isQuiet } from './preferences/quiet.ts'
import { showNotification } from './show.ts'
import { type NotificationRow, notificationStore } from './store.ts'
import { type KnownType, type Severity, typeOf } from './preferences/types.ts'
import { configs, preferences } from './preferences/preference-store.ts'
import { shorten } from '#core/text/shorten.ts'

export interface NewNotification {
  to: Id
  type: KnownType | (string & {})
  title: string
  body?: string | null
  severity?: Severity
  workspaceId?: Id | null
  senderId?: Id | null
  resource?: { type: string; id: string } | null
  actionUrl?: string | null
  /** Such as an event ID. The same value notifies each person once. */
  toldOf: string | null
}

export interface Notified {
  row: NotificationRow
  deliveries: DeliveryRow[]
}

/**
 * Notifies a person through their enabled channels: in the app immediately, by email and push when due. Writes
 * within the transaction of `db`. Null if already notified, disabled on all channels, or the account was deleted.
 */
export async function notify(engine: Engine, db: Db, word: NewNotification, at = new Date()): Promise<Notified | null> {
  const person = await personOf(db, word.to)
  if (!person) return null
  const wanted = await preferences.of(db, word.to, word.type)
  const elsewhere = (['email', 'push'] as const).filter((channel) => wanted[channel].enabled)
  // Messages from people are stored regardless, so the sender can see them.
  if (!wanted.in_app.enabled && elsewhere.length === 0 && !word.senderId) return null
  const row = await notificationStore.insert(db, {
    id: newId(),
    account_id: word.to,
    workspace_id: word.workspaceId ?? null,
    sender_id: word.senderId ?? null,
    type: word.type,
    title: shorten(word.title, 200),
    body: word.body == null ? null : shorten(word.body, 4_000),
    severity: word.severity ?? typeOf(word.type).severity,
    resource_type: word.resource?.type ?? null,
    resource_id: word.resource?.id ?? null,
    action_url: word.actionUrl ?? null,
    in_app: wanted.in_app.enabled,
    told_of: word.toldOf,
  })
  if (row === null) return null
  const config = await configs.get(db, word.to)
  const zone = person.time_zone ?? 'UTC'
  const quietHours = config?.quiet_hours ?? null
  const deliveries: DeliveryRow[] = []
  for (const channel of elsewhere) {
    if (!(await reaches(engine, db, person, channel))) continue
    const digest = channel === 'email' ? wanted.email.digest : 'none'
    const due = dueAt(at, { zone, quietHours, digest, digestAt: config?.digest_at ?? '08:00' })
    deliveries.push(
      await deliveryStore.insert(db, {
        id: newId(),
        notification_id: row.id,
        account_id: word.to,
        channel,
        due_at: due,
      }),
    )
    await wakeDelivery(engine, db, word.to, due)
  }
  if (row.in_app)
    await tell(db, row, 'created', {
      notification: showNotification(row, deliveries),
      silent: isQuiet(quietHours, zone, at) || config?.toasts === false,
    })
  return { row, deliveries }
}

const reaches = async (engine: Engine, db: Db, { id, mailable }: Person, channel: 'email' | 'push'): Promise<boolean> =>
  channel === 'email' ? mailable && canMail(engine) : (await pushStore.list(db, id, null, 1)).length > 0

/** Writes a notification's event. Poke `outbox` after the commit. */
export const tell = (
  db: Db,
  { id, account_id }: Pick<NotificationRow, 'id' | 'account_id'>,
  verb: 'created' | 'updated' | 'deleted',
  data: Record<string, unknown>,
): Promise<void> =>
  writeOutbox(
    db,
    {
      type: `notification.${verb}`,
      channels: [`user:${account_id}`],
      resource: { type: 'notification', id },
      data: { id, ...data },
    },
    null,
  )
