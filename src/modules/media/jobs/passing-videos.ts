import { type SelectQueryBuilder, sql } from 'kysely'
import type { Db } from '#infra/postgres/client.ts'
import type { Database } from '#infra/postgres/tables.ts'
import type { Id } from '#core/ids.ts'
import type { Behalf } from '#core/principal.ts'
import type { MediaAsk } from '../ask.ts'
import './store.ts'

/** A video of compat-a, whose file is kept for one day. */
export interface PassingVideo extends Pick<Behalf, 'account_id' | 'key_id' | 'held_to'> {
  operation_id: Id
  request: MediaAsk
  created_at: Date
}

type Reach = Pick<Behalf, 'account_id' | 'held_to'>

/** Set only by the server. */
const isPassing = sql<boolean>`request->'passing' = 'true'::jsonb`

const rows = (db: Db) =>
  db
    .selectFrom('media_jobs')
    .select(['operation_id', 'request', 'created_at', 'account_id', 'key_id', 'held_to', 'workspace_id'])
    .where('operation_id', 'is not', null)
    .where(isPassing)

/** An account's jobs. A key bound to a workspace sees only that workspace's. */
const within = <Q extends SelectQueryBuilder<Database, 'media_jobs', object>>(
  query: Q,
  { account_id, held_to }: Reach,
): Q => {
  const own = query.where('account_id', '=', account_id)
  return (held_to === null ? own : own.where('workspace_id', '=', held_to)) as Q
}

const toVideo = (row: object): PassingVideo => row as PassingVideo

export const passingVideos = {
  mark: async (db: Db, operationId: Id): Promise<void> => {
    await db
      .updateTable('media_jobs')
      .set({ request: sql<string>`request || '{"passing": true}'` })
      .where('operation_id', '=', operationId)
      .execute()
  },

  unmark: async (db: Db, operationId: Id): Promise<void> => {
    await db
      .updateTable('media_jobs')
      .set({ request: sql<string>`request - 'passing'` })
      .where('operation_id', '=', operationId)
      .execute()
  },

  get: async (db: Db, operationId: string, reach: Reach): Promise<PassingVideo | null> => {
    const row = await within(rows(db), reach).where('operation_id', '=', operationId).executeTakeFirst()
    return row === undefined ? null : toVideo(row)
  },

  list: async (
    db: Db,
    reach: Reach,
    { after, limit, order }: { after: string | null; limit: number; order: 'asc' | 'desc' },
  ): Promise<PassingVideo[]> => {
    let query = within(rows(db), reach).orderBy('operation_id', order).limit(limit)
    if (after !== null) query = query.where('operation_id', order === 'asc' ? '>' : '<', after)
    return (await query.execute()).map(toVideo)
  },

  due: async (db: Db, before: Date): Promise<PassingVideo[]> =>
    (await rows(db).where('status', '=', 'over').where('updated_at', '<', before).limit(100).execute()).map(toVideo),
}
