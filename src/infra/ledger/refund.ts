import { sql } from 'kysely'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { type Nano, formatUsd } from '#core/money.ts'
import type { Db } from '../postgres/client.ts'
import type { Refund } from './ledger.ts'

/** Locks the call, so concurrent refunds can't exceed the charge. */
export async function refundCall(db: Db, callId: Id, amount: Nano | null, note: string, by: Id): Promise<Refund> {
  const call =
    (await db.selectFrom('calls').selectAll().where('id', '=', callId).forUpdate().executeTakeFirst()) ??
    refuse('not_found', { param: 'id' })
  const remaining = call.charged_nano - call.refunded_nano
  if (remaining <= 0n)
    refuse('invalid_state', {
      message:
        call.charged_nano === 0n
          ? 'This call wasn’t charged, so there is nothing to refund.'
          : 'This call was already fully refunded.',
      details: { status: call.charged_nano === 0n ? 'not_charged' : 'refunded', allowed: [] },
    })
  const back = amount ?? remaining
  if (back > remaining)
    refuse('invalid_parameter', {
      param: 'amount_usd',
      message: `Up to ${formatUsd(remaining)} USD can still be refunded.`,
    })
  await db
    .updateTable('calls')
    .set({ refunded_nano: call.refunded_nano + back })
    .where('id', '=', callId)
    .execute()
  await sql`update usage_days set refunded_nano = refunded_nano + ${back}
    where account_id = ${call.account_id} and day = (${call.created_at} at time zone 'UTC')::date
      and workspace_id = ${call.workspace_id} and key_id is not distinct from ${call.key_id}
      and surface = ${call.surface} and model = ${call.model} and provider = ${call.provider}
      and billing = ${call.billing}`.execute(db)
  await sql`insert into ledger (account_id, kind, nano, change, call_id, note, by_account)
    values (${call.account_id}, 'refund', ${back}, ${back}, ${callId}, ${note}, ${by})`.execute(db)
  const { rows } = await sql<{ nano: Nano }>`update balances set nano = nano + ${back}
    where account_id = ${call.account_id} returning nano`.execute(db)
  return {
    accountId: call.account_id,
    workspaceId: call.workspace_id,
    amount: back,
    refunded: call.refunded_nano + back,
    charged: call.charged_nano,
    balance: rows[0]!.nano,
  }
}
