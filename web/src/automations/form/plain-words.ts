/** Parses schedules in plain English. Unknown words are reported, not guessed. */
import type { WallTime } from '../zone.ts'

export type Understood = { schedule: string; assumed: string | null } | { why: string }

interface Time {
  hour: number
  minute: number
}

const NUMBERS =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty'.split(
    ' ',
  )
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const day = String.raw`(?:sun|mon|tue(?:s)?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?)(?:day)?s?`
const month = String.raw`(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)`
const count = String.raw`(?:\d+|${NUMBERS.join('|')})`
const ordinal = String.raw`(?:\d{1,2}(?:st|nd|rd|th)?|first|second|third|fourth|fifth|last day)`
const clock = String.raw`(?:noon|midday|midnight|(?:half past|quarter past|quarter to) (?:${count})(?: ?[ap]m)?|\d{1,2}:\d{2}(?: ?[ap]m)?|${count}(?: (?:thirty|fifteen|forty five))?(?: ?[ap]m)?)(?: in the (?:morning|afternoon|evening)| at night)?`

const ORDINALS: Record<string, string> = {
  first: '1',
  second: '2',
  third: '3',
  fourth: '4',
  fifth: '5',
  'last day': 'L',
}
const PARTS: Record<string, Time> = {
  morning: { hour: 8, minute: 0 },
  afternoon: { hour: 15, minute: 0 },
  evening: { hour: 18, minute: 0 },
  night: { hour: 22, minute: 0 },
}

class Unclear extends Error {}

const numberOf = (word: string): number => (/^\d/.test(word) ? Number.parseInt(word, 10) : NUMBERS.indexOf(word))
const at = <T>(list: readonly T[], is: (one: T) => boolean): number => list.findIndex(is)
const dayOf = (word: string): number => at(DAYS, (one) => word.startsWith(one))
const monthOf = (word: string): number => at(MONTHS, (one) => word.startsWith(one)) + 1
const pad = (value: number): string => String(value).padStart(2, '0')
const ascending = (values: readonly number[]): number[] => [...new Set(values)].toSorted((a, b) => a - b)

/**
 * Returns a five-field cron schedule or one local time such as `2026-12-24T09:00`, for text such as `every weekday at
 * nine` or `tomorrow at 7:30 pm`.
 */
export function understand(words: string, now: WallTime): Understood {
  const text = new Text(words)
  if (text.isEmpty) return { why: 'Enter a schedule, such as “every weekday at nine”.' }
  try {
    const found = once(text, now) ?? repeated(text)
    const left = text.left
    if (left !== '') throw new Unclear(`Couldn’t understand “${left}”.`)
    return found
  } catch (error) {
    if (error instanceof Unclear) return { why: error.message }
    throw error
  }
}

class Text {
  #words: string
  constructor(words: string) {
    this.#words = ` ${words
      .toLowerCase()
      .replaceAll(/(\d)\.(\d{2})\b/g, '$1:$2')
      .replaceAll(/[.,;!?“”"()]/g, ' ')
      .replaceAll(/([ap])\s*m\b(?=\s|$)/g, '$1m')
      .replaceAll(/o[’']clock/g, ' ')
      .replaceAll(/[–—]/g, '-')
      .replaceAll(/\s+/g, ' ')
      .trim()} `
  }
  get isEmpty(): boolean {
    return this.#words.trim() === ''
  }
  get left(): string {
    return this.#words
      .replaceAll(/\b(every|each|at|on|the|and|of|a|an|in|once|please|run|fire|it|day)\b/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim()
  }
  has(word: string): boolean {
    return this.#words.includes(` ${word} `)
  }
  take(pattern: string): string[] | null {
    const match = new RegExp(` ${pattern}(?= )`).exec(this.#words)
    if (!match) return null
    this.#words = `${this.#words.slice(0, match.index)} ${this.#words.slice(match.index + match[0].length)}`
    return match.map((group) => group?.trim() ?? '')
  }
}

function timeOf(words: string): Time {
  const afternoon = /\dpm|\wpm|in the (afternoon|evening)|at night|pm$/.test(words)
  const morning = /am$|am |in the morning/.test(words)
  if (/noon|midday/.test(words) && !/afternoon/.test(words)) return { hour: 12, minute: 0 }
  if (words.includes('midnight')) return { hour: 0, minute: 0 }
  const plain = words.replace(/ ?[ap]m\b/, '').replace(/ (in the|at) .*$/, '')
  const past = /^(half past|quarter past|quarter to) (\w+)$/.exec(plain)
  const spoken = /^(\w+) (thirty|fifteen|forty five)$/.exec(plain)
  const digits = /^(\d{1,2}):(\d{2})$/.exec(plain)
  let hour = numberOf(past?.[2] ?? spoken?.[1] ?? digits?.[1] ?? plain)
  let minute = past
    ? past[1] === 'half past'
      ? 30
      : 15
    : spoken
      ? ({ thirty: 30, fifteen: 15 }[spoken[2]!] ?? 45)
      : Number(digits?.[2] ?? 0)
  if (afternoon && hour < 12) hour += 12
  if (morning && hour === 12) hour = 0
  if (past?.[1] === 'quarter to') {
    hour = (hour + 23) % 24
    minute = 45
  }
  if (hour < 0 || hour > 23 || minute > 59) throw new Unclear(`“${words}” isn’t a time of day.`)
  return { hour, minute }
}

function timesIn(text: Text): Time[] {
  const found = text.take(`(?:at )?(${clock}(?:(?: and| at| and at)? ${clock})*)`)
  if (!found) return []
  return [...found[1]!.matchAll(new RegExp(clock, 'g'))].map(([words]) => timeOf(words.trim()))
}

const iso = ({ year, month: m, day: d, hour, minute }: WallTime): string =>
  `${String(year).padStart(4, '0')}-${pad(m)}-${pad(d)}T${pad(hour)}:${pad(minute)}`

/** Adds minutes to a local time, ignoring daylight saving time. */
function later(now: WallTime, minutes: number): WallTime {
  const then = new Date(Date.UTC(now.year, now.month - 1, now.day, now.hour, now.minute + minutes))
  return {
    year: then.getUTCFullYear(),
    month: then.getUTCMonth() + 1,
    day: then.getUTCDate(),
    hour: then.getUTCHours(),
    minute: then.getUTCMinutes(),
  }
}

const NINE = 'No time given, so 9:00 AM is used.'
const MINUTES = { minute: 1, hour: 60, day: 1_440, week: 10_080 } as const

function once(text: Text, now: WallTime): Understood | null {
  const after = text.take(`in (${count}|an?) (minute|hour|day|week)s?`)
  if (after) {
    const many = /^an?$/.test(after[1]!) ? 1 : numberOf(after[1]!)
    const unit = after[2] as keyof typeof MINUTES
    const [time] = MINUTES[unit] >= 1_440 ? timesIn(text) : []
    return { schedule: iso({ ...later(now, many * MINUTES[unit]), ...time }), assumed: null }
  }
  const date = dateIn(text, now)
  if (!date) return null
  const times = timesIn(text)
  if (times.length > 1) throw new Unclear('A single date can have only one time.')
  return {
    schedule: iso({ ...date, ...(times[0] ?? PARTS[date.part ?? ''] ?? { hour: 9, minute: 0 }) }),
    assumed: times.length === 0 && date.part === undefined ? NINE : null,
  }
}

function dateIn(text: Text, now: WallTime): (WallTime & { part?: string }) | null {
  const near = text.take('(today|tonight|tomorrow)(?: (morning|afternoon|evening|night))?')
  if (near) {
    const part = near[1] === 'tonight' ? 'night' : near[2]
    return { ...later(now, near[1] === 'tomorrow' ? 1_440 : 0), ...(part && { part }) }
  }
  const next = text.take(`(?:on )?(?:next|this) (${day})`)
  if (next) {
    const today = new Date(Date.UTC(now.year, now.month - 1, now.day)).getUTCDay()
    return later(now, (((dayOf(next[1]!) - today + 6) % 7) + 1) * 1_440)
  }
  const written = text.take(String.raw`(?:on )?(\d{4})-(\d{2})-(\d{2})`)
  if (written) return { ...now, year: Number(written[1]), month: Number(written[2]), day: Number(written[3]) }
  // A yearly date is a schedule.
  if (text.has('every') || text.has('each')) return null
  const dated = text.take(
    String.raw`(?:on )?(?:the )?(?:(\d{1,2})(?:st|nd|rd|th)?(?: of)? (${month})|(${month}) (\d{1,2})(?:st|nd|rd|th)?)(?: (\d{4}))?`,
  )
  if (!dated) return null
  const [m, d] = [monthOf(dated[2] || dated[3]!), Number(dated[1] || dated[4])]
  const isPast = m < now.month || (m === now.month && d < now.day)
  return { ...now, year: dated[5] ? Number(dated[5]) : now.year + (isPast ? 1 : 0), month: m, day: d }
}

function repeated(text: Text): Understood {
  const yearly = text.take(
    String.raw`(?:every|each) (?:year on (?:the )?)?(?:(\d{1,2})(?:st|nd|rd|th)?(?: of)? (${month})|(${month}) (\d{1,2})(?:st|nd|rd|th)?)`,
  )
  const step = stepIn(text)
  const days = daysIn(text)
  const dates = datesIn(text)
  const each = text.take('(?:every|each) (morning|afternoon|evening|night)')?.[1]
  const daily = text.take('(?:daily|(?:every|each) (?:single )?day)') !== null || each !== undefined
  const weekly = text.take('(?:weekly|(?:every|each) week)') !== null
  if (weekly && days === null) throw new Unclear('Which day of the week?')
  if (step) {
    if (dates !== null || yearly)
      throw new Unclear('Intervals of minutes or hours can only be combined with days of the week.')
    return { schedule: `${stepFields(text, step)} * * ${days ?? '*'}`, assumed: null }
  }
  if (!daily && days === null && dates === null && !yearly) {
    const times = timesIn(text)
    if (times.length === 0) throw new Unclear(`Couldn’t find a time in “${text.left || 'this schedule'}”.`)
    return { schedule: fields(times, '* * *'), assumed: 'No days given, so every day is used.' }
  }
  if (dates !== null && days !== null) throw new Unclear('Use either days of the month or days of the week, not both.')
  const rest = yearly
    ? `${Number(yearly[1] || yearly[4])} ${monthOf(yearly[2] || yearly[3]!)} *`
    : `${dates ?? '*'} * ${days ?? '*'}`
  return atTimes(text, rest, each)
}

/** Adds the times of day in the text to a schedule. The default is 9:00, or the time of a part such as "evening". */
function atTimes(text: Text, rest: string, each: string | undefined): Understood {
  const times = timesIn(text)
  const part = each ?? text.take('(?:in the|at) (morning|afternoon|evening|night)')?.[1]
  if (times.length > 0) return { schedule: fields(times, rest), assumed: null }
  const time = PARTS[part ?? ''] ?? { hour: 9, minute: 0 }
  return { schedule: fields([time], rest), assumed: part === undefined ? NINE : null }
}

/** The minute and hour fields of an interval, within a span of hours if the text has one. */
function stepFields(text: Text, { unit, field }: Step): string {
  const span = text.take(`(?:between|from) (${clock}) (?:and|to|until|till) (${clock})`)
  const hours = span ? hoursBetween(timeOf(span[1]!), timeOf(span[2]!)) : '*'
  return unit === 'minute' ? `${field} ${hours}` : `0 ${stepped(field, hours)}`
}

/** Times of day as the minute and hour fields. All times must share the minute. */
function fields(times: readonly Time[], rest: string): string {
  const minutes = ascending(times.map(({ minute }) => minute))
  if (minutes.length > 1) throw new Unclear('All times must have the same minute, such as 9:30 and 17:30.')
  return `${minutes[0]} ${ascending(times.map(({ hour }) => hour)).join(',')} ${rest}`
}

function hoursBetween(from: Time, to: Time): string {
  const last = to.minute === 0 ? to.hour - 1 : to.hour
  if (last < from.hour) throw new Unclear('The hours must be within one day.')
  return last === from.hour ? String(from.hour) : `${from.hour}-${last}`
}

const stepped = (field: string, hours: string): string => (hours === '*' ? field : `${hours}${field.slice(1)}`)

interface Step {
  unit: 'minute' | 'hour'
  field: string
}

function stepIn(text: Text): Step | null {
  if (text.take('(?:(?:every|each) )?half (?:an )?hour') || text.take('half-hourly'))
    return { unit: 'minute', field: '*/30' }
  if (text.take('(?:(?:every|each) )?quarter(?: of)?(?: an)? hour')) return { unit: 'minute', field: '*/15' }
  if (text.take('hourly')) return { unit: 'hour', field: '*' }
  const found = text.take(`(?:every|each)(?: (${count}|other))? (minute|hour)s?`)
  if (!found) return null
  const unit = found[2] as 'minute' | 'hour'
  const many = found[1] === '' ? 1 : found[1] === 'other' ? 2 : numberOf(found[1]!)
  const whole = unit === 'minute' ? 60 : 24
  if (many < 1 || whole % many !== 0)
    throw new Unclear(
      unit === 'minute'
        ? 'The interval must divide an hour evenly, such as 5, 10, 15, 20 or 30 minutes.'
        : 'The interval must divide a day evenly: 2, 3, 4, 6, 8 or 12 hours.',
    )
  return { unit, field: many === 1 ? '*' : `*/${many}` }
}

function daysIn(text: Text): string | null {
  const range = text.take(`(?:(?:every|each|on|from) )?(${day})(?: (?:to|until|through)|-| -) ?(${day})`)
  if (range) return `${dayOf(range[1]!)}-${dayOf(range[2]!) || 7}`
  const found: number[] = []
  for (;;) {
    if (text.take('(?:(?:every|each|on) )?(?:weekdays?|work(?:ing)? ?days?|business days?)')) found.push(1, 2, 3, 4, 5)
    else if (text.take('(?:(?:every|each|on|at) )?(?:the )?weekends?')) found.push(6, 0)
    else {
      const one = text.take(`(?:(?:every|each|on|and) )*(${day})`)
      if (!one) break
      found.push(dayOf(one[1]!))
    }
  }
  if (found.length === 0) return null
  const days = ascending(found)
  return days.join() === '1,2,3,4,5' ? '1-5' : days.length === 7 ? '*' : days.join()
}

function datesIn(text: Text): string | null {
  const found = text.take(
    `(?:(?:on|every|each) )?(?:the )?(${ordinal}(?: and (?:the )?${ordinal})*) (?:day )?of (?:every|each|the|a) month`,
  )
  const monthly =
    found ??
    (text.take('(?:monthly|(?:every|each) month)') &&
      (text.take(`on (?:the )?(${ordinal}(?: and (?:the )?${ordinal})*)`) ?? []))
  if (!monthly) return null
  if (monthly[1] === undefined) return '1'
  const dates = [...monthly[1].matchAll(new RegExp(ordinal, 'g'))].map(
    ([word]) => ORDINALS[word] ?? String(Number.parseInt(word, 10)),
  )
  const wrong = dates.find((one) => one !== 'L' && (Number(one) < 1 || Number(one) > 31))
  if (wrong !== undefined) throw new Unclear(`No month has a ${wrong}th.`)
  return dates.join()
}
