import { type RawBuilder, sql } from 'kysely'
import type { Context } from '#infra/context.ts'
import { computersExposedTo } from '#modules/computers/service.ts'
import { placeIn } from '#authz/resources.ts'
import { sharedThings } from '#authz/shares.ts'
import type { Id } from '#core/ids.ts'
import { hasScope, reachableWorkspaces } from '#core/principal.ts'
import type { Scope } from '#core/scopes.ts'
import type { searchTypes } from '../contract.ts'
import { spaceOf } from '../index/vectors.ts'

export type SearchType = (typeof searchTypes)[number]

/** The scope each type's list endpoint requires. */
const scopeOf: Record<SearchType, Scope> = {
  file: 'drive:read',
  note: 'drive:read',
  repository: 'drive:read',
  chat: 'chat:read',
  message: 'chat:read',
  agent: 'agent:read',
  computer: 'computer:read',
}

export interface ReachEntry {
  types: SearchType[]
  workspaces: Id[]
  shared: Id[]
  sharedFolders: Id[]
}
export type Reach = ReachEntry[]

/** Applies the rules of lists and shares. Throws `not_found` for an inaccessible workspace. */
export async function reachOf(ctx: Context, types: readonly SearchType[], workspaceId: Id | undefined): Promise<Reach> {
  if (workspaceId !== undefined) placeIn(ctx, workspaceId)
  const requestedTypes = types.includes('file') ? [...new Set([...types, 'note' as const])] : types
  const reach: Reach = []
  for (const [scope, own] of Map.groupBy(requestedTypes, (type) => scopeOf[type])) {
    if (!hasScope(ctx.principal, scope)) continue
    const all = reachableWorkspaces(ctx.principal, scope)
    const workspaces = workspaceId === undefined ? all : all.filter((id) => id === workspaceId)
    const { shared, sharedFolders } =
      scope === 'computer:read'
        ? { shared: await computersExposedTo(ctx.db, workspaces), sharedFolders: [] }
        : workspaceId === undefined
          ? await sharedThings(ctx.db, ctx.principal, scope)
          : { shared: [], sharedFolders: [] }
    if (workspaces.length === 0 && shared.length === 0) continue
    reach.push({ types: own, workspaces, shared, sharedFolders })
  }
  return reach
}

export const visible = (reach: Reach): RawBuilder<boolean> =>
  sql<boolean>`not s.hidden and (${sql.join(
    reach.map(
      ({ types, workspaces, shared, sharedFolders }) =>
        sql`(s.type = any(${types}::text[]) and (s.workspace_id = any(${workspaces}::ulid[])
          ${shared.length === 0 ? sql`` : sql`or s.resource_id = any(${shared}::ulid[])`}
          ${sharedFolders.length === 0 ? sql`` : sql`or exists (select from files f where f.id = s.resource_id and f.ancestors && ${sharedFolders}::text[])`}))`,
    ),
    sql` or `,
  )})`

/**
 * The reach as an SQL condition on vectors `s`. Shared rows that were just rewritten wait for new vectors. A hash
 * collision only adds rows that `rows` filters out.
 */
export function inSpaces(reach: Reach, model: string, dimensions: number): RawBuilder<boolean> {
  const spaces = reach.flatMap(({ types, workspaces }) =>
    types.flatMap((type) => workspaces.map((id) => spaceOf(model, dimensions, type, id))),
  )
  const shared = reach.flatMap(({ types, shared, sharedFolders }) => {
    const sharedRows = sql`select x.row_id from search_rows x`
    const fit = sql`x.embedded = ${model} and x.type = any(${types}::text[])`
    return [
      ...(shared.length > 0 ? [sql`${sharedRows} where x.resource_id = any(${shared}::ulid[]) and ${fit}`] : []),
      ...(sharedFolders.length > 0
        ? [
            sql`${sharedRows} join files f on f.id = x.resource_id where f.ancestors && ${sharedFolders}::text[] and ${fit}`,
          ]
        : []),
    ]
  })
  const inOwnSpaces = sql<boolean>`s.space = any(${spaces}::int8[])`
  if (shared.length === 0) return inOwnSpaces
  return sql<boolean>`(${inOwnSpaces} or s.row_id in (${sql.join(shared, sql` union all `)}) and length(s.bits) = ${dimensions})`
}
