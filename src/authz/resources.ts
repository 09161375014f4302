/**
 * The register of what lives in a workspace and can be put away: agents, chats, files, automations. The row of a kind
 * joins its row here (`references resources on delete cascade`), so that access, lists and the trash are one rule.
 * `lifecycle.ts` has the doors between the states.
 */
import { type Generated, type RawBuilder, type Selectable, sql } from 'kysely'
import { type RefusalMore, absent, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { checkPlace, checkWritable } from './place.ts'
import { type Membership, membershipIn, reachableWorkspaces } from '#core/principal.ts'
import type { Scope } from '#core/scopes.ts'
import { iso, isoOrNull } from '#core/time.ts'
import type { Context } from '#infra/context.ts'
import { nextTime, sqlState } from '#infra/postgres/client.ts'

declare module '#infra/postgres/tables.ts' {
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
  if (ctx.resource?.id === id) {
    if (ctx.resource.workspace_id !== row.workspace_id) refuse('not_found', { param: 'id' })
    if (ctx.unchangedSince && ctx.unchangedSince.getTime() !== row.updated_at.getTime()) refuse('precondition_failed')
  }
  return row
}

/**
 * Called before a thing changes: locks its row as `lockResource` does, refuses a thing in the trash, and sets
 * `updated_at`. `workspace_id` moves the thing to that workspace.
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
      message: `This ${kind} is in the trash. Restore it before you change it.`,
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

/** The refusal for a write whose workspace another process deleted after `permit` had checked it. */
export function workspaceGone(error: unknown): never {
  // 23503: what a foreign key names is not there.
  if (sqlState(error) === '23503') refuse('not_found', { param: 'workspace_id', message: noWorkspace })
  throw error
}

export interface ResourcePage {
  kind: string
  /** The workspaces to look in, from `visibleWorkspaces`. */
  workspaces: readonly Id[]
  status: Status
  /** The id to page from: only smaller ids are listed. */
  before: Id | null
  limit: number
  /** A further condition on the row `x` of the register: `sql<boolean>\`exists (select from chats c where c.id = x.id and …)\``. */
  also?: RawBuilder<boolean>
}

/**
 * The newest rows of a kind that the caller may see, to join the kind's own table to:
 * `db.selectFrom(resourcePage(…).as('r')).innerJoin('agents as a', 'a.id', 'r.id').selectAll(['r', 'a']).orderBy('r.id', 'desc')`.
 * Reads at most `limit` entries of `resources_list` per workspace, however many there are (`~>~` is that index's order).
 * May answer a few more rows than `limit`. The caller orders again, for a join keeps no order.
 */
export const resourcePage = ({
  kind,
  workspaces,
  status,
  before,
  limit,
  also,
}: ResourcePage): RawBuilder<ResourceRow> =>
  sql<ResourceRow>`(select r.* from ${
    isFew(workspaces)
      ? sql`(values ${sql.join(workspaces.map((id) => sql`(${id}::ulid)`))})`
      : sql`unnest(${workspaces}::ulid[])`
  } w(id) cross join lateral (
    select * from resources x where x.workspace_id = w.id and x.kind = ${kind} and x.status = ${status}
      ${before === null ? sql`` : sql`and x.id ~<~ ${before}`} ${also === undefined ? sql`` : sql`and ${also}`}
    order by x.id using ~>~ limit ${sql.lit(step(limit))}) r order by r.id desc limit ${sql.lit(step(limit))})`

/**
 * The same page for the prepared statement of a list that is asked for often: building that anew for each call costs as
 * much as running it. `shape` belongs into its name. `also` gets the number of its first parameter, and gives the values.
 */
export function resourcePageText(
  { kind, workspaces, status, before, limit }: Omit<ResourcePage, 'also'>,
  also?: { text: (first: number) => string; values: readonly unknown[] },
): { shape: string; text: string; values: unknown[] } {
  const page = [kind, status, ...(before === null ? [] : [before])]
  const values = [...page, ...(also?.values ?? [])]
  const from = values.length + 1
  const few = isFew(workspaces)
  const places = few
    ? `(values ${workspaces.map((_, i) => `($${from + i}::ulid)`).join(', ')})`
    : `unnest($${from}::ulid[])`
  const most = step(limit)
  return {
    shape: `${few ? workspaces.length : 'many'}_${most}${before === null ? '' : '_after'}`,
    text: `(select r.* from ${places} w(id) cross join lateral (
    select * from resources x where x.workspace_id = w.id and x.kind = $1 and x.status = $2
      ${before === null ? '' : 'and x.id ~<~ $3'} ${also ? `and ${also.text(page.length + 1)}` : ''}
    order by x.id using ~>~ limit ${most}) r order by r.id desc limit ${most})`,
    values: [...values, ...(few ? workspaces : [workspaces])],
  }
}

// The planner takes an unknown limit for a tenth of all rows and an unknown list for ten, and then plans anew for each
// call, which costs three times the page itself. So the usual numbers stand in the text.
const isFew = (workspaces: readonly Id[]): boolean => workspaces.length > 0 && workspaces.length <= 8
const step = (limit: number): number => [26, 101].find((most) => limit <= most) ?? limit

/**
 * The workspaces whose things a list shows: all that the caller reaches under this scope, or the one it asks for.
 * 404 for a workspace that it may not know of, 403 where its role there does not include the scope.
 */
export function visibleWorkspaces(ctx: Context, scope: Scope, workspaceId: Id | undefined): Id[] {
  if (workspaceId === undefined) return reachableWorkspaces(ctx.principal, scope)
  const notFound = { param: 'workspace_id', message: absent('workspace', workspaceId) }
  checkPlace(placeIn(ctx, workspaceId, notFound), scope)
  return [workspaceId]
}

/** Refuses unless the caller may do `scope` in a workspace other than the one that `permit` checked: where a thing is moved or copied to. */
export function checkTarget(ctx: Context, workspaceId: Id, scope: Scope, param = 'workspace_id'): void {
  const membership = placeIn(ctx, workspaceId, { param, message: absent('workspace', workspaceId) })
  checkPlace(membership, scope)
  checkWritable(membership)
}

const noWorkspace = absent('workspace')

/** The caller's place in the workspace of something that the call names; without one it is 404. */
export const placeIn = (
  ctx: Context,
  workspaceId: Id,
  notFound: RefusalMore = { param: 'workspace_id', message: noWorkspace },
): Membership => membershipIn(ctx.principal, workspaceId) ?? refuse('not_found', notFound)

/** The fields that every resource shows of its row in the register; `resourceFields` of the kernel is their schema. */
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
