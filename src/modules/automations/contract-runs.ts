import { z } from 'zod'
import { base, idOut, time, usd } from '#core/contract.ts'

export const AutomationRun = z
  .object({
    ...base,
    automation_id: idOut,
    workspace_id: idOut,
    status: z.enum(['queued', 'running', 'succeeded', 'failed', 'cancelled', 'timed_out', 'skipped']),
    skip_reason: z
      .enum(['overlap', 'missed', 'archived', 'budget', 'rate_limited', 'paused'])
      .nullable()
      .describe(
        'Why the run was skipped. `rate_limited`: the account’s limit of scheduled runs per minute was reached.',
      ),
    attempt: z.int(),
    trigger: z.enum(['cron', 'webhook', 'test', 'retry']),
    scheduled_for: time.nullable(),
    webhook_id: z.string().nullable(),
    chat_id: idOut.nullable(),
    run_id: idOut.nullable(),
    operation_id: idOut.nullable().describe('The operation that runs the command. Its content is the output.'),
    error: z
      .object({
        type: z.string(),
        message: z.string(),
        code: z.string().optional(),
        details: z.record(z.string(), z.unknown()).optional(),
      })
      .nullable(),
    cost_usd: usd.nullable(),
    started_at: time.nullable(),
    completed_at: time.nullable(),
  })
  .meta({ id: 'AutomationRun' })

const stats = {
  runs: z.int().describe('The number of runs, without skipped ones.'),
  succeeded: z.int(),
  failed: z.int().describe('Includes runs that timed out.'),
  cost_usd: usd,
  average_cost_usd: usd.nullable(),
  last_30_days_usd: usd,
}
export const CostStats = z.object({ id: idOut, created_at: time, ...stats }).meta({ id: 'AutomationCostStats' })
export const KeyedCostStats = z
  .object({ id: idOut, created_at: time, automations: z.record(z.string(), z.object(stats)) })
  .meta({ id: 'AutomationsCostStats' })

export const AutomationFirings = z
  .object({
    id: idOut,
    created_at: time,
    schedule: z.string(),
    time_zone: z.string(),
    firings: z.array(
      z.object({
        at: time,
        local: z.string().describe('The local time there, such as `2027-03-28T09:00:00`.'),
        utc_offset_minutes: z.int().describe('The UTC offset of the time zone at that time.'),
        clock_change_minutes: z
          .int()
          .describe(
            'How far the clock moved forward (positive) or back since the previous run, or since now, because daylight saving time started or ended.',
          ),
      }),
    ),
  })
  .meta({ id: 'AutomationFirings' })
