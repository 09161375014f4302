import { showResource } from '#access/resources.ts'
import { usdOrNull, toUsd } from '#kernel/money.ts'
import { iso, isoOrNull } from '#kernel/time.ts'
import type { AutomationRunRow, Stats } from './runs/run-store.ts'
import type { AutomationRow } from './store.ts'

export const showAutomation = (row: AutomationRow) => ({
  ...showResource({ ...row, kind: 'automation' }),
  name: row.name,
  kind: row.kind,
  schedule: row.schedule,
  time_zone: row.time_zone,
  action: row.action,
  overlap: row.overlap,
  catch_up: row.catch_up,
  catch_up_window_seconds: row.catch_up_window_seconds,
  max_cost_usd: usdOrNull(row.max_cost_nano),
  timeout_seconds: row.timeout_seconds,
  next_run_at: row.status === 'active' && row.paused_reason === null ? isoOrNull(row.next_fire_at) : null,
  last_run_at: isoOrNull(row.last_fired_at),
  paused_reason: row.paused_reason,
  paused_at: isoOrNull(row.paused_at),
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
