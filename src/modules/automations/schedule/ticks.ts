import type { Schedule } from './schedule.ts'

export interface CatchUp {
  policy: 'none' | 'latest' | 'all'
  windowSeconds: number
}

export interface Tick {
  at: Date
  does: 'run' | 'missed'
}

export interface Due {
  ticks: Tick[]
  next: Date | null
  more: boolean
}

/** Newer ticks are on time. Older ones are subject to `catch_up`, then `overlap`. */
export const ON_TIME_MS = 2_000

/**
 * Returns up to `most` ticks from `first` to `now`. Ticks on time run, missed ones within the window run by policy, the
 * rest are reported as missed. Continuing with `next` yields every tick exactly once.
 */
export function dueTicks(schedule: Schedule, first: Date, now: Date, catchUp: CatchUp, most: number): Due {
  const times: Date[] = []
  let next: Date | null = first
  while (next !== null && next <= now && times.length < most) {
    times.push(next)
    next = schedule.next(next)
  }
  const more = next !== null && next <= now
  const latest = more ? -1 : times.length - 1
  const ticks = times.map((at, i): Tick => {
    const late = now.getTime() - at.getTime()
    if (late <= ON_TIME_MS) return { at, does: 'run' }
    const within = late <= catchUp.windowSeconds * 1000
    const caughtUp = within && (catchUp.policy === 'all' || (catchUp.policy === 'latest' && i === latest))
    return { at, does: caughtUp ? 'run' : 'missed' }
  })
  return { ticks, next, more }
}
