import { type Generated, type Selectable, sql } from 'kysely'
import type { z } from 'zod'
import type { Context } from '#infra/context.ts'
import { type Db, nextTime, sqlState } from '#infra/postgres/client.ts'
import type { Page } from '#core/answers.ts'
import { refuse } from '#core/errors.ts'
import { type Id, newId } from '#core/ids.ts'
import { isHeldToOne } from '#core/principal.ts'
import { type Nano, nanoOrNull, toUsd, usdOrNull } from '#core/money.ts'
import { cursorOf, pageOf, positionOf } from '#core/paging.ts'
import { iso, isoOrNull } from '#core/time.ts'
import type { CreditRequest } from '../contract-credits.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    credit_requests: CreditRequestTable
  }
}

interface CreditRequestTable {
  id: Id
  account_id: Id
  amount_nano: Nano | null
  note: string
  status: Generated<'pending' | 'granted' | 'refused'>
  granted_nano: Nano | null
  answer: string | null
  answered_by: Id | null
  answered_at: Date | null
  created_at: Generated<Date>
  updated_at: Generated<Date>
}
type Row = Selectable<CreditRequestTable> & { name: string; email: string; balance_nano: Nano }
type RequestView = z.output<typeof CreditRequest>

const MAX_A_DAY = 5

const requestQuery = sql`select r.*, a.name, a.email, coalesce(b.nano, 0) as balance_nano
  from credit_requests r join accounts a on a.id = r.account_id left join balances b on b.account_id = r.account_id`

async function findRequest(db: Db, id: Id): Promise<Row | undefined> {
  const { rows } = await sql<Row>`${requestQuery} where r.id = ${id}`.execute(db)
  return rows[0]
}

export async function requestCredits(
  ctx: Context,
  { amount_usd, note }: { amount_usd: number | null; note: string },
): Promise<RequestView> {
  const { accountId, tier } = ctx.principal
  if (tier === 'unlimited')
    refuse('invalid_state', {
      message: 'Your account has no credit balance, so it doesn’t need credits.',
      details: { status: 'unlimited', allowed: [] },
    })
  return ctx.transaction(async (ctx) => {
    // Serializes concurrent requests.
    await sql`select from accounts where id = ${accountId} for no key update`.execute(ctx.db)
    const { rows } = await sql<{ count: number }>`select count(*)::int as count from credit_requests
      where account_id = ${accountId} and created_at > now() - interval '1 day'`.execute(ctx.db)
    const { rows: open } = await sql<{ id: Id }>`select id from credit_requests
      where account_id = ${accountId} and status = 'pending'`.execute(ctx.db)
    if (open[0])
      refuse('already_exists', {
        message: 'You already have an open credit request. Wait for the administrator’s decision.',
        details: { id: open[0].id },
      })
    if (rows[0]!.count >= MAX_A_DAY)
      refuse('limit_reached', {
        message: `You can make up to ${MAX_A_DAY} credit requests a day. Try again tomorrow.`,
        details: { limit: MAX_A_DAY },
      })
    const id = newId()
    await ctx.db
      .insertInto('credit_requests')
      .values({
        id,
        account_id: accountId,
        amount_nano: nanoOrNull(amount_usd),
        note,
        granted_nano: null,
        answer: null,
        answered_by: null,
        answered_at: null,
      })
      .execute()
      .catch((error: unknown) => {
        if (sqlState(error) !== '23505') throw error
        return refuse('already_exists', {
          message: 'You already have an open credit request. Wait for the administrator’s decision.',
        })
      })
    const row = (await findRequest(ctx.db, id))!
    const administrators = await ctx.db.selectFrom('accounts').select('id').where('administrator', '=', true).execute()
    await ctx.emit({
      type: 'credits.requested',
      channels: [`user:${accountId}`, ...administrators.map((one) => `user:${one.id}`)],
      resource: { type: 'credit_request', id },
      data: { id, account_id: accountId, name: row.name, amount_usd, note },
    })
    return show(row)
  })
}

export async function listRequests(
  { db }: Pick<Context, 'db'>,
  {
    accountId,
    status,
    cursor,
    limit,
  }: { accountId: Id | null; status?: Row['status'] | undefined; cursor?: string | undefined; limit: number },
): Promise<Page<RequestView>> {
  const filters = { accountId, status }
  const before = positionOf('credit_requests', filters, cursor)
  const { rows } = await sql<Row>`${requestQuery} where true
    ${accountId === null ? sql`` : sql`and r.account_id = ${accountId}`}
    ${status === undefined ? sql`` : sql`and r.status = ${status}`}
    ${before === null ? sql`` : sql`and r.id < ${before[0]}`} order by r.id desc limit ${limit + 1}`.execute(db)
  return pageOf(rows, limit, ({ id }) => cursorOf('credit_requests', filters, [id]), show)
}

/** A key bound to a workspace sees nothing of the account. */
export const ownRequests = (ctx: Context, input: { cursor?: string | undefined; limit: number }) =>
  isHeldToOne(ctx.principal)
    ? { rows: [], next: null }
    : listRequests(ctx, { ...input, accountId: ctx.principal.accountId })

/** Decides a request once. Repeating the same decision has no effect. Notifies the requester. */
export function answerRequest(
  ctx: Context,
  id: Id,
  { status, amount_usd, note }: { status: 'granted' | 'refused'; amount_usd?: number | undefined; note: string },
): Promise<RequestView> {
  return ctx.transaction(async (ctx) => {
    await sql`select from credit_requests where id = ${id} for update`.execute(ctx.db)
    const row = (await findRequest(ctx.db, id)) ?? refuse('not_found', { param: 'id' })
    if (row.status === status) return show(row)
    if (row.status !== 'pending')
      refuse('invalid_state', {
        message: `This request was already ${row.status}.`,
        details: { status: row.status, allowed: [] },
      })
    const grantedNano =
      status === 'refused' ? null : amount_usd === undefined ? row.amount_nano : nanoOrNull(amount_usd)
    if (status === 'granted' && grantedNano === null)
      refuse('missing_parameter', {
        param: 'amount_usd',
        message: '`amount_usd` is required, because the request doesn’t name an amount.',
      })
    const by = ctx.principal.accountId
    if (grantedNano !== null) await ctx.engine.ledger.grant(ctx.db, row.account_id, grantedNano, note, by)
    await ctx.db
      .updateTable('credit_requests')
      .set({
        status,
        granted_nano: grantedNano,
        answer: note === '' ? null : note,
        answered_by: by,
        answered_at: ctx.now(),
        updated_at: nextTime,
      })
      .where('id', '=', id)
      .execute()
    await ctx.emit({
      type: status === 'granted' ? 'credits.granted' : 'credits.refused',
      channels: [`user:${row.account_id}`],
      resource: { type: 'account', id: row.account_id },
      data: { request_id: id, amount_usd: usdOrNull(grantedNano ?? row.amount_nano), note },
    })
    return show((await findRequest(ctx.db, id))!)
  })
}

const show = (row: Row): RequestView => ({
  id: row.id,
  account_id: row.account_id,
  name: row.name,
  email: row.email,
  amount_usd: usdOrNull(row.amount_nano),
  note: row.note,
  balance_usd: toUsd(row.balance_nano),
  status: row.status,
  granted_usd: usdOrNull(row.granted_nano),
  answer: row.answer,
  answered_at: isoOrNull(row.answered_at),
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})
