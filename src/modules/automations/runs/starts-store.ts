import { type Selectable, sql } from 'kysely'
import type { Db } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    automation_starts: StartsTable
  }
}

interface StartsTable {
  account_id: Id
  tokens: number
  at: Date
}

/** Starts that are left to each account. One that is not among them is not bounded. */
export type StartsLeft = Map<Id, number>

/** A token bucket per account in the database, so that many processes count as one: what the clock may start in a minute. */
export const startsStore = {
  /** Fills the buckets up to this moment and holds them until the transaction ends; always in one order. */
  async lock(db: Db, accountIds: Iterable<Id>, perMinute: number, now: Date): Promise<StartsLeft> {
    if (perMinute === 0) return new Map()
    const ids = [...new Set(accountIds)].toSorted()
    const { rows } = await sql<Selectable<StartsTable>>`
      insert into automation_starts as s (account_id, tokens, at)
      select account_id, ${perMinute}::float8, ${now}::timestamptz from unnest(${ids}::ulid[]) with ordinality as a(account_id, n) order by n
      on conflict (account_id) do update set at = excluded.at, tokens = least(${perMinute}::float8,
        s.tokens + greatest(0, extract(epoch from excluded.at - s.at)) / 60 * ${perMinute}::float8)
      returning *`.execute(db)
    return new Map(rows.map(({ account_id, tokens }) => [account_id, tokens]))
  },

  async keep(db: Db, left: StartsLeft): Promise<void> {
    if (left.size === 0) return
    await sql`update automation_starts s set tokens = l.tokens
      from unnest(${[...left.keys()]}::ulid[], ${[...left.values()]}::float8[]) as l(account_id, tokens)
      where s.account_id = l.account_id`.execute(db)
  },
}

/** Takes a start of the account's; false: there is none left now. */
export function takeStart(left: StartsLeft, accountId: Id): boolean {
  const tokens = left.get(accountId)
  if (tokens === undefined) return true
  if (tokens < 1) return false
  left.set(accountId, tokens - 1)
  return true
}
