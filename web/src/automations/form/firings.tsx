import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { refusal, sayError } from '../../ui/calls/errors.ts'
import { Failure } from '../../ui/notice.tsx'
import { useSettled } from '../../ui/typing/settled.ts'
import { type Firing, firingsQuery } from '../queries.ts'
import { clockIn, momentIn, ownZone, saysClockChange } from '../zone.ts'

export function Firings({ schedule, timeZone }: { schedule: string; timeZone: string }) {
  const deferred = useSettled({ schedule, timeZone }, 250)
  const { data, error, refetch, isPlaceholderData } = useQuery({
    ...firingsQuery(deferred.schedule, deferred.timeZone),
    placeholderData: keepPreviousData,
  })
  if (deferred.schedule === '') return null
  if (error && (refusal(error)?.status ?? 503) >= 500)
    return <Failure what="The next runs" error={error} again={refetch} />
  if (error)
    return (
      <p role="status" className="text-sm text-seal">
        {sayError(error)}
      </p>
    )
  if (!data) return <p className="text-sm text-quiet">Calculating the next runs …</p>
  return <FiringList firings={data.firings} timeZone={data.time_zone} dimmed={isPlaceholderData} />
}

function FiringList({ firings, timeZone, dimmed }: { firings: readonly Firing[]; timeZone: string; dimmed: boolean }) {
  const own = ownZone()
  const elsewhere = timeZone !== own
  return (
    <ol aria-label="Next runs" aria-busy={dimmed} className={`figures space-y-1 text-sm ${dimmed ? 'opacity-60' : ''}`}>
      {firings.map(({ at, clock_change_minutes }) => {
        const change = saysClockChange(clock_change_minutes, timeZone)
        return (
          <li key={at}>
            {change && <p className="text-[0.8125rem] text-ochre">{change}</p>}
            <time dateTime={at}>{momentIn(at, own)}</time>
            {elsewhere && (
              <span className="text-quiet">
                {' '}
                your time, {clockIn(at, timeZone)} in {timeZone.replaceAll('_', ' ')}
              </span>
            )}
          </li>
        )
      })}
    </ol>
  )
}
