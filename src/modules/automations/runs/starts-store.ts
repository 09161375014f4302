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

/** Remaining starts by account. Accounts without an entry are unlimited. */
export type RemainingStarts = Map<Id, number>

/** One token bucket per account, shared by all processes: scheduled starts per minute. */
export const startsStore = {
  /** Refills and locks the buckets, always in the same order. */
  async lock(db: Db, accountIds: Iterable<Id>, perMinute: number, now: Date): Promise<RemainingStarts> {
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

  async keep(db: Db, remainingStarts: RemainingStarts): Promise<void> {
    if (remainingStarts.size === 0) return
    await sql`update automation_starts s set tokens = l.tokens
      from unnest(${[...remainingStarts.keys()]}::ulid[], ${[...remainingStarts.values()]}::float8[]) as l(account_id, tokens)
      where s.account_id = l.account_id`.execute(db)
  },
}

export function takeStart(remainingStarts: RemainingStarts, accountId: Id): boolean {
  const tokens = remainingStarts.get(accountId)
  if (tokens === undefined) return true
  if (tokens < 1) return false
  remainingStarts.set(accountId, tokens - 1)
  return true
}
