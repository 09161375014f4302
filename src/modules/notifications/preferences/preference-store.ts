import { type ColumnType, type Generated, type Selectable, sql } from 'kysely'
import { type Db, nextTimeOf } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import type { QuietHours } from './quiet.ts'
import { type Channel, type Digest, channels, typeOf, types } from './types.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    notification_preferences: PreferenceTable
    notification_configs: ConfigTable
  }
}
interface PreferenceTable {
  account_id: Id
  type: string
  channel: Channel
  enabled: boolean
  digest: Generated<Digest>
  updated_at: Generated<Date>
}
export type PreferenceRow = Selectable<PreferenceTable>
interface ConfigTable {
  account_id: Id
  toasts: Generated<boolean>
  sound: Generated<boolean>
  quiet_hours: ColumnType<QuietHours | null, string | null | undefined, string | null>
  digest_at: Generated<string>
  updated_at: Generated<Date>
}
export type ConfigRow = Selectable<ConfigTable>

export type Preference = Pick<PreferenceRow, 'type' | 'channel' | 'enabled' | 'digest'>

const byDefault = (type: string, channel: Channel): Preference => ({
  type,
  channel,
  enabled: typeOf(type).on.includes(channel),
  digest: 'none',
})

export const preferences = {
  kept: (db: Db, accountId: Id): Promise<PreferenceRow[]> =>
    db.selectFrom('notification_preferences').selectAll().where('account_id', '=', accountId).orderBy('type').execute(),

  of: async (db: Db, accountId: Id, type: string): Promise<Record<Channel, Preference>> => {
    const rows = await db
      .selectFrom('notification_preferences')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('type', '=', type)
      .execute()
    const on = (channel: Channel) => rows.find((row) => row.channel === channel) ?? byDefault(type, channel)
    return { in_app: on('in_app'), email: on('email'), push: on('push') }
  },

  all(kept: readonly PreferenceRow[]): Preference[] {
    const names = [...new Set([...Object.keys(types), ...kept.map(({ type }) => type)])]
    return names.flatMap((type) =>
      channels.map((channel) => {
        const row = kept.find((each) => each.type === type && each.channel === channel)
        return row ? { type, channel, enabled: row.enabled, digest: row.digest } : byDefault(type, channel)
      }),
    )
  },

  set: async (
    db: Db,
    accountId: Id,
    {
      type,
      channel,
      enabled,
      digest,
    }: { type: string; channel: Channel; enabled?: boolean | undefined; digest?: Digest | undefined },
  ): Promise<void> => {
    const fallback = byDefault(type, channel)
    await sql`insert into notification_preferences as p (account_id, type, channel, enabled, digest)
      values (${accountId}, ${type}, ${channel}, ${enabled ?? fallback.enabled}, ${digest ?? fallback.digest})
      on conflict (account_id, type, channel) do update set
        enabled = coalesce(${enabled ?? null}::boolean, p.enabled), digest = coalesce(${digest ?? null}::text, p.digest),
        updated_at = ${nextTimeOf('p')}`.execute(db)
  },

  count: async (db: Db, accountId: Id): Promise<number> =>
    (
      await db
        .selectFrom('notification_preferences')
        .select(sql<number>`count(*)::int`.as('n'))
        .where('account_id', '=', accountId)
        .executeTakeFirstOrThrow()
    ).n,
}

export const configs = {
  get: async (db: Db, accountId: Id): Promise<ConfigRow | null> =>
    (await db.selectFrom('notification_configs').selectAll().where('account_id', '=', accountId).executeTakeFirst()) ??
    null,

  set: async (
    db: Db,
    accountId: Id,
    changes: { toasts?: boolean; sound?: boolean; quiet_hours?: QuietHours | null; digest_at?: string },
  ): Promise<ConfigRow> => {
    const { quiet_hours, ...plain } = changes
    const values = {
      ...plain,
      ...(quiet_hours !== undefined && { quiet_hours: quiet_hours && JSON.stringify(quiet_hours) }),
    }
    return db
      .insertInto('notification_configs')
      .values({ account_id: accountId, ...values })
      .onConflict((conflict) =>
        conflict.column('account_id').doUpdateSet({ ...values, updated_at: nextTimeOf('notification_configs') }),
      )
      .returningAll()
      .executeTakeFirstOrThrow()
  },
}
