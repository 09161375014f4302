import type { Tone } from '../ui/page.tsx'
import type { Automation, AutomationRun } from './queries.ts'

export const runTones: Record<AutomationRun['status'], Tone> = {
  queued: 'ai',
  running: 'ai',
  succeeded: 'good',
  failed: 'bad',
  timed_out: 'bad',
  cancelled: 'warn',
  skipped: 'plain',
}
export const saysRun: Record<AutomationRun['status'], string> = {
  queued: 'waiting',
  running: 'running',
  succeeded: 'succeeded',
  failed: 'failed',
  timed_out: 'timed out',
  cancelled: 'cancelled',
  skipped: 'skipped',
}
export const saysTrigger: Record<AutomationRun['trigger'], string> = {
  cron: 'on schedule',
  webhook: 'by webhook',
  test: 'triggered manually',
  retry: 'retried',
}
export const saysSkip: Record<NonNullable<AutomationRun['skip_reason']>, string> = {
  overlap: 'an earlier run was still active',
  missed: 'its start time had passed',
  archived: 'the automation was archived',
  budget: 'the spend cap was reached',
  paused: 'the automation was paused',
  rate_limited: 'too many runs in that minute',
}
export const saysPause: Record<NonNullable<Automation['paused_reason']>, string> = {
  failures: 'Paused because it kept failing.',
  agent_changed: 'Paused because a member with fewer permissions changed its agent.',
  account_recovered: 'Paused because it was created before the account was recovered.',
}

export const isGoing = ({ status }: AutomationRun): boolean => status === 'queued' || status === 'running'

/** A run's duration in milliseconds, so far if it is active. Null if it never started. */
export function durationOf({ started_at, completed_at }: AutomationRun, now: number = Date.now()): number | null {
  if (started_at === null) return null
  return Math.max(0, (completed_at === null ? now : Date.parse(completed_at)) - Date.parse(started_at))
}

/** Whether a schedule is a single local time; otherwise it is cron. */
export const isOnce = (schedule: string | null): boolean => schedule !== null && /^\d{4}-\d{2}-\d{2}T/.test(schedule)
