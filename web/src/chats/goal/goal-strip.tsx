import { Meter } from '@base-ui/react/meter'
import { useQuery } from '@tanstack/react-query'
import { Suspense, lazy, useState } from 'react'
import { queryClient, uk } from '../../shared/api.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { useOpen } from '../../ui/dialogs/dialog.tsx'
import { Refused } from '../../ui/notice.tsx'
import { Tag, type Tone } from '../../ui/page.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { usd } from '../../ui/text/format.ts'
import { type Goal, goalQuery } from './queries.ts'

const GoalDialog = lazy(async () => ({ default: (await import('./goal-dialog.tsx')).GoalDialog }))

const states: Record<Goal['status'], { word: string; tone: Tone }> = {
  active: { word: 'active', tone: 'ai' },
  achieved: { word: 'achieved', tone: 'good' },
  exhausted: { word: 'limit reached', tone: 'warn' },
  stalled: { word: 'no progress', tone: 'warn' },
  ended: { word: 'ended', tone: 'plain' },
  failed: { word: 'failed', tone: 'bad' },
}

export function GoalStrip({ chatId, mayWrite, onChange }: { chatId: string; mayWrite: boolean; onChange: () => void }) {
  const { data: goal } = useQuery(goalQuery(chatId))
  const [read, setRead] = useState<string | null>(null)
  const more = useOpen<Goal>()
  const changed = (): void => {
    void queryClient.invalidateQueries({ queryKey: ['goal', chatId] })
    onChange()
  }
  const stop = useSend(() => uk.chats.end_goal({ id: chatId }), changed)
  if (!goal || goal.status === 'ended' || read === goal.id) return null
  const { status, objective, turns_used, max_turns, spent_usd, max_cost_usd, last_feedback, error } = goal
  const { word, tone } = states[status]
  const limits = `turn ${turns_used} of ${max_turns} · ${usd(spent_usd)}${max_cost_usd === null ? '' : ` of ${usd(max_cost_usd)}`}`
  return (
    <section aria-label="Goal" className="border-b border-line bg-sheet px-4 py-2 sm:px-6">
      <div className="mx-auto flex max-w-[46rem] flex-wrap items-center gap-x-3 gap-y-1">
        <Tag tone={tone}>{word}</Tag>
        <p className="min-w-0 flex-1 basis-48 truncate text-sm" title={objective}>
          <span className="sr-only">Goal: </span>
          {objective}
        </p>
        <Meter.Root
          value={Math.min(turns_used, max_turns)}
          max={max_turns}
          aria-label="Goal turns"
          aria-valuetext={limits}
          className="flex items-center gap-2"
        >
          <Meter.Track className="block h-1.5 w-16 overflow-hidden forced-color-adjust-none rounded-xs bg-sunk">
            <Meter.Indicator className="block h-full bg-ai" />
          </Meter.Track>
          <span className="figures text-[0.8125rem] text-quiet" aria-hidden="true">
            {limits}
          </span>
        </Meter.Root>
        {mayWrite && status === 'active' && (
          <Button pending={stop.pending} onClick={() => void stop.send(undefined)}>
            Stop goal
          </Button>
        )}
        {mayWrite && (status === 'exhausted' || status === 'stalled') && (
          <Button onClick={() => more.show(goal)}>Continue goal</Button>
        )}
        {status !== 'active' && <IconButton label="Hide goal" icon="close" onClick={() => setRead(goal.id)} />}
      </div>
      {(last_feedback !== null || error !== null) && (
        <details className="mx-auto max-w-[46rem] text-sm">
          <summary className="w-fit text-quiet hover:text-ink">{error === null ? 'Last assessment' : 'Error'}</summary>
          <p className="mt-1 max-h-40 overflow-auto break-words whitespace-pre-wrap text-quiet">
            {error?.message ?? last_feedback}
          </p>
        </details>
      )}
      <Refused>{stop.rest()}</Refused>
      {more.on && (
        <Suspense>
          <GoalDialog chatId={chatId} goal={more.on} open={more.open} onOpen={more.onOpen} onChange={changed} />
        </Suspense>
      )}
    </section>
  )
}
