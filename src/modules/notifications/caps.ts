import { sql } from 'kysely'
import { cappedKeys } from '#modules/api-keys/service.ts'
import { budgetedMembers, budgetedWorkspaces } from '#modules/workspaces/service.ts'
import type { Engine } from '#infra/context.ts'
import { writeOutbox } from '#infra/outbox/outbox.ts'
import type { Db } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import { type Nano, toUsd } from '#core/money.ts'
import { type Period, periodKey } from '#core/time.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    cap_marks: { subject: Id; mark: string }
  }
}

const NEAR_PERCENT = 80n

interface Cap {
  kind: 'api_key' | 'workspace' | 'member' | 'account'
  id: Id
  name: string | null
  cap: Nano
  spent: Nano
  /** The period of the cap: one notification per period and threshold. */
  period: string
  tell: Id[]
}

export async function watchCaps(engine: Engine): Promise<void> {
  const { db } = engine.postgres
  const caps = [
    ...(await keyCaps(engine, db)),
    ...(await budgets(engine, db)),
    ...(await ownBudgets(engine, db)),
    ...(await balances(db)),
  ]
  for (const cap of caps) {
    const reached = cap.spent >= cap.cap
    if (!reached && cap.spent * 100n < cap.cap * NEAR_PERCENT) continue
    const told = await db.transaction().execute(async (tx) => {
      const steps = reached ? ['near', 'reached'] : ['near']
      const marks = steps.map((step) => ({ subject: cap.id, mark: `${cap.period} ${cap.cap} ${step}` }))
      const fresh = await tx
        .insertInto('cap_marks')
        .values(marks)
        .onConflict((conflict) => conflict.doNothing())
        .returning('mark')
        .execute()
      if (!fresh.some(({ mark }) => mark === marks.at(-1)!.mark)) return false
      await writeOutbox(
        tx,
        {
          type: reached ? 'cap.reached' : 'cap.near',
          channels: [
            ...cap.tell.map((id) => `user:${id}`),
            ...(cap.kind === 'workspace' ? [`workspace:${cap.id}`] : []),
          ],
          resource: { type: cap.kind, id: cap.id },
          data: { id: cap.id, kind: cap.kind, name: cap.name, cap_usd: toUsd(cap.cap), spent_usd: toUsd(cap.spent) },
        },
        null,
      )
      return true
    })
    if (told) engine.bus.poke('outbox')
  }
  await sql`delete from cap_marks where at < now() - interval '400 days'`.execute(db)
}

async function keyCaps(engine: Engine, db: Db): Promise<Cap[]> {
  const keys = await cappedKeys(db)
  const spent = await spentOf(engine, keys)
  return keys.map((key) => ({
    kind: 'api_key',
    id: key.id,
    name: key.name,
    cap: key.spend_cap_nano!,
    spent: spent.get(key.id) ?? 0n,
    period: periodKey(key.spend_cap_period, new Date()),
    tell: [key.account_id],
  }))
}

async function budgets(engine: Engine, db: Db): Promise<Cap[]> {
  const workspaces = await budgetedWorkspaces(db)
  const spent = await spentOf(engine, workspaces)
  return workspaces.map((workspace) => ({
    kind: 'workspace',
    id: workspace.id,
    name: workspace.name,
    cap: workspace.spend_cap_nano,
    spent: spent.get(workspace.id) ?? 0n,
    period: periodKey(workspace.spend_cap_period, new Date()),
    tell: workspace.managers,
  }))
}

/** Members' caps, with the member and the workspace's managers as recipients. */
async function ownBudgets(engine: Engine, db: Db): Promise<Cap[]> {
  const members = await budgetedMembers(db)
  const spent = await spentOf(engine, members)
  return members.map((member) => ({
    kind: 'member',
    id: member.id,
    name: `${member.name} in ${member.workspace}`,
    cap: member.spend_cap_nano,
    spent: spent.get(member.id) ?? 0n,
    period: periodKey(member.spend_cap_period, new Date()),
    tell: [...new Set([member.account_id, ...member.managers])],
  }))
}

const BATCH = 500

async function spentOf(
  { ledger }: Engine,
  subjects: readonly { id: Id; spend_cap_period: Period }[],
): Promise<Map<Id, Nano>> {
  const all = new Map<Id, Nano>()
  for (let i = 0; i < subjects.length; i += BATCH) {
    const batch = subjects.slice(i, i + BATCH).map(({ id, spend_cap_period }) => ({ id, period: spend_cap_period }))
    for (const [id, nano] of await ledger.readSpends(batch)) all.set(id, nano)
  }
  return all
}

/** Compares balances with the amount after the last top-up. The unlimited tier has none. */
async function balances(db: Db): Promise<Cap[]> {
  const { rows } = await sql<{ account_id: Id; nano: Nano; filled: Nano; at: Date }>`
    select b.account_id, b.nano, f.nano as filled, f.at from filled_balances f join balances b using (account_id)
      join accounts a on a.id = b.account_id
    where a.tier = 'standard' and b.nano * 100 <= f.nano * ${String(100n - NEAR_PERCENT)}::int8`.execute(db)
  return rows.map(({ account_id, nano, filled, at }) => ({
    kind: 'account',
    id: account_id,
    name: null,
    cap: filled,
    spent: filled - nano,
    period: at.toISOString(),
    tell: [account_id],
  }))
}

/** Restarts the measurement of a balance after a top-up. */
export async function filled(db: Db, accountId: Id): Promise<void> {
  await sql`insert into filled_balances (account_id, nano) select account_id, nano from balances where account_id = ${accountId} and nano > 0
    on conflict (account_id) do update set nano = excluded.nano, at = now()`.execute(db)
}
