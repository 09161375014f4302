const count = new Intl.NumberFormat('en')
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

export const number = (value: number): string => count.format(value)
export const short = (value: number): string => (value < 10_000 ? count.format(value) : compact.format(value))

/** Formats an amount in whole cents, or with two significant figures below one cent. */
export function usd(value: number): string {
  if (value === 0) return '$0'
  const size = Math.abs(value)
  const decimals = size >= 0.995 ? 2 : Math.min(9, Math.max(2, Math.ceil(-Math.log10(size)) + 1))
  return value.toLocaleString('en', {
    style: 'currency',
    currency: 'USD',
    minimumFractionDigits: 2,
    maximumFractionDigits: decimals,
  })
}

/** Formats a price in USD per 1M tokens. */
export const perMillion = (value: number | null): string => (value === null ? '—' : value === 0 ? 'free' : usd(value))

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const steps: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_557_600],
  ['month', 2_629_800],
  ['week', 604_800],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]

export function ago(time: string, now: number = Date.now()): string {
  const seconds = (Date.parse(time) - now) / 1000
  const step = steps.find(([, size]) => Math.abs(seconds) >= size)
  return step ? relative.format(Math.trunc(seconds / step[1]), step[0]) : seconds > 0 ? 'in a moment' : 'just now'
}

const dates = new Intl.DateTimeFormat('en', { dateStyle: 'medium' })
const moments = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' })
export const date = (time: string): string => dates.format(new Date(time))
export const moment = (time: string): string => moments.format(new Date(time))
export const plural = (amount: number, one: string, many = `${one}s`): string =>
  `${number(amount)} ${amount === 1 ? one : many}`

const units = ['bytes', 'KB', 'MB', 'GB', 'TB'] as const

/** Formats a size such as `1.4 MB`, in decimal units like the server's limits. */
export function bytes(size: number): string {
  const step = Math.min(units.length - 1, size < 1_000 ? 0 : Math.floor(Math.log10(size) / 3))
  if (step === 0) return plural(size, 'byte')
  const value = size / 1_000 ** step
  return `${value < 10 ? value.toFixed(1).replace('.0', '') : count.format(Math.round(value))} ${units[step]}`
}
