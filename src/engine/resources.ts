/**
 * The register of what lives in a workspace and can be put away: agents, chats, files, automations. The row of a kind
 * joins its row here (`references resources on delete cascade`), so that access, lists and the trash are one rule.
 * `lifecycle.ts` has the doors between the states.
 */
import { type Generated, type RawBuilder, type Selectable, sql } from 'kysely'
import { type RefusalMore, refuse } from '#kernel/errors.ts'
import type { Id } from '#kernel/ids.ts'
import { checkPlace, checkWritable } from '#kernel/place.ts'
import { type Membership, membershipIn, reachableWorkspaces } from '#kernel/principal.ts'
import type { Scope } from '#kernel/scopes.ts'
import { iso, isoOrNull } from '#kernel/time.ts'
import type { Context } from './context.ts'
import { nextTime, sqlState } from './postgres/client.ts'

declare module './postgres/tables.ts' {
  interface Database {
    resources: ResourceTable
  }
}

export type Status = 'active' | 'archived' | 'trashed'

interface ResourceTable {
  id: Id
  kind: string
  workspace_id: Id
  status: Generated<Status>
  /** The state that `restore` brings back. */
  trashed_from: Exclude<Status, 'trashed'> | null
  trashed_at: Date | null
  trashed_by: Id | null
  archived_at: Date | null
  created_by: Id | null
  created_at: Generated<Date>
  updated_at: Generated<Date>
}
export type ResourceRow = Selectable<ResourceTable>

/** Registers a new thing, active, made by the caller. Comes before the insert of its own row, in one transaction. */
export const insertResource = (
  ctx: Context,
  { id, kind, workspace_id }: Pick<ResourceRow, 'id' | 'kind' | 'workspace_id'>,
): Promise<ResourceRow> =>
  ctx.db
    .insertInto('resources')
    .values({
      id,
      kind,
      workspace_id,
      trashed_from: null,
      trashed_at: null,
      trashed_by: null,
      archived_at: null,
      created_by: ctx.principal.accountId,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
    .catch(workspaceGone)

/**
 * Holds the row until the transaction ends, so that what is decided on it stays true. 404 when it is gone or is no
 * longer where `permit` saw it, 412 when it is not what `If-Match` named.
 */
export async function lockResource(ctx: Context, kind: string, id: Id): Promise<ResourceRow> {
  const row =
    (await ctx.db
      .selectFrom('resources')
      .selectAll()
      .where('id', '=', id)
      .where('kind', '=', kind)
      .forUpdate()
      .executeTakeFirst()) ?? refuse('not_found', { param: 'id' })
  if (ctx.found?.id === id) {
    if (ctx.found.workspace_id !== row.workspace_id) refuse('not_found', { param: 'id' })
    if (ctx.unchangedSince && ctx.unchangedSince.getTime() !== row.updated_at.getTime()) refuse('precondition_failed')
  }
  return row
}

/**
 * Before a change of a thing: holds its row as `lockResource` does, refuses what is in the trash, and moves
 * `updated_at` on. `workspace_id` moves the thing there.
 */
export async function touchResource(
  ctx: Context,
  kind: string,
  id: Id,
  changes: { workspace_id?: Id } = {},
): Promise<ResourceRow> {
  const row = await lockResource(ctx, kind, id)
  if (row.status === 'trashed')
    refuse('invalid_state', {
      message: `This ${kind} is in the trash, so it is read-only.`,
      details: { status: 'trashed', allowed: ['restore', 'permanent-delete'] },
    })
  return updateResource(ctx, id, changes)
}

export const updateResource = (ctx: Context, id: Id, changes: Partial<ResourceRow>): Promise<ResourceRow> =>
  ctx.db
    .updateTable('resources')
    .set({ ...changes, updated_at: nextTime })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
    .catch(workspaceGone)

/** Of a write that names a workspace: another process may have deleted it since `permit` knew of it. */
export function workspaceGone(error: unknown): never {
  // 23503: what a foreign key names is not there.
  if (sqlState(error) === '23503') refuse('not_found', { param: 'workspace_id', message: noWorkspace })
  throw error
}

export interface ResourcePage {
  kind: string
  /** From `visibleWorkspaces`. */
  workspaces: readonly Id[]
  status: Status
  /** Only ids below this one. */
  before: Id | null
  limit: number
  /** A further condition on the row `x` of the register: `sql<boolean>\`exists (select from chats c where c.id = x.id and …)\``. */
  also?: RawBuilder<boolean>
}

/**
 * The newest rows of a kind that the caller may see, to join the kind's own table to:
 * `db.selectFrom(resourcePage(…).as('r')).innerJoin('agents as a', 'a.id', 'r.id').selectAll(['r', 'a']).orderBy('r.id', 'desc')`.
 * Reads at most `limit` entries of `resources_list` per workspace, however many there are (`~>~` is that index's order).
 * The caller orders again, for a join keeps no order.
 */
export const resourcePage = ({
  kind,
  workspaces,
  status,
  before,
  limit,
  also,
}: ResourcePage): RawBuilder<ResourceRow> =>
  sql<ResourceRow>`(select r.* from unnest(${workspaces}::ulid[]) w(id) cross join lateral (
    select * from resources x where x.workspace_id = w.id and x.kind = ${kind} and x.status = ${status}
      ${before === null ? sql`` : sql`and x.id ~<~ ${before}`} ${also === undefined ? sql`` : sql`and ${also}`}
    order by x.id using ~>~ limit ${limit}) r order by r.id desc limit ${limit})`

/**
 * The same page as the text of a statement, for lists that are asked for often: building it anew for each call costs as
 * much as running it. $1 workspaces, $2 kind, $3 status, $4 limit, $5 the id to begin behind where `after`; `also` may
 * use what comes then.
 */
export const resourcePageText = (after: boolean, also = ''): string =>
  `(select r.* from unnest($1::ulid[]) w(id) cross join lateral (
    select * from resources x where x.workspace_id = w.id and x.kind = $2 and x.status = $3
      ${after ? 'and x.id ~<~ $5' : ''} ${also === '' ? '' : `and ${also}`}
    order by x.id using ~>~ limit $4) r order by r.id desc limit $4)`

/**
 * The workspaces whose things a list shows: all that the caller reaches under this scope, or the one it asks for.
 * 404 for a workspace that it may not know of, 403 where its role there does not include the scope.
 */
export function visibleWorkspaces(ctx: Context, scope: Scope, workspaceId: Id | undefined): Id[] {
  if (workspaceId === undefined) return reachableWorkspaces(ctx.principal, scope)
  checkPlace(placeIn(ctx, workspaceId), scope)
  return [workspaceId]
}

/** Refuses unless the caller may do `scope` in a workspace other than the one that `permit` checked: where a thing is moved or copied to. */
export function checkTarget(ctx: Context, workspaceId: Id, scope: Scope, param = 'workspace_id'): void {
  const membership = placeIn(ctx, workspaceId, { param, message: noWorkspace })
  checkPlace(membership, scope)
  checkWritable(membership)
}

const noWorkspace = 'There is no such workspace here.'

/** The caller's place in the workspace of something that the call names; without one it is 404. */
export const placeIn = (
  ctx: Context,
  workspaceId: Id,
  gone: RefusalMore = { param: 'workspace_id', message: noWorkspace },
): Membership => membershipIn(ctx.principal, workspaceId) ?? refuse('not_found', gone)

/** What every resource shows of its row in the register; `resourceFields` of the kernel is its schema. */
export const showResource = (row: ResourceRow) => ({
  id: row.id,
  workspace_id: row.workspace_id,
  status: row.status,
  created_by: row.created_by,
  archived_at: isoOrNull(row.archived_at),
  trashed_at: isoOrNull(row.trashed_at),
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})
