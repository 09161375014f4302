import { sql } from 'kysely'
import type { z } from 'zod'
import type { Context } from '#infra/context.ts'
import type { Page } from '#core/answers.ts'
import { absent, refuse } from '#core/errors.ts'
import { parseId } from '#core/ids.ts'
import { type Nano, toUsd } from '#core/money.ts'
import { cursorOf, pageOf, positionOf } from '#core/paging.ts'
import { isoOrNull } from '#core/time.ts'
import type { AccountForAdmin } from '../contract.ts'
import { showAccount } from '../show.ts'
import { type AccountRow, accountStore } from '../store.ts'

type Row = AccountRow & {
  balance_nano: Nano
  spent_nano: Nano
  spent_30d_nano: Nano
  last_seen_at: Date | null
}

export async function accountsForAdmin(
  ctx: Context,
  { q, cursor, limit }: { q?: string | undefined; cursor?: string | undefined; limit: number },
): Promise<Page<z.output<typeof AccountForAdmin>>> {
  await ctx.engine.ledger.flush()
  const before = positionOf('accounts', q ?? null, cursor)
  const words = q?.toLowerCase() ?? ''
  const { rows } = await sql<Row>`select a.*, coalesce(b.nano, 0) as balance_nano, u.spent_nano, u.spent_30d_nano,
      greatest(
        (select max(coalesce(s.last_used_at, s.created_at)) from sessions s where s.account_id = a.id),
        (select max(k.last_used_at) from api_keys k where k.account_id = a.id)) as last_seen_at
    from accounts a left join balances b on b.account_id = a.id,
      lateral (select coalesce(sum(d.cost_nano), 0)::bigint as spent_nano,
          coalesce(sum(d.cost_nano) filter (where d.day > (now() at time zone 'UTC')::date - 30), 0)::bigint
            as spent_30d_nano
        from usage_days d where d.account_id = a.id) u
    where true ${before === null ? sql`` : sql`and a.id < ${before[0]}`}
      ${words === '' ? sql`` : sql`and (position(${words} in lower(a.name)) > 0 or position(${words} in lower(a.email)) > 0)`}
    order by a.id desc limit ${limit + 1}`.execute(ctx.db)
  return pageOf(rows, limit, ({ id }) => cursorOf('accounts', q ?? null, [id]), show)
}

const show = (row: Row): z.output<typeof AccountForAdmin> => ({
  ...showAccount(row),
  status: 'active',
  balance_usd: row.tier === 'unlimited' ? null : toUsd(row.balance_nano),
  spent_usd: toUsd(row.spent_nano),
  spent_30d_usd: toUsd(row.spent_30d_nano),
  last_seen_at: isoOrNull(row.last_seen_at),
})

/**
 * Refuses an ambiguous name. Anyone can choose an ID or address as their name, so those forms are never matched as
 * names.
 */
export async function findAccount({ db }: Pick<Context, 'db'>, nameOrId: string): Promise<AccountRow> {
  const id = parseId(nameOrId)
  if (id !== null) return (await accountStore.get(db, id)) ?? notFound()
  if (nameOrId.includes('@')) return requireVerified((await accountStore.byEmail(db, nameOrId)) ?? notFound())
  const same = await accountStore.byName(db, nameOrId)
  if (same.length > 1)
    refuse('invalid_parameter', {
      param: 'id',
      message: `Several accounts are named ${nameOrId}. Use the email address instead.`,
      details: { accounts: same.map(({ id: one, email }) => ({ id: one, email })) },
    })
  return same[0] ?? notFound()
}

/** Anyone can sign up with someone else's address, so an unverified address identifies no account. */
function requireVerified(row: AccountRow): AccountRow {
  if (row.email_verified_at !== null || row.administrator) return row
  return refuse('invalid_state', {
    param: 'id',
    message: `The account with this email address hasn’t verified it, so it might belong to someone else. Check that first, then use the account ID: ${row.id}.`,
    details: { accounts: [{ id: row.id, email: row.email }] },
  })
}

const notFound = (): never => refuse('not_found', { param: 'id', message: absent('account') })
