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
  timed_out: 'took too long',
  cancelled: 'cancelled',
  skipped: 'skipped',
}
export const saysTrigger: Record<AutomationRun['trigger'], string> = {
  cron: 'by the clock',
  webhook: 'by its webhook',
  test: 'by hand',
  retry: 'tried again',
}
export const saysSkip: Record<NonNullable<AutomationRun['skip_reason']>, string> = {
  overlap: 'an earlier run still went on',
  missed: 'it came too late',
  archived: 'it was archived',
  budget: 'the budget was used up',
  paused: 'it was paused',
  rate_limited: 'too many were started in that minute',
}
export const saysPause: Record<NonNullable<Automation['paused_reason']>, string> = {
  failures: 'The server paused it: it kept failing.',
  agent_changed: 'The server paused it: somebody with fewer rights than it has changed its agent.',
  account_recovered: 'The server paused it: it was made before the account came to the owner of its address.',
}

export const isGoing = ({ status }: AutomationRun): boolean => status === 'queued' || status === 'running'

/** A run's duration in milliseconds; of one that goes on, until now. Null where it never began. */
export function durationOf({ started_at, completed_at }: AutomationRun, now: number = Date.now()): number | null {
  if (started_at === null) return null
  return Math.max(0, (completed_at === null ? now : Date.parse(completed_at)) - Date.parse(started_at))
}

/** A duration in words, such as `2 min 5 s`. */
export function saysDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  const seconds = Math.round(ms / 1_000)
  if (seconds < 60) return `${(ms / 1_000).toFixed(1)} s`
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor((seconds % 3_600) / 60)]
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${seconds % 60} s`
}

/** Whether a schedule is one local time, which fires once; else it is cron. */
export const isOnce = (schedule: string | null): boolean => schedule !== null && /^\d{4}-\d{2}-\d{2}T/.test(schedule)
