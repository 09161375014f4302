import { sql } from 'kysely'
import type { z } from 'zod'
import type { Context } from '#infra/context.ts'
import type { UsageFilters, CallsOwner } from '#infra/ledger/calls/calls.ts'
import { type UsageGroup, sumDays } from '#infra/ledger/calls/usage-days.ts'
import { placeIn } from '#authz/resources.ts'
import { absent, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { atLeast } from '#core/scopes.ts'
import { periodKey } from '#core/time.ts'
import type { Billing } from '#core/usage.ts'
import type { GatewayUsage } from '../contract-usage.ts'
import { isInstanceAdmin } from '../endpoints/administer.ts'

const DAYS = 30
const MAX_DAYS = 366 * 10
/** Rows of the series (days × models). The oldest days beyond are omitted. */
const MAX_ROWS = 20_000

interface ReportQuery extends Pick<UsageFilters, 'from' | 'to' | 'model' | 'provider' | 'surface' | 'billing'> {
  workspace_id?: Id | undefined
  instance?: boolean | undefined
  key_id?: Id | undefined
  series: 'model' | 'provider' | 'key'
  limit: number
}

/** Reads only the daily sums kept by settlements, never the calls themselves. */
export async function gatewayUsage(
  ctx: Context,
  { workspace_id, instance, key_id, series, limit, ...filters }: ReportQuery,
): Promise<Omit<z.output<typeof GatewayUsage>, 'id' | 'created_at'>> {
  const view = viewOf(ctx, workspace_id, instance === true)
  const today = ctx.now()
  const to = filters.to ?? periodKey('day', today)
  const from = filters.from ?? daysBefore(to, DAYS - 1)
  if (from > to || from < daysBefore(to, MAX_DAYS))
    refuse('invalid_parameter', { param: 'from', message: '`from` must be before `to`, by up to 10 years.' })
  await ctx.engine.ledger.flush()
  const usageFilters = { ...filters, from, to, keyId: key_id }
  const sets = [
    [],
    ['model'],
    ['provider'],
    ['key'],
    ['day'],
    ['surface'],
    ['billing'],
    ['account'],
    ['day', series],
  ] as const
  const sums = await sumDays(ctx.db, view.whose, usageFilters, sets, MAX_ROWS)
  const [[total], models, providers, keys, days, surfaces, billings, accounts, both] = sums as [
    [UsageGroup],
    ...UsageGroup[][],
  ]
  const top = (all: UsageGroup[] | undefined): UsageGroup[] => all!.slice(0, limit)
  const names = await namesOf(ctx, idsOf(top(keys), 'key'), idsOf(top(accounts), 'account'))
  return {
    whose: view.of,
    workspace_id: workspace_id ?? null,
    from,
    to,
    total: total.sums,
    by_model: top(models).map(({ of, sums }) => ({ model: of.model!, ...sums })),
    by_provider: top(providers).map(({ of, sums }) => ({ provider: of.provider!, ...sums })),
    by_key: top(keys).map(({ of: { key = null }, sums }) => ({
      key_id: key,
      name: key === null ? null : (names.get(key) ?? null),
      ...sums,
    })),
    by_day: days!.map(({ of, sums }) => ({ day: of.day!, ...sums })),
    by_surface: top(surfaces).map(({ of, sums }) => ({ surface: of.surface!, ...sums })),
    by_billing: top(billings).map(({ of, sums }) => ({ billing: of.billing as Billing, ...sums })),
    by_member: top(accounts).map(({ of, sums }) => ({
      user_id: of.account!,
      name: names.get(of.account!) ?? null,
      ...sums,
    })),
    series: both!.map(({ of, sums }) => ({ day: of.day!, name: of[series] ?? null, ...sums })),
    applied_filters: Object.fromEntries(
      Object.entries({ ...filters, key_id, workspace_id, instance, series }).filter(([, value]) => value !== undefined),
    ),
  }
}

/** The calls the caller may see. `role`: the minimum role for seeing everyone's calls in a workspace. */
export function viewOf(
  ctx: Context,
  workspaceId: Id | undefined,
  instance: boolean,
  role: 'admin' | 'owner' = 'admin',
): { whose: CallsOwner; of: 'account' | 'workspace' | 'instance' } {
  const { accountId, credential } = ctx.principal
  if (instance) {
    if (!isInstanceAdmin(ctx))
      refuse('insufficient_role', {
        param: 'instance',
        message: 'Only an administrator of this instance can do this.',
      })
    return { whose: workspaceId === undefined ? {} : { workspaceIds: [workspaceId] }, of: 'instance' }
  }
  const boundWorkspaceId = credential.kind === 'session' ? null : credential.workspaceId
  const id = workspaceId ?? boundWorkspaceId
  if (id === null) return { whose: { accountId }, of: 'account' }
  const { role: own, permissions } = placeIn(ctx, id, { param: 'workspace_id', message: absent('workspace') })
  const all = atLeast(own, role) && (permissions === null || permissions.has('gateway:read'))
  return all
    ? { whose: { workspaceIds: [id] }, of: 'workspace' }
    : { whose: { accountId, workspaceIds: [id] }, of: 'account' }
}

async function namesOf({ db }: Context, keys: readonly Id[], accounts: readonly Id[]): Promise<Map<Id, string>> {
  const { rows } = await sql<{ id: Id; name: string }>`select id, name from api_keys where id = any(${keys}::ulid[])
    union all select id, name from accounts where id = any(${accounts}::ulid[])`.execute(db)
  return new Map(rows.map(({ id, name }) => [id, name]))
}

const idsOf = (rows: readonly UsageGroup[], dimension: 'key' | 'account'): Id[] =>
  rows.flatMap(({ of }) => of[dimension] ?? [])

const daysBefore = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) - days * 86_400_000).toISOString().slice(0, 10)
