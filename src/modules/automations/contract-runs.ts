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
      .describe('Why it did not run. `rate_limited`: the clock had started as many in that minute as the account may.'),
    attempt: z.int(),
    trigger: z.enum(['cron', 'webhook', 'test', 'retry']),
    scheduled_for: time.nullable(),
    webhook_id: z.string().nullable(),
    chat_id: idOut.nullable(),
    run_id: idOut.nullable(),
    operation_id: idOut.nullable().describe('The operation that runs its command; its content is the output.'),
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
  runs: z.int().describe('Those that ran; skipped ticks are none.'),
  succeeded: z.int(),
  failed: z.int().describe('With those that took too long.'),
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
        local: z.string().describe('What the clock shows there, such as `2027-03-28T09:00:00`.'),
        utc_offset_minutes: z.int().describe('Of the time zone at that moment.'),
        clock_change_minutes: z
          .int()
          .describe(
            'How far the clock was put forward (more than 0) or back since the firing before it, or since now: daylight saving time began or ended.',
          ),
      }),
    ),
  })
  .meta({ id: 'AutomationFirings' })
