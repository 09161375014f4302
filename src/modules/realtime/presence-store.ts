import { type Generated, type Selectable, sql } from 'kysely'
import type { Db } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    presence: PresenceTable
  }
}
interface PresenceTable {
  id: Id
  channel: string
  user_id: Id
  data: Record<string, unknown> | null
  expires_at: Date
  created_at: Generated<Date>
  updated_at: Generated<Date>
}
export type PresenceRow = Selectable<PresenceTable>

const TTL_SECONDS = 30

export const presence = {
  heartbeat: async (
    db: Db,
    { id, channel, userId, data }: { id: Id; channel: string; userId: Id; data: object | null | undefined },
  ): Promise<PresenceRow & { joined: boolean }> => {
    const json = data === undefined || data === null ? null : JSON.stringify(data)
    const { rows } = await sql<PresenceRow & { joined: boolean }>`
      insert into presence as p (id, channel, user_id, data, expires_at)
      values (${id}, ${channel}, ${userId}, ${json}::jsonb, now() + make_interval(secs => ${TTL_SECONDS}))
      on conflict (channel, user_id) do update set expires_at = excluded.expires_at,
        data = case when ${data === undefined} then p.data else excluded.data end,
        updated_at = greatest(excluded.updated_at, p.updated_at + interval '1 millisecond')
      returning *, (xmax = 0) as joined`.execute(db)
    return rows[0]!
  },

  list: (
    db: Db,
    { channel, userId, before, limit }: { channel: string; userId: Id | undefined; before: Id | null; limit: number },
  ): Promise<PresenceRow[]> => {
    let query = db
      .selectFrom('presence')
      .selectAll()
      .where('channel', '=', channel)
      .where('expires_at', '>', sql<Date>`now()`)
      .orderBy('id', 'desc')
      .limit(limit)
    if (userId !== undefined) query = query.where('user_id', '=', userId)
    if (before !== null) query = query.where('id', '<', before)
    return query.execute()
  },

  /** Removes expired entries. Each is returned to only one process. */
  expire: (db: Db): Promise<PresenceRow[]> =>
    db
      .deleteFrom('presence')
      .where('expires_at', '<=', sql<Date>`now()`)
      .returningAll()
      .execute(),
}
