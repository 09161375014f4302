import { sql } from 'kysely'
import { scopesOf } from '#authz/shares.ts'
import type { Db } from '#infra/postgres/client.ts'
import { type Role, atLeast, grants, roleFor } from '#core/scopes.ts'
import type { NamedShare } from './store.ts'

/** A link stops working when its creator can no longer share, as with invitations. */
export async function sharerStillMay(
  db: Db,
  { home, created_by, resource_type, access }: NamedShare,
): Promise<boolean> {
  const { rows } = await sql<{ role: Role; permissions: string[] | null }>`
    select role, permissions from members where workspace_id = ${home} and account_id = ${created_by}`.execute(db)
  const [place] = rows
  if (place === undefined) return false
  const grantedScopes = place.permissions && grants(place.permissions)
  const { read, write } = scopesOf(resource_type)
  return (['share:write', access === 'edit' ? write : read] as const).every(
    (scope) => atLeast(place.role, roleFor(scope)) && (grantedScopes === null || grantedScopes.has(scope)),
  )
}
