import { showResource } from '#authz/resources.ts'
import { usdOrNull } from '#core/money.ts'
import { isoOrNull } from '#core/time.ts'
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
