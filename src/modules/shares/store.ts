import { sql } from 'kysely'
import type { Db } from '#infra/postgres/client.ts'
import { nextTime } from '#infra/postgres/client.ts'
import { type ShareRow, type SharedType, scopesOf, sharesOf } from '#authz/shares.ts'
import type { Id } from '#core/ids.ts'
import { type Principal, reachableWorkspaces } from '#core/principal.ts'

export type Grantee = { user_id: Id } | { email: string } | { workspace_id: Id }

export type NamedShare = ShareRow & { home: Id; grantee_name: string | null; shared_by: string | null }

const selectShares = sql`select s.*, r.workspace_id as home, coalesce(ga.name, gw.name) as grantee_name, by.name as shared_by`
const joins = sql`join resources r on r.id = s.resource_id
  left join accounts ga on ga.id = coalesce(s.account_id, s.claimed_by) left join workspaces gw on gw.id = s.workspace_id
  left join accounts by on by.id = s.created_by`

const isFor = (grantee: Grantee) =>
  'user_id' in grantee
    ? sql`s.account_id = ${grantee.user_id}`
    : 'email' in grantee
      ? sql`lower(s.email) = ${grantee.email.toLowerCase()}`
      : sql`s.workspace_id = ${grantee.workspace_id}`

export interface SharedResource {
  workspace_id: Id
  status: string
  created_by: Id | null
  title: string | null
  temporary: boolean
}

export const shareStore = {
  async list(db: Db, resourceId: Id, before: Id | null, limit: number): Promise<NamedShare[]> {
    const { rows } = await sql<NamedShare>`${selectShares} from shares s ${joins}
      where s.resource_id = ${resourceId} ${before === null ? sql`` : sql`and s.id < ${before}`}
      order by s.id desc limit ${limit}`.execute(db)
    return rows
  },

  async count(db: Db, resourceId: Id): Promise<number> {
    const { rows } = await sql<{
      count: number
    }>`select count(*)::int as count from shares where resource_id = ${resourceId}`.execute(db)
    return rows[0]!.count
  },

  async get(db: Db, id: Id): Promise<NamedShare | undefined> {
    const { rows } = await sql<NamedShare>`${selectShares} from shares s ${joins} where s.id = ${id}`.execute(db)
    return rows[0]
  },

  async find(db: Db, resourceId: Id, grantee: Grantee): Promise<NamedShare | undefined> {
    const { rows } = await sql<NamedShare>`${selectShares} from shares s ${joins}
      where s.resource_id = ${resourceId} and ${isFor(grantee)}`.execute(db)
    return rows[0]
  },

  async byToken(db: Db, tokenHash: Buffer): Promise<NamedShare | undefined> {
    const { rows } =
      await sql<NamedShare>`${selectShares} from shares s ${joins} where ${tokenHash} in (s.token_hash, s.mail_token_hash) for update of s`.execute(
        db,
      )
    return rows[0]
  },

  async insert(
    db: Db,
    row: Pick<
      ShareRow,
      'id' | 'resource_id' | 'resource_type' | 'access' | 'token_hash' | 'mail_token_hash' | 'created_by'
    > & {
      grantee: Grantee
    },
  ): Promise<boolean> {
    const { grantee, ...rest } = row
    const inserted = await db
      .insertInto('shares')
      .values({
        ...rest,
        account_id: 'user_id' in grantee ? grantee.user_id : null,
        workspace_id: 'workspace_id' in grantee ? grantee.workspace_id : null,
        email: 'email' in grantee ? grantee.email : null,
        claimed_by: null,
        claimed_at: null,
      })
      .onConflict((conflict) => conflict.doNothing())
      .returning('id')
      .executeTakeFirst()
    return inserted !== undefined
  },

  update: async (
    db: Db,
    id: Id,
    changes: Partial<Pick<ShareRow, 'access' | 'claimed_by' | 'claimed_at'>>,
  ): Promise<void> =>
    void (await db
      .updateTable('shares')
      .set({ ...changes, updated_at: nextTime })
      .where('id', '=', id)
      .execute()),

  delete: async (db: Db, id: Id): Promise<void> => void (await db.deleteFrom('shares').where('id', '=', id).execute()),

  /** Newest first. A resource shared in several ways appears several times. */
  async received(
    db: Db,
    principal: Principal,
    { types, before, limit }: { types: readonly SharedType[]; before: Id | null; limit: number },
  ): Promise<NamedShare[]> {
    // Shares with a workspace are visible to members who can read such resources there.
    const readable = types.map(
      (type) => sql`(s.resource_type = ${type} and (s.workspace_id is null
        or s.workspace_id = any(${reachableWorkspaces(principal, scopesOf(type).read)}::ulid[])))`,
    )
    const { rows } = await sql<NamedShare>`${selectShares} from ${sharesOf(principal, 'share:read')} s ${joins}
      where r.status <> 'trashed' and (${readable.length === 0 ? sql`false` : sql.join(readable, sql` or `)})
        ${before === null ? sql`` : sql`and s.id < ${before}`}
      order by s.id desc limit ${limit}`.execute(db)
    return rows
  },

  /** Shares this account gave, newest first, where it can still read such resources. */
  async givenBy(
    db: Db,
    principal: Principal,
    { types, before, limit }: { types: readonly SharedType[]; before: Id | null; limit: number },
  ): Promise<NamedShare[]> {
    const readable = types.map(
      (type) => sql`(s.resource_type = ${type}
        and r.workspace_id = any(${reachableWorkspaces(principal, scopesOf(type).read)}::ulid[]))`,
    )
    const { rows } = await sql<NamedShare>`${selectShares} from shares s ${joins}
      where s.created_by = ${principal.accountId} and r.status <> 'trashed'
        and r.workspace_id = any(${reachableWorkspaces(principal, 'share:read')}::ulid[])
        and (${readable.length === 0 ? sql`false` : sql.join(readable, sql` or `)})
        ${before === null ? sql`` : sql`and s.id < ${before}`}
      order by s.id desc limit ${limit}`.execute(db)
    return rows
  },

  async reachedAccounts(
    db: Db,
    { account_id, claimed_by, workspace_id, email, resource_type }: ShareRow,
  ): Promise<Id[]> {
    const { read, write } = scopesOf(resource_type)
    const { rows } = await sql<{ id: Id }>`
      select id from accounts where id in (${account_id}, ${claimed_by})
      union select account_id from members where workspace_id = ${workspace_id}
        and (permissions is null or permissions && ${[read, write]}::text[])
      union select id from accounts where lower(email) = ${email?.toLowerCase() ?? null} and email_verified_at is not null`.execute(
      db,
    )
    return rows.map(({ id }) => id)
  },

  async resource(db: Db, type: SharedType, id: Id): Promise<SharedResource | undefined> {
    const resourceRow =
      type === 'chat'
        ? sql`(select id, title, temporary from chats)`
        : type === 'agent'
          ? sql`(select id, name as title, false as temporary from agents)`
          : sql`(select id, name as title, false as temporary from files where kind = ${type})`
    const { rows } = await sql<SharedResource>`
      select r.workspace_id, r.status, r.created_by, o.title, o.temporary from resources r join ${resourceRow} o on o.id = r.id where r.id = ${id}`.execute(
      db,
    )
    return rows[0]
  },

  async titles(db: Db, ids: readonly Id[]): Promise<Map<Id, string | null>> {
    const { rows } = await sql<{ id: Id; title: string | null }>`
      select id, title from chats where id = any(${ids}::ulid[])
      union all select id, name from agents where id = any(${ids}::ulid[])
      union all select id, name from files where id = any(${ids}::ulid[])`.execute(db)
    return new Map(rows.map(({ id, title }) => [id, title]))
  },
}
