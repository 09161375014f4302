import type { EmittedEvent } from '#infra/outbox/outbox.ts'
import type { Id } from '#core/ids.ts'
import { toUsd, usdOrNull } from '#core/money.ts'
import { iso, isoOrNull } from '#core/time.ts'
import type { AutomationRunRow } from './run-store.ts'
import type { Stats } from '../stats.ts'

/** Failures are also sent to the owner's own channel. */
export const runEvent = (
  run: Pick<AutomationRunRow, 'id' | 'automation_id' | 'workspace_id' | 'status' | 'chat_id' | 'run_id' | 'error'>,
  verb: string,
  { name, account_id }: { name: string; account_id: Id },
): EmittedEvent => ({
  type: `automation.run.${verb}`,
  channels: [`workspace:${run.workspace_id}`, ...(verb === 'failed' ? [`user:${account_id}`] : [])],
  resource: { type: 'automation_run', id: run.id },
  data: {
    id: run.id,
    automation_id: run.automation_id,
    workspace_id: run.workspace_id,
    status: run.status,
    chat_id: run.chat_id,
    run_id: run.run_id,
    name,
    error: run.error?.message ?? null,
  },
})

export const showRun = (row: AutomationRunRow) => ({
  id: row.id,
  automation_id: row.automation_id,
  workspace_id: row.workspace_id,
  status: row.status,
  skip_reason: row.skip_reason,
  attempt: row.attempt,
  trigger: row.trigger,
  scheduled_for: isoOrNull(row.scheduled_for),
  webhook_id: row.webhook_id,
  chat_id: row.chat_id,
  run_id: row.run_id,
  operation_id: row.operation_id,
  error: row.error,
  cost_usd: usdOrNull(row.cost_nano),
  started_at: isoOrNull(row.started_at),
  completed_at: isoOrNull(row.completed_at),
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

const NONE: Stats = { runs: 0, succeeded: 0, failed: 0, cost_nano: 0n, last_30_days_nano: 0n }

export const showStats = ({ runs, succeeded, failed, cost_nano, last_30_days_nano }: Stats = NONE) => ({
  runs,
  succeeded,
  failed,
  cost_usd: toUsd(cost_nano),
  average_cost_usd: runs === 0 ? null : toUsd(cost_nano / BigInt(runs)),
  last_30_days_usd: toUsd(last_30_days_nano),
})
