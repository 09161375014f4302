import { sql } from 'kysely'
import { keyName } from '#modules/api-keys/service.ts'
import type { Ledger } from '#infra/ledger/ledger.ts'
import { totalOf } from '#infra/ledger/calls/usage-days.ts'
import type { Postgres } from '#infra/postgres/client.ts'
import type { UsageLookup, SpentByPeriod } from '#gateway/request/usage-lookup.ts'
import { type Nano, toUsd } from '#core/money.ts'

const periods = ['day', 'week', 'month', 'total'] as const

export const createUsageLookup = ({
  postgres: { db },
  ledger,
}: {
  postgres: Postgres
  ledger: Ledger
}): UsageLookup => ({
  async key({ accountId, credential }) {
    if (credential.kind !== 'key') return null
    const { id } = credential
    await ledger.flush()
    const spendingOf = async (period: (typeof periods)[number]): Promise<number> =>
      toUsd((await ledger.readSpends([{ id, period }])).get(id) ?? 0n)
    const byok = async (period: (typeof periods)[number]): Promise<number> =>
      (await totalOf(db, { accountId }, { keyId: id, billing: 'byok', ...since(period) })).cost_usd
    return { name: await keyName(db, id), spent: await byPeriod(spendingOf), byok: await byPeriod(byok) }
  },

  async credits({ accountId, tier }) {
    await ledger.flush()
    const { charged_usd, refunded_usd } = await totalOf(db, { accountId })
    const spentUsd = tier === 'unlimited' ? 0 : charged_usd - refunded_usd
    const { rows } = await sql<{ held: Nano }>`select coalesce(sum(nano) filter (where drawn), 0)::int8 as held
      from reservations where account_id = ${accountId}`.execute(db)
    return { granted: toUsd((await ledger.balance(accountId)) + rows[0]!.held) + spentUsd, used: spentUsd }
  },

  async call({ accountId, credential }, id) {
    await ledger.flush()
    const row = await db
      .selectFrom('calls')
      .selectAll()
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .executeTakeFirst()
    const boundWorkspaceId = credential.kind === 'session' ? null : credential.workspaceId
    return row === undefined || (boundWorkspaceId !== null && row.workspace_id !== boundWorkspaceId) ? null : row
  },
})

const byPeriod = async (of: (period: (typeof periods)[number]) => Promise<number>): Promise<SpentByPeriod> => ({
  day: await of('day'),
  week: await of('week'),
  month: await of('month'),
  total: await of('total'),
})

/** In UTC. Weeks start on Monday. */
function since(period: (typeof periods)[number]): { from?: string } {
  const now = new Date()
  const day = (date: number): string =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), date)).toISOString().slice(0, 10)
  switch (period) {
    case 'day':
      return { from: day(now.getUTCDate()) }
    case 'week':
      return { from: day(now.getUTCDate() - ((now.getUTCDay() + 6) % 7)) }
    case 'month':
      return { from: day(1) }
    case 'total':
      return {}
  }
}
