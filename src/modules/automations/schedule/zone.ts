const HOUR_MS = 3_600_000
/** Exceeds every zone's UTC offset. */
const FURTHEST_MS = 15 * HOUR_MS

/** The wall clock of an IANA time zone. Wall times are the milliseconds that the same reading would have in UTC. */
export class Zone {
  readonly #format: Intl.DateTimeFormat

  /** Throws a RangeError for an unknown zone. */
  constructor(name: string) {
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
  }

  wall(at: number): number {
    const parts: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {}
    for (const { type, value } of this.#format.formatToParts(at)) parts[type] = Number(value)
    const { year, month, day, hour, minute, second } = parts
    const ms = ((at % 1_000) + 1_000) % 1_000
    return Date.UTC(year!, month! - 1, day, hour, minute, second) + ms
  }

  /** Converts a wall time to an instant: the first if it occurs twice, the end of the clock change if it's skipped. */
  moment(wall: number): number {
    const before = this.#ahead(wall - FURTHEST_MS)
    const after = this.#ahead(wall + FURTHEST_MS)
    const early = wall - Math.max(before, after)
    const late = wall - Math.min(before, after)
    if (this.wall(early) === wall) return early
    return this.wall(late) === wall ? late : this.#jump(early, late, wall)
  }

  #ahead(at: number): number {
    return this.wall(at) - at
  }

  /** Finds the clock change by binary search, to the second. */
  #jump(early: number, late: number, wall: number): number {
    let [below, over] = [Math.floor(early / 1_000), Math.ceil(late / 1_000)]
    while (over - below > 1) {
      const middle = Math.floor((below + over) / 2)
      if (this.wall(middle * 1_000) > wall) over = middle
      else below = middle
    }
    return over * 1_000
  }
}
