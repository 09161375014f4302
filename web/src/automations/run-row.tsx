import { Link } from '@tanstack/react-router'
import { usd } from '../ui/text/format.ts'
import { Tag, type Tone } from '../ui/page.tsx'
import { Ago } from '../ui/text/time.tsx'
import type { AutomationRun } from './queries.ts'

const tones: Record<AutomationRun['status'], Tone> = {
  queued: 'ai',
  running: 'ai',
  succeeded: 'good',
  failed: 'bad',
  timed_out: 'bad',
  cancelled: 'warn',
  skipped: 'plain',
}
const triggers = { cron: 'by the clock', webhook: 'by its webhook', test: 'by hand', retry: 'tried again' } as const
const skips = {
  overlap: 'an earlier run still went on',
  missed: 'it came too late',
  archived: 'it was archived',
  budget: 'the budget was used up',
  paused: 'it was paused',
  rate_limited: 'too many were started in that minute',
} as const

export function RunRow({ run }: { run: AutomationRun }) {
  const { status, skip_reason, trigger, created_at, error, chat_id, cost_usd, attempt } = run
  return (
    <div className="figures flex flex-wrap items-baseline gap-x-5 gap-y-1 text-sm">
      <div className="min-w-0 flex-1 basis-60">
        <p>
          <Tag tone={tones[status]}>{status.replace('_', ' ')}</Tag> {triggers[trigger]}
          {attempt > 1 && `, attempt ${attempt}`}
          {skip_reason && `: ${skips[skip_reason]}`}
        </p>
        {error && <p className="mt-1 break-words text-seal">{error.message}</p>}
      </div>
      <span className="text-[0.8125rem] text-quiet">
        <Ago time={created_at} />
      </span>
      <span className="text-right sm:w-20">{cost_usd === null ? '—' : usd(cost_usd)}</span>
      <span className="whitespace-nowrap sm:w-24">
        {chat_id && (
          <Link className="link" to="/chats/$id" params={{ id: chat_id }}>
            What it said
          </Link>
        )}
      </span>
    </div>
  )
}
