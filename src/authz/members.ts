import { hash } from 'node:crypto'
import { type SqlBool, sql } from 'kysely'
import type { Context } from '#infra/context.ts'
import type { Db } from '#infra/postgres/client.ts'
import { refuse } from '#core/errors.ts'
import { type Id, newId } from '#core/ids.ts'
import { reachableWorkspaces } from '#core/principal.ts'

export async function createPersonalWorkspace(db: Db, id: Id, accountId: Id): Promise<void> {
  await sql`insert into workspaces (id, name, kind, created_by) values (${id}, 'Personal', 'personal', ${accountId})`.execute(
    db,
  )
  await sql`insert into members (id, workspace_id, account_id, role, created_by)
    values (${newId()}, ${id}, ${accountId}, 'owner', ${accountId})`.execute(db)
}

export const openInvitation = sql<SqlBool>`i.status = 'pending' and i.expires_at > now()`

/** Whether the token belongs to a pending invitation to this address. An invitation admits one account. */
export async function isInvited(db: Db, token: string, email: string): Promise<boolean> {
  const { rows } =
    await sql`select from invitations i where ${hash('sha256', token, 'buffer')} in (i.token_hash, i.mail_token_hash)
    and lower(i.email) = ${email.toLowerCase()} and ${openInvitation}`.execute(db)
  return rows.length > 0
}

export async function isInOneOf(db: Db, accountId: Id, workspaceIds: readonly Id[]): Promise<boolean> {
  const { rows } = await sql`select from members
    where account_id = ${accountId} and workspace_id = any(${workspaceIds}::ulid[]) limit 1`.execute(db)
  return rows.length > 0
}

export async function checkMet(
  ctx: Context,
  accountId: Id,
  param: string,
  message = 'No member of your workspaces has this ID.',
): Promise<void> {
  const workspaceIds = reachableWorkspaces(ctx.principal, null)
  if (accountId !== ctx.principal.accountId && !(await isInOneOf(ctx.db, accountId, workspaceIds)))
    refuse('not_found', { param, message })
}

export async function accountsIn(db: Db, workspaceIds: readonly Id[]): Promise<Id[]> {
  const { rows } = await sql<{ id: Id }>`select distinct account_id as id from members
    where workspace_id = any(${workspaceIds}::ulid[])`.execute(db)
  return rows.map(({ id }) => id)
}

export async function personalWorkspaceOf(db: Db, accountId: Id): Promise<Id> {
  const { rows } = await sql<{
    id: Id
  }>`select personal_workspace_id as id from accounts where id = ${accountId}`.execute(db)
  return rows[0]?.id ?? refuse('not_found', { param: 'user_id' })
}
