/** Decimal units, as for disks and networks. */
export function bytesSaid(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let value = bytes
  let unit = 0
  for (; value >= 999.5 && unit < units.length - 1; unit++) value /= 1_000
  return `${unit === 0 || value >= 99.5 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}

/** Formats dollars: cents, or the first two significant digits of smaller amounts. */
export function usdSaid(usd: number): string {
  if (usd === 0) return '$0'
  const size = Math.abs(usd)
  return `$${size >= 0.1 ? usd.toFixed(2) : usd.toFixed(Math.min(9, 1 - Math.floor(Math.log10(size)))).replace(/0+$/, '')}`
}

/** `1 chat`, `2 chats`. */
export const counted = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`

/** Formats a price with all its digits, and at least cents. */
export const priceSaid = (usd: number): string =>
  `$${Number.isInteger(usd) || usd * 100 === Math.round(usd * 100) ? usd.toFixed(2).replace(/\.00$/, '') : String(usd)}`
