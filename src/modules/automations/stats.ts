import { sql } from 'kysely'
import type { Db } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import type { Nano } from '#core/money.ts'

export interface Stats {
  runs: number
  succeeded: number
  failed: number
  cost_nano: Nano
  last_30_days_nano: Nano
}

export async function statsOf(db: Db, where: { automationId: Id } | { workspaceId: Id }): Promise<Map<Id, Stats>> {
  const of =
    'automationId' in where
      ? sql`a.id = ${where.automationId}`
      : sql`a.id in (select id from resources where kind = 'automation' and workspace_id = ${where.workspaceId})`
  const { rows } = await sql<Stats & { automation_id: Id }>`select a.id as automation_id,
      count(*) filter (where x.status not in ('skipped', 'queued'))::int as runs,
      count(*) filter (where x.status = 'succeeded')::int as succeeded,
      count(*) filter (where x.status in ('failed', 'timed_out'))::int as failed,
      coalesce(sum(x.cost_nano), 0)::bigint as cost_nano,
      coalesce(sum(x.cost_nano) filter (where x.created_at > now() - interval '30 days'), 0)::bigint as last_30_days_nano
    from automations a left join automation_runs x on x.automation_id = a.id where ${of} group by 1`.execute(db)
  return new Map(rows.map(({ automation_id, ...stats }) => [automation_id, stats]))
}
