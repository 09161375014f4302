import { shorten } from '#core/text/shorten.ts'

/**
 * Formats spreadsheet numbers as displayed: ISO 8601 dates and times, durations, percentages. Other numbers stay
 * unchanged. Pure.
 */

/** Built-in formats that aren't plain numbers (ECMA-376, part 1, 18.8.30). */
const BUILT_IN: Readonly<Record<number, string>> = {
  9: '0%',
  10: '0.00%',
  14: 'mm-dd-yy',
  15: 'd-mmm-yy',
  16: 'd-mmm',
  17: 'mmm-yy',
  18: 'h:mm AM/PM',
  19: 'h:mm:ss AM/PM',
  20: 'h:mm',
  21: 'h:mm:ss',
  22: 'm/d/yy h:mm',
  45: 'mm:ss',
  46: '[h]:mm:ss',
  47: 'mmss.0',
  // East Asian dates and times.
  27: 'yyyy-m',
  28: 'm-d',
  29: 'm-d',
  30: 'm-d-yy',
  31: 'yyyy-m-d',
  32: 'h:mm',
  33: 'h:mm:ss',
  36: 'yyyy-m',
  50: 'yyyy-m',
  51: 'm-d',
  52: 'yyyy-m',
  53: 'm-d',
  54: 'm-d',
  57: 'yyyy-m',
  58: 'm-d',
  // A date in some of these languages, a time in others: the value decides.
  34: '',
  35: '',
  55: '',
  56: '',
  67: '0%',
  68: '0.00%',
  71: 'd/m/yyyy',
  72: 'd-mmm-yy',
  73: 'd-mmm',
  74: 'mmm-yy',
  75: 'h:mm',
  76: 'h:mm:ss',
  77: 'd/m/yyyy h:mm',
  78: 'mm:ss',
  79: '[h]:mm:ss',
  80: 'mm:ss.0',
  81: 'd/m/yyyy',
}
const BY_VALUE = new Set([34, 35, 55, 56])

export interface Format {
  date: boolean
  time: boolean
  seconds: boolean
  digits: number
  elapsed: 'h' | 'm' | 's' | null
  percent: boolean
  byValue: boolean
}

const PLAIN: Format = {
  date: false,
  time: false,
  seconds: false,
  digits: 0,
  elapsed: null,
  percent: false,
  byValue: false,
}
const formatCache = new Map<string, Format[]>()

export function formatsOf(id: number, code: string | undefined): Format[] {
  if (code === undefined && BY_VALUE.has(id)) return [{ ...PLAIN, byValue: true }]
  const text = code ?? BUILT_IN[id]
  if (text === undefined) return [PLAIN]
  const before = formatCache.get(text)
  if (before !== undefined) return before
  const formats = sectionsOf(text).map(formatOf)
  if (formatCache.size < 10_000) formatCache.set(text, formats)
  return formats
}

const sectionsOf = (code: string): string[] =>
  shorten(code, 1_000)
    .replace(/"[^"]*"?|[\\_*]./gs, ' ')
    .split(';')

function formatOf(section: string): Format {
  const elapsed = /\[(h|m|s)+\]/i.exec(section)?.[1]!.toLowerCase() as 'h' | 'm' | 's' | undefined
  // Colors, conditions, currencies, and languages. Scientific notation contains an E.
  const bare = section.replace(/\[[^\]]*\]/g, '').replace(/E[+-]/gi, '')
  if (/general/i.test(bare)) return PLAIN
  const letters = bare.replace(/AM\/PM|A\/P|上午\/下午|午前\/午後|오전\/오후/gi, 'h').toLowerCase()
  const hours = /h/.test(letters)
  const seconds = /s/.test(letters)
  const date = /[ydebg]/.test(letters) || (/m/.test(letters) && !hours && !seconds && elapsed === undefined)
  return {
    date,
    time: hours || seconds,
    seconds,
    digits: Math.min(3, /s\.(0+)/.exec(letters)?.[1]!.length ?? 0),
    elapsed: elapsed ?? (!date && !hours && seconds && /m/.test(letters) ? 'm' : null),
    percent: bare.includes('%'),
    byValue: false,
  }
}

const DAY_MS = 86_400_000
/** The last valid day: 9999-12-31. */
const LAST_DAY = 2_958_465
const DAYS_TO_1904 = 1_462

export function formatNumber(rawValue: string, formats: readonly Format[], from1904: boolean): string {
  const value = Number(rawValue)
  if (rawValue.trim() === '' || !Number.isFinite(value)) return rawValue
  const section = value < 0 ? 1 : value === 0 ? 2 : 0
  const format = formats[section] ?? formats[0]!
  const { date, time, elapsed, percent, byValue } = format
  if (percent) return `${plain(value * 100)}%`
  if (elapsed !== null) return durationOf(value, elapsed, format)
  if (byValue)
    return formatNumber(rawValue, [{ ...format, byValue: false, date: value >= 1, time: value < 1 }], from1904)
  if (!date && !time) return /[.e]/i.test(rawValue) ? plain(value) : rawValue
  const serial = from1904 ? value + DAYS_TO_1904 : value
  if (serial < 0 || serial >= LAST_DAY + 1) return plain(value)
  const unit = 10 ** (3 - format.digits)
  const ms = Math.round((serial * DAY_MS) / unit) * unit
  const day = Math.floor(ms / DAY_MS)
  return [...(date ? [dayOf(day)] : []), ...(time ? [clockOf(ms % DAY_MS, format)] : [])].join(' ')
}

const plain = (value: number): string => String(Number(value.toPrecision(15)))

/** Day 60 is the nonexistent 29 February 1900, which spreadsheets count; day 0 precedes the first. */
function dayOf(day: number): string {
  if (day === 60) return '1900-02-29'
  if (day === 0) return '1900-01-00'
  const ms = Date.UTC(1899, 11, day > 60 ? 30 : 31) + day * DAY_MS
  return new Date(ms).toISOString().slice(0, 10)
}

const two = (number: number): string => String(number).padStart(2, '0')

function clockOf(ms: number, { seconds, digits }: Format): string {
  const whole = Math.floor(ms / 1_000)
  const clock = `${two(Math.floor(whole / 3_600))}:${two(Math.floor(whole / 60) % 60)}`
  return seconds ? `${clock}:${two(whole % 60)}${partOf(ms, digits)}` : clock
}

const partOf = (ms: number, digits: number): string =>
  digits === 0
    ? ''
    : `.${String(ms % 1_000)
        .padStart(3, '0')
        .slice(0, digits)}`

function durationOf(value: number, largest: 'h' | 'm' | 's', { seconds, digits }: Format): string {
  const unit = 10 ** (3 - digits)
  const ms = Math.round((Math.abs(value) * DAY_MS) / unit) * unit
  const whole = Math.floor(ms / 1_000)
  const tail = partOf(ms, digits)
  const sign = value < 0 ? '-' : ''
  if (largest === 's') return `${sign}${whole}${tail}`
  if (largest === 'm') return `${sign}${two(Math.floor(whole / 60))}${seconds ? `:${two(whole % 60)}${tail}` : ''}`
  const clock = `${sign}${Math.floor(whole / 3_600)}:${two(Math.floor(whole / 60) % 60)}`
  return seconds ? `${clock}:${two(whole % 60)}${tail}` : clock
}
