/** Ticks by walking through every minute of a time zone: slow, and nothing of it is how the product finds them. */

/** Minutes, hours and days of the week (0 is Sunday), each a list or null for all. */
export interface Wall {
  minutes: number[]
  hours: number[] | null
  weekdays: number[] | null
}

const MINUTE = 60_000
/** Offsets change on quarters of an hour at the finest. */
const QUARTER = 15 * MINUTE

export class WalkedZone {
  readonly #format: Intl.DateTimeFormat
  readonly #known = new Map<number, number>()

  constructor(name: string) {
    this.#format = new Intl.DateTimeFormat('en-GB', {
      timeZone: name,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
    })
  }

  /** The milliseconds to be added to UTC. */
  offset(at: number): number {
    const quarter = Math.floor(at / QUARTER) * QUARTER
    const before = this.#known.get(quarter)
    if (before !== undefined) return before
    const part = Object.fromEntries(this.#format.formatToParts(quarter).map(({ type, value }) => [type, Number(value)]))
    const offset = Date.UTC(part.year!, part.month! - 1, part.day, part.hour, part.minute) - quarter
    this.#known.set(quarter, offset)
    return offset
  }

  /**
   * The ticks after `from` and up to `to`. Where all hours are meant it is an interval, which goes by real time; else a
   * local time that is jumped over comes right after the jump, and of two the first counts.
   */
  ticks({ minutes, hours, weekdays }: Wall, from: number, to: number): number[] {
    const found = new Set<number>()
    const wanted = (local: Date): boolean =>
      minutes.includes(local.getUTCMinutes()) &&
      (hours === null || hours.includes(local.getUTCHours())) &&
      (weekdays === null || weekdays.includes(local.getUTCDay()))
    const said = new Set<number>()
    // A day before, so that what came first of a doubled hour is known.
    for (let at = Math.floor(from / MINUTE) * MINUTE - 26 * 60 * MINUTE; at <= to; at += MINUTE) {
      const local = at + this.offset(at)
      const jumped = local - (at - MINUTE + this.offset(at - MINUTE)) - MINUTE
      if (jumped > 0 && hours !== null)
        for (let missed = local - jumped; missed < local; missed += MINUTE) if (wanted(new Date(missed))) found.add(at)
      if (!wanted(new Date(local))) continue
      if (hours !== null && said.has(local)) continue
      said.add(local)
      found.add(at)
    }
    return [...found].filter((at) => at > from && at <= to).sort((a, b) => a - b)
  }
}

/** Five fields. */
export const patternOf = ({ minutes, hours, weekdays }: Wall): string =>
  `${minutes.join(',')} ${hours?.join(',') ?? '*'} * * ${weekdays?.join(',') ?? '*'}`
