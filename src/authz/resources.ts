/**
 * The register of workspace resources with a lifecycle: agents, chats, files, automations. Each kind's table references
 * it (`references resources on delete cascade`), so access, lists, and trash share one implementation. `lifecycle.ts`
 * changes the status.
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
  trashed_from: Exclude<Status, 'trashed'> | null
  trashed_at: Date | null
  trashed_by: Id | null
  archived_at: Date | null
  created_by: Id | null
  created_at: Generated<Date>
  updated_at: Generated<Date>
}
export type ResourceRow = Selectable<ResourceTable>

/** Registers a new resource created by the caller. Must precede the insert of its own row, in the same transaction. */
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
 * Locks the row until the transaction ends, so decisions based on it stay valid. Throws 404 if it was deleted or moved
 * since `permit`, 412 if `If-Match` doesn't match.
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
 * Call before changing a resource: locks its row as `lockResource` does, refuses trashed resources, and sets
 * `updated_at`. `workspace_id` moves it to that workspace.
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

/** Converts the error of a write whose workspace another process deleted after `permit`. */
export function workspaceGone(error: unknown): never {
  if (sqlState(error) === '23503') refuse('not_found', { param: 'workspace_id', message: noWorkspace })
  throw error
}

export interface ResourcePage {
  kind: string
  workspaces: readonly Id[]
  status: Status
  before: Id | null
  limit: number
  /**
   * An additional condition on the register row `x`: `sql<boolean>\`exists (select from chats c where c.id = x.id and
   * …)\``.
   */
  also?: RawBuilder<boolean>
}

/**
 * The newest rows of a kind visible to the caller, to join with the kind's table:
 * `db.selectFrom(resourcePage(…).as('r')).innerJoin('agents as a', 'a.id', 'r.id').selectAll(['r',
 * 'a']).orderBy('r.id', 'desc')`.
 * Reads up to `limit` entries of `resources_list` per workspace (`~>~` is that index's order) and may return a
 * few more rows than `limit`. Order again after the join.
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
 * The same page for a prepared statement: building the query for each call costs as much as running it. Include `shape`
 * in the statement's name. `also` receives its first parameter number and returns its values.
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

// The planner assumes that an unknown limit is a tenth of all rows and an unknown list has ten entries, and then plans
// each call anew, which costs three times the page itself. So common numbers are inlined.
const isFew = (workspaces: readonly Id[]): boolean => workspaces.length > 0 && workspaces.length <= 8
const step = (limit: number): number => [26, 101].find((most) => limit <= most) ?? limit

/**
 * The workspaces of a list: all that this caller reaches under the scope, or the requested one. Throws 404 for an
 * unknown workspace, 403 if the role lacks the scope.
 */
export function visibleWorkspaces(ctx: Context, scope: Scope, workspaceId: Id | undefined): Id[] {
  if (workspaceId === undefined) return reachableWorkspaces(ctx.principal, scope)
  const notFound = { param: 'workspace_id', message: absent('workspace', workspaceId) }
  checkPlace(placeIn(ctx, workspaceId, notFound), scope)
  return [workspaceId]
}

/** Requires `scope` in another workspace than the one `permit` checked: the target of a move or copy. */
export function checkTarget(ctx: Context, workspaceId: Id, scope: Scope, param = 'workspace_id'): void {
  const membership = placeIn(ctx, workspaceId, { param, message: absent('workspace', workspaceId) })
  checkPlace(membership, scope)
  checkWritable(membership)
}

const noWorkspace = absent('workspace')

export const placeIn = (
  ctx: Context,
  workspaceId: Id,
  notFound: RefusalMore = { param: 'workspace_id', message: noWorkspace },
): Membership => membershipIn(ctx.principal, workspaceId) ?? refuse('not_found', notFound)

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
