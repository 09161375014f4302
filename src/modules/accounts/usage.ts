import type { z } from 'zod'
import type { Context } from '#infra/context.ts'
import { callsPage } from '#infra/ledger/calls/calls.ts'
import type { UsageFilters, CallsOwner } from '#infra/ledger/calls/calls.ts'
import { totalOf } from '#infra/ledger/calls/usage-days.ts'
import { placeIn } from '#authz/resources.ts'
import type { Page } from '#core/answers.ts'
import type { Id } from '#core/ids.ts'
import { toUsd } from '#core/money.ts'
import { reachableWorkspaces } from '#core/principal.ts'
import { iso, periodKey } from '#core/time.ts'
import type { MeteredCall, UsageSummary } from './contract.ts'
import { storageOf } from './storage.ts'
import type { AccountRow } from './store.ts'

function ownCalls({ principal: { accountId, credential } }: Context): CallsOwner {
  const boundWorkspaceId = credential.kind === 'session' ? null : credential.workspaceId
  return { accountId, ...(boundWorkspaceId !== null && { workspaceIds: [boundWorkspaceId] }) }
}

export interface HistoryFilters extends Pick<UsageFilters, 'from' | 'to' | 'model' | 'provider'> {
  day?: string | undefined
  key_id?: Id | undefined
  workspace_id?: Id | undefined
  cursor?: string | undefined
  limit: number
}

/** Newest first. Includes calls that just ended. */
export async function usageHistory(
  ctx: Context,
  { day, from = day, to = day, model, provider, key_id: keyId, workspace_id, cursor, limit }: HistoryFilters,
): Promise<Page<z.output<typeof MeteredCall>>> {
  if (workspace_id !== undefined) placeIn(ctx, workspace_id, { param: 'workspace_id' })
  const whose = { ...ownCalls(ctx), ...(workspace_id !== undefined && { workspaceIds: [workspace_id] }) }
  await ctx.engine.ledger.flush()
  return callsPage(ctx.db, whose, { from, to, model, provider, keyId }, { cursor, limit })
}

/** Storage the caller can read, and spending today, this month and in total. */
export async function usageSummary(ctx: Context, account: AccountRow): Promise<z.output<typeof UsageSummary>> {
  const whose = ownCalls(ctx)
  await ctx.engine.ledger.flush()
  const today = periodKey('day', ctx.now())
  const sum = (from?: string) => totalOf(ctx.db, whose, { from })
  const [storage, day, month, total] = await Promise.all([
    storageOf(ctx, reachableWorkspaces(ctx.principal, 'usage:read')),
    sum(today),
    sum(`${today.slice(0, 7)}-01`),
    sum(),
  ])
  const draws = account.tier === 'standard' && whose.workspaceIds === undefined
  return {
    id: account.id,
    created_at: iso(account.created_at),
    balance_usd: draws ? toUsd(await ctx.engine.ledger.balance(account.id)) : null,
    storage,
    calls: { today: day, this_month: month, total },
  }
}
