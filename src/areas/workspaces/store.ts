import { type Generated, type Selectable, sql } from 'kysely'
import type { Db } from '#engine/postgres/client.ts'
import type { Id } from '#kernel/ids.ts'
import type { Role } from '#kernel/scopes.ts'

declare module '#engine/postgres/tables.ts' {
  interface Database {
    workspaces: WorkspaceTable
    members: MemberTable
    invitations: InvitationTable
  }
}

interface WorkspaceTable {
  id: Id
  name: string
  description: string | null
  kind: 'personal' | 'team'
  status: Generated<'active' | 'archived'>
  archived_at: Date | null
  created_by: Id | null
  created_at: Generated<Date>
  updated_at: Generated<Date>
}
export type WorkspaceRow = Selectable<WorkspaceTable>

interface MemberTable {
  id: Id
  workspace_id: Id
  account_id: Id
  role: Role
  permissions: string[] | null
  created_by: Id | null
  created_at: Generated<Date>
  updated_at: Generated<Date>
}
export type MemberRow = Selectable<MemberTable>

interface InvitationTable {
  id: Id
  workspace_id: Id
  email: string
  role: Role
  permissions: string[] | null
  status: Generated<'pending' | 'accepted' | 'revoked'>
  token_hash: Buffer
  expires_at: Date
  accepted_by: Id | null
  accepted_at: Date | null
  revoked_at: Date | null
  created_by: Id | null
  created_at: Generated<Date>
  updated_at: Generated<Date>
}
export type InvitationRow = Selectable<InvitationTable>

export const workspaceStore = {
  insert: (
    db: Db,
    row: Pick<WorkspaceRow, 'id' | 'name' | 'description' | 'kind' | 'created_by'>,
  ): Promise<WorkspaceRow> =>
    db
      .insertInto('workspaces')
      .values({ ...row, archived_at: null })
      .returningAll()
      .executeTakeFirstOrThrow(),
}

export const memberStore = {
  insert: (db: Db, row: Omit<MemberRow, 'created_at' | 'updated_at'>): Promise<MemberRow> =>
    db.insertInto('members').values(row).returningAll().executeTakeFirstOrThrow(),
}

export const invitationStore = {
  async isPending(db: Db, tokenHash: Buffer): Promise<boolean> {
    const row = await db
      .selectFrom('invitations')
      .select('id')
      .where('token_hash', '=', tokenHash)
      .where('status', '=', 'pending')
      .where('expires_at', '>', sql<Date>`now()`)
      .executeTakeFirst()
    return row !== undefined
  },
}
