import { type RawBuilder, sql } from 'kysely'
import type { Context } from '#engine/context.ts'
import { placeIn } from '#engine/resources.ts'
import type { Id } from '#kernel/ids.ts'
import { hasScope, reachableWorkspaces } from '#kernel/principal.ts'
import type { Scope } from '#kernel/scopes.ts'
import type { searchTypes } from './contract.ts'

export type SearchType = (typeof searchTypes)[number]

/** What a list of each type asks of its reader: search asks the same. */
const scopeOf: Record<SearchType, Scope> = {
  file: 'drive:read',
  note: 'drive:read',
  repository: 'drive:read',
  chat: 'chat:read',
  message: 'chat:read',
  agent: 'agent:read',
  computer: 'computer:read',
}

/** Types that a caller may find, with the workspaces in which it may. */
export type Reach = { types: SearchType[]; workspaces: Id[] }[]

/** By the rule of lists. 404 for a workspace that the caller may not know of. */
export function reachOf(ctx: Context, types: readonly SearchType[], workspaceId: Id | undefined): Reach {
  if (workspaceId !== undefined) placeIn(ctx, workspaceId)
  const asked = types.includes('file') ? [...new Set([...types, 'note' as const])] : types
  const byPlaces = new Map<string, { types: SearchType[]; workspaces: Id[] }>()
  for (const type of asked) {
    if (!hasScope(ctx.principal, scopeOf[type])) continue
    const all = reachableWorkspaces(ctx.principal, scopeOf[type])
    const workspaces = workspaceId === undefined ? all : all.filter((id) => id === workspaceId)
    if (workspaces.length === 0) continue
    const key = workspaces.join()
    const known = byPlaces.get(key) ?? { types: [], workspaces }
    known.types.push(type)
    byPlaces.set(key, known)
  }
  return [...byPlaces.values()]
}

/** The same as a condition on the rows `s`. */
export const visible = (reach: Reach): RawBuilder<boolean> =>
  sql<boolean>`not s.hidden and (${sql.join(
    reach.map(
      ({ types, workspaces }) => sql`(s.workspace_id = any(${workspaces}::text[]) and s.type = any(${types}::text[]))`,
    ),
    sql` or `,
  )})`
