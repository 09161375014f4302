import { sql } from 'kysely'
import { forgetOperationsOf } from '#modules/operations/service.ts'
import type { Context, Engine } from '#infra/context.ts'
import { type Schedule, every } from '#infra/jobs/schedules.ts'
import { writeOutbox } from '#infra/outbox/outbox.ts'
import type { Db } from '#infra/postgres/client.ts'
import { lockResource } from '#authz/resources.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { TEMPORARY_HOURS, keepFromWorkspaces } from './temporary.ts'

const BATCH = 100
const LOOK_SECONDS = 60

/** Deletes temporary chats without a message for a day and without active runs. Returns how many. */
export async function expireTemporary({ postgres, bus }: Pick<Engine, 'postgres' | 'bus'>): Promise<number> {
  for (let deletedCount = 0; ;) {
    const ids = await postgres.db.transaction().execute(async (db) => {
      const { rows } = await sql<{ id: Id }>`select r.id from chats c join resources r on r.id = c.id
        where c.temporary and c.parent_chat_id is null
          and coalesce(c.last_message_at, r.created_at) < now() - make_interval(hours => ${TEMPORARY_HOURS})
          and not exists (select from runs u where u.chat_id = c.id and (u.status in ('queued', 'running', 'requires_action')
            or u.completed_at > now() - make_interval(hours => ${TEMPORARY_HOURS})))
        order by r.id limit ${BATCH} for update of r skip locked`.execute(db)
      const ids = rows.map(({ id }) => id)
      await deleteTemporary(db, ids)
      return ids
    })
    deletedCount += ids.length
    if (ids.length > 0) bus.poke('outbox')
    if (ids.length < BATCH) return deletedCount
  }
}

export const temporarySchedules = (engine: Engine): Schedule[] => [
  every('chats.temporary', LOOK_SECONDS, async () => void (await expireTemporary(engine))),
]

export const deleteNow = (outer: Context, id: Id): Promise<{ id: Id }> =>
  outer.transaction(async (ctx) => {
    const { status } = await lockResource(ctx, 'chat', id)
    if (status !== 'trashed')
      refuse('invalid_state', {
        message: `This chat is ${status}, so this isn’t possible.`,
        details: { status, allowed: ['trash'] },
      })
    await deleteTemporary(ctx.db, [id])
    ctx.afterCommit(() => ctx.engine.bus.poke('outbox'))
    return { id }
  })

/**
 * Deletes temporary chats and the operation results that quote them. Emits no workspace events, because the workspace
 * never saw the chats.
 */
export async function deleteTemporary(db: Db, ids: readonly Id[]): Promise<void> {
  if (ids.length === 0) return
  const { rows } = await sql<{ id: Id }>`with recursive below as (
      select id from chats where id = any(${ids}::ulid[])
      union all select c.id from below b join chats c on c.parent_chat_id = b.id
    ) select id from below`.execute(db)
  const all = rows.map(({ id }) => id)
  // Waits for transactions that hold one of these chats and may be writing events.
  await sql`select from resources where id = any(${all}::ulid[]) order by id for update`.execute(db)
  await forgetOperationsOf(db, all)
  await keepFromWorkspaces(db, all)
  await sql`insert into deleted_temporary_chats (id) select unnest(${all}::ulid[]) on conflict do nothing`.execute(db)
  await sql`delete from resources where id = any(${ids}::ulid[])`.execute(db)
  for (const id of ids)
    await writeOutbox(
      db,
      {
        type: 'chat.deleted',
        channels: [`chat:${id}`],
        resource: { type: 'chat', id },
        data: { id, status: 'trashed' },
      },
      null,
    )
}
