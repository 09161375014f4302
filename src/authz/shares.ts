/**
 * Shares grant part of a member's access to one resource, across workspaces. `permit` checks them if the caller isn't a
 * member; lists and searches join `shares_of`.
 */
import { type Generated, type RawBuilder, type Selectable, sql } from 'kysely'
import type { Id } from '#core/ids.ts'
import type { Nano } from '#core/money.ts'
import {
  type HeldTo,
  type Membership,
  type Principal,
  membershipIn,
  reachableWorkspaces,
  isHeldToOne,
} from '#core/principal.ts'
import { type Scope, atLeast, grants, roleFor } from '#core/scopes.ts'
import type { Period } from '#core/time.ts'
import type { Db } from '#infra/postgres/client.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    shares: ShareTable
  }
}

export type Access = 'view' | 'edit'
export type SharedType = 'chat' | 'agent' | 'file' | 'folder'

interface ShareTable {
  id: Id
  resource_id: Id
  resource_type: SharedType
  account_id: Id | null
  workspace_id: Id | null
  email: string | null
  access: Access
  token_hash: Buffer | null
  mail_token_hash: Buffer | null
  claimed_by: Id | null
  claimed_at: Date | null
  created_by: Id | null
  created_at: Generated<Date>
  updated_at: Generated<Date>
}
export type ShareRow = Selectable<ShareTable>

const scopesByAccess: Readonly<Record<string, Readonly<Record<Access, readonly Scope[]>>>> = {
  chat: { view: ['chat:read'], edit: ['chat:read', 'chat:write', 'chat:run'] },
  agent: { view: ['agent:read'], edit: ['agent:read', 'agent:write'] },
  file: { view: ['drive:read'], edit: ['drive:read', 'drive:write'] },
}

export const isShareable = (kind: string): boolean => kind in scopesByAccess

export const scopesOf = (type: SharedType): { read: Scope; write: Scope } =>
  type === 'chat'
    ? { read: 'chat:read', write: 'chat:write' }
    : type === 'agent'
      ? { read: 'agent:read', write: 'agent:write' }
      : { read: 'drive:read', write: 'drive:write' }

/** The caller's shares under a scope, as a table to join. A key bound to one workspace has only that workspace's. */
export function sharesOf(principal: Principal, scope: Scope): RawBuilder<ShareRow> {
  const workspaces = reachableWorkspaces(principal, scope)
  return isHeldToOne(principal)
    ? sql<ShareRow>`(select * from shares where workspace_id = any(${workspaces}::ulid[]))`
    : sql<ShareRow>`shares_of(${principal.accountId}, ${workspaces}::ulid[])`
}

/** Resources shared with the caller under a scope, and the folders among them, whose content is shared too. */
export async function sharedThings(
  db: Db,
  principal: Principal,
  scope: Scope,
): Promise<{ shared: Id[]; sharedFolders: Id[] }> {
  const { rows } = await sql<{ id: Id; type: SharedType }>`
    select distinct resource_id as id, resource_type as type from ${sharesOf(principal, scope)} h`.execute(db)
  const sharedFolders = rows.filter(({ type }) => type === 'folder').map(({ id }) => id)
  return { shared: rows.map(({ id }) => id), sharedFolders }
}

export interface ShareTarget {
  id: Id
  workspace_id: Id | null
  ancestors?: readonly Id[]
}

export async function sharedPlace(
  db: Db,
  principal: Principal,
  kind: string,
  { id, workspace_id, ancestors = [] }: ShareTarget,
): Promise<(Membership & { access: Access }) | null> {
  if (workspace_id === null || !isShareable(kind) || principal.accountId === '') return null
  const [read, write] = scopesByAccess[kind]!.edit
  const { rows } = await sql<{ access: Access; workspace_id: Id | null; status: Membership['status'] }>`
    select s.access, s.workspace_id, (select status from workspaces where id = ${workspace_id}) as status
    from ${sharesOf(principal, read!)} s where s.resource_id = any(${[id, ...ancestors]}::ulid[])`.execute(db)
  if (rows.length === 0) return null
  const edits = rows.some(
    (row) => row.access === 'edit' && (row.workspace_id === null || writesIn(principal, row.workspace_id, write!)),
  )
  const access = edits ? 'edit' : 'view'
  return {
    role: edits ? 'member' : 'viewer',
    permissions: grants(scopesByAccess[kind]![access]),
    status: rows[0]!.status,
    access,
  }
}

function writesIn(principal: Principal, workspaceId: Id, scope: Scope): boolean {
  const place = membershipIn(principal, workspaceId)
  if (place === null || place.status === 'archived' || !atLeast(place.role, roleFor(scope))) return false
  return place.permissions === null || place.permissions.has(scope)
}

/**
 * The spend cap and model rules of a guest in a workspace that shared something, the same as for members. Undefined for
 * members, whose membership has them.
 */
export async function guestOf(db: Db, principal: Principal, workspaceId: Id): Promise<HeldTo | undefined> {
  if (principal.memberships.has(workspaceId)) return undefined
  const { rows } = await sql<{
    nano: Nano | null
    period: Period
    keys: 'any' | 'workspace'
    models: string[] | null
  }>`select spend_cap_nano as nano, spend_cap_period as period, keys, allowed_models as models
    from workspaces where id = ${workspaceId}`.execute(db)
  const [workspace] = rows
  if (workspace === undefined) return undefined
  const { nano, period, keys, models } = workspace
  return {
    ...(nano !== null && { budget: { nano, period } }),
    ...(models !== null && { rules: [{ kind: 'allowed', of: 'workspace', models }] }),
    ...(keys === 'workspace' && { keysOnly: keys }),
  }
}
