import { Link } from '@tanstack/react-router'
import { Tag } from '../ui/page.tsx'
import { moment, usd } from '../ui/text/format.ts'
import { Ago } from '../ui/text/time.tsx'
import type { AutomationRun } from './queries.ts'
import { durationOf, runTones, saysRun, saysSkip, saysTrigger } from './words.ts'
import { saysDuration } from '../ui/text/duration.ts'

export function RunRow({ run }: { run: AutomationRun }) {
  const { id, automation_id, status, skip_reason, trigger, created_at, error, cost_usd, attempt } = run
  const took = durationOf(run)
  return (
    <div className="figures flex flex-wrap items-baseline gap-x-5 gap-y-1 text-sm">
      <div className="min-w-0 flex-1 basis-60">
        <p>
          <Tag tone={runTones[status]}>{saysRun[status]}</Tag>{' '}
          <Link className="link" to="/automations/$id/runs/$run" params={{ id: automation_id, run: id }}>
            {saysTrigger[trigger]}
            <span className="sr-only"> at {moment(created_at)}</span>
          </Link>
          {attempt > 1 && `, attempt ${attempt}`}
          {skip_reason && `: ${saysSkip[skip_reason]}`}
        </p>
        {error && <p className="mt-1 break-words text-seal">{error.message}</p>}
      </div>
      <span className="text-[0.8125rem] text-quiet">
        <Ago time={created_at} />
      </span>
      <span className="text-right text-quiet sm:w-24">{took === null ? '—' : saysDuration(took)}</span>
      <span className="text-right sm:w-20">{cost_usd === null ? '—' : usd(cost_usd)}</span>
    </div>
  )
}
