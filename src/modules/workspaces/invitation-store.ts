import { type Generated, type Selectable, type SqlBool, type Updateable, sql } from 'kysely'
import { openInvitation } from '#authz/members.ts'
import { type Db, nextTime } from '#infra/postgres/client.ts'
import { newestFirst } from '#infra/postgres/newest-first.ts'
import type { Id } from '#core/ids.ts'
import type { Nano } from '#core/money.ts'
import type { Role } from '#core/scopes.ts'
import type { Period, Span } from '#core/time.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    invitations: InvitationTable
  }
}

interface InvitationTable {
  id: Id
  workspace_id: Id
  email: string
  role: Role
  permissions: string[] | null
  spend_cap_nano: Generated<Nano | null>
  spend_cap_period: Generated<Period>
  status: Generated<'pending' | 'accepted' | 'revoked'>
  /** Hash of the token in the response, which the inviter passes on. */
  token_hash: Buffer
  /** Hash of the token emailed only to the address. Null: no email was sent. */
  mail_token_hash: Buffer | null
  expires_at: Date
  accepted_by: Id | null
  accepted_at: Date | null
  revoked_at: Date | null
  created_by: Id | null
  created_at: Generated<Date>
  updated_at: Generated<Date>
}
export type InvitationRow = Selectable<InvitationTable>
export type ReceivedRow = InvitationRow & { workspace_name: string; invited_by: string | null }
export type InvitationStatus = InvitationRow['status'] | 'expired'

const is = {
  pending: openInvitation,
  expired: sql<SqlBool>`i.status = 'pending' and i.expires_at <= now()`,
  accepted: sql<SqlBool>`i.status = 'accepted'`,
  revoked: sql<SqlBool>`i.status = 'revoked'`,
} as const satisfies Record<InvitationStatus, unknown>

export const invitationStore = {
  insert: (
    db: Db,
    row: Omit<InvitationRow, 'status' | 'accepted_by' | 'accepted_at' | 'revoked_at' | 'created_at' | 'updated_at'>,
  ): Promise<InvitationRow> =>
    db
      .insertInto('invitations')
      .values({ ...row, accepted_by: null, accepted_at: null, revoked_at: null })
      .returningAll()
      .executeTakeFirstOrThrow(),

  revokeBy: (db: Db, accountId: Id, { from, until }: Span): Promise<InvitationRow[]> =>
    db
      .updateTable('invitations')
      .set({ status: 'revoked', revoked_at: sql<Date>`now()`, updated_at: nextTime })
      .where('created_by', '=', accountId)
      .where('status', '=', 'pending')
      .where('created_at', '>=', from)
      .where('created_at', '<=', until)
      .returningAll()
      .execute(),

  list: (
    db: Db,
    workspaceId: Id,
    status: InvitationStatus | undefined,
    before: Id | null,
    limit: number,
  ): Promise<InvitationRow[]> =>
    db
      .selectFrom('invitations as i')
      .selectAll()
      .where('i.workspace_id', '=', workspaceId)
      .$if(status !== undefined, (query) => query.where(is[status!]))
      .$call(newestFirst('i.id', before, limit))
      .execute(),

  received: (db: Db, email: string, before: Id | null, limit: number): Promise<ReceivedRow[]> =>
    db
      .selectFrom('invitations as i')
      .innerJoin('workspaces as w', 'w.id', 'i.workspace_id')
      .leftJoin('accounts as a', 'a.id', 'i.created_by')
      .selectAll('i')
      .select(['w.name as workspace_name', 'a.name as invited_by'])
      .where(sql`lower(i.email)`, '=', email.toLowerCase())
      .where(openInvitation)
      .$call(newestFirst('i.id', before, limit))
      .execute(),

  get: (db: Db, id: Id): Promise<InvitationRow | undefined> =>
    db.selectFrom('invitations').selectAll().where('id', '=', id).executeTakeFirst(),

  byToken: (db: Db, tokenHash: Buffer): Promise<InvitationRow | undefined> =>
    db
      .selectFrom('invitations')
      .selectAll()
      .where((where) => where.or([where('token_hash', '=', tokenHash), where('mail_token_hash', '=', tokenHash)]))
      .executeTakeFirst(),

  /** The inviter's name. Null if the account was deleted. */
  async nameOf(db: Db, accountId: Id): Promise<string | null> {
    const row = await db.selectFrom('accounts').select('name').where('id', '=', accountId).executeTakeFirst()
    return row?.name ?? null
  },

  async countOpen(db: Db, workspaceId: Id): Promise<number> {
    const { count } = await db
      .selectFrom('invitations as i')
      .select(sql<number>`count(*)::int`.as('count'))
      .where('i.workspace_id', '=', workspaceId)
      .where(openInvitation)
      .executeTakeFirstOrThrow()
    return count
  },

  /** Revokes open invitations to this address in the workspace, before a newer one. */
  async revokeOpen(db: Db, workspaceId: Id, email: string): Promise<void> {
    await db
      .updateTable('invitations as i')
      .set({ status: 'revoked', revoked_at: sql<Date>`now()`, updated_at: nextTime })
      .where('i.workspace_id', '=', workspaceId)
      .where(sql`lower(i.email)`, '=', email.toLowerCase())
      .where(openInvitation)
      .execute()
  },

  update: (db: Db, id: Id, changes: Updateable<InvitationTable>): Promise<InvitationRow> =>
    db
      .updateTable('invitations')
      .set({ ...changes, updated_at: nextTime })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow(),
}
