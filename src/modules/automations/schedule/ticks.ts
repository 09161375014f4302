import type { Schedule } from './schedule.ts'

/** Decides on ticks that nobody was there for in time. */
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
  /** The first tick that is not among them; null: there is none any more. */
  next: Date | null
  /** Whether there are more ticks until now than were taken. */
  more: boolean
}

/** A tick that is not older than this is on time; of older ones `catch_up` decides, before `overlap` does. */
export const ON_TIME_MS = 2_000

/**
 * The ticks from `first` until `now`, `most` at once, and what each does: one on time runs; of those missed the latest
 * one or all within the window run, as the policy says; the rest are told to have been missed. Nothing is left out: run
 * after run with the `next` of the one before, every tick of the schedule comes exactly once.
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
