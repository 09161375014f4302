/** `ukm_` and 256 random bits, stored as a hash. */
import { type Generated, type Selectable, sql } from 'kysely'
import { hashSecret, randomBase62 } from '#authz/api-key.ts'
import type { Db } from '#infra/postgres/client.ts'
import { type Id, newId } from '#core/ids.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    computer_credentials: CredentialTable
  }
}
interface CredentialTable {
  id: Id
  computer_id: Id
  credential_hash: Buffer
  /** Null: valid until replaced. */
  expires_at: Date | null
  created_at: Generated<Date>
}
export type CredentialRow = Selectable<CredentialTable>

const SHAPE = /^ukm_[0-9A-Za-z]{43}$/

export interface Machine {
  computerId: Id
  credentialId: Id
}

const holds = sql<boolean>`(expires_at is null or expires_at > now())`

/** Returns the credential in plain text, only once. */
export async function addCredential(db: Db, computerId: Id): Promise<Machine & { credential: string }> {
  const credential = `ukm_${randomBase62(43)}`
  const credentialId = newId()
  await db
    .insertInto('computer_credentials')
    .values({ id: credentialId, computer_id: computerId, credential_hash: hashSecret(credential), expires_at: null })
    .execute()
  return { computerId, credentialId, credential }
}

export async function findMachine(db: Db, credential: string): Promise<Machine | null> {
  if (!SHAPE.test(credential)) return null
  const row = await db
    .selectFrom('computer_credentials')
    .select(['id', 'computer_id'])
    .where('credential_hash', '=', hashSecret(credential))
    .where(holds)
    .executeTakeFirst()
  return row ? { computerId: row.computer_id, credentialId: row.id } : null
}

/** Expired credentials and replaced links. Each process asks every two seconds and on the topic `computers`. */
export async function findEndedLinks(
  db: Db,
  links: readonly (Machine & { epoch: number })[],
): Promise<(Machine & { replaced: boolean })[]> {
  if (links.length === 0) return []
  const { rows } = await sql<{ computer_id: Id; credential_id: Id; replaced: boolean }>`
    select l.computer_id, l.credential_id, c.link_epoch is distinct from l.epoch and k.id is not null as replaced
    from unnest(${links.map(({ computerId }) => computerId)}::ulid[], ${links.map(({ credentialId }) => credentialId)}::ulid[],
      ${links.map(({ epoch }) => epoch)}::bigint[]) as l(computer_id, credential_id, epoch)
    left join computers c on c.id = l.computer_id
    left join computer_credentials k on k.id = l.credential_id and (k.expires_at is null or k.expires_at > now())
    where k.id is null or c.link_epoch is distinct from l.epoch`.execute(db)
  return rows.map((row) => ({ computerId: row.computer_id, credentialId: row.credential_id, replaced: row.replaced }))
}

export async function retireOthers(db: Db, { computerId, credentialId }: Machine, seconds: number): Promise<void> {
  await sql`update computer_credentials set expires_at = least(expires_at, now() + make_interval(secs => ${seconds}))
    where computer_id = ${computerId} and id <> ${credentialId}`.execute(db)
  await sql`delete from computer_credentials where computer_id = ${computerId} and expires_at < now() - interval '1 day'`.execute(
    db,
  )
}

export async function dropCredential(db: Db, id: Id): Promise<void> {
  await db.deleteFrom('computer_credentials').where('id', '=', id).execute()
}
