import { Link } from '@tanstack/react-router'
import type { AutomationRun } from '../queries.ts'
import { durationOf, saysRun, saysSkip } from '../words.ts'
import { saysDuration } from '../../ui/text/duration.ts'
import { moment } from '../../ui/text/format.ts'

const MAX = 30
const HIGHEST = 56

const paints: Record<AutomationRun['status'], string> = {
  queued: 'border border-dashed border-ai',
  running: 'bg-ai',
  succeeded: 'bg-moss',
  failed: 'bg-seal',
  timed_out: 'bg-seal',
  cancelled: 'bg-ochre',
  skipped: 'border-t-2 border-keyline',
}
/** Icons in addition to the colors. */
const signs: Record<AutomationRun['status'], string> = {
  queued: '○',
  running: '◌',
  succeeded: '',
  failed: '✕',
  timed_out: '✕',
  cancelled: '■',
  skipped: '',
}

/** The recent runs as bars, newest on the right, with logarithmic height by duration. Skipped runs are dashes. */
export function RunBars({ id, runs }: { id: string; runs: readonly AutomationRun[] }) {
  const shown = runs.slice(0, MAX).toReversed()
  if (shown.length < 2) return null
  const took = shown.map((run) => durationOf(run))
  const longest = Math.max(1, ...took.map((ms) => Math.log10(1 + (ms ?? 0))))
  return (
    <figure className="mb-4 border border-line bg-sheet px-4 pt-3 pb-2">
      <ol aria-label="Recent runs" className="flex h-19 items-end gap-1 overflow-x-auto">
        {shown.map((run, at) => {
          const ms = took[at]!
          const height = ms === null ? 3 : Math.max(5, Math.round((HIGHEST * Math.log10(1 + ms)) / longest))
          const words = [
            saysRun[run.status],
            run.skip_reason && saysSkip[run.skip_reason],
            ms !== null && saysDuration(ms),
            moment(run.created_at),
          ]
            .filter(Boolean)
            .join(', ')
          return (
            <li key={run.id} className="flex min-w-2 flex-1 basis-0 sm:max-w-6">
              <Link
                to="/automations/$id/runs/$run"
                params={{ id, run: run.id }}
                aria-label={words}
                title={words}
                className="flex h-19 w-full flex-col items-center justify-end hover:bg-sunk"
              >
                <span aria-hidden="true" className="text-[0.625rem] leading-none text-quiet">
                  {signs[run.status]}
                </span>
                <span
                  aria-hidden="true"
                  className={`mt-0.5 block w-full forced-color-adjust-none ${paints[run.status]}`}
                  style={{ height }}
                />
              </Link>
            </li>
          )
        })}
      </ol>
      <figcaption className="mt-1.5 text-xs text-quiet">
        {shown.length === MAX ? `The last ${MAX} runs` : 'All runs'}. Taller bars took longer; a dash was skipped.
      </figcaption>
    </figure>
  )
}
