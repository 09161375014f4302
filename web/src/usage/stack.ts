/** Turns sums by day and name into a stacked chart. */
export interface Part {
  day: string
  name: string | null
  value: number
}

export interface Stack {
  /** The series, largest first. Beyond `most`, they are merged into `others`. */
  names: string[]
  days: { day: string; values: number[]; total: number }[]
  peak: number
}

export const OTHERS = 'Others'

export function stackOf(parts: readonly Part[], days: readonly string[], unnamed: string, most = 6): Stack {
  const sums = new Map<string, number>()
  for (const { name, value } of parts) sums.set(name ?? unnamed, (sums.get(name ?? unnamed) ?? 0) + value)
  const ranked = [...sums].filter(([, sum]) => sum > 0).toSorted((a, b) => b[1] - a[1])
  const named = ranked.slice(0, ranked.length > most ? most - 1 : most).map(([name]) => name)
  const names = ranked.length > named.length ? [...named, OTHERS] : named
  const column = new Map(days.map((day) => [day, names.map(() => 0)]))
  for (const { day, name, value } of parts) {
    const values = column.get(day)
    const at = named.indexOf(name ?? unnamed)
    if (values && value > 0) values[at < 0 ? names.length - 1 : at]! += value
  }
  const columns = days.map((day) => {
    const values = column.get(day)!
    return { day, values, total: values.reduce((sum, value) => sum + value, 0) }
  })
  return { names, days: columns, peak: Math.max(0, ...columns.map(({ total }) => total)) }
}

/** Rounds `peak` up to 1, 2 or 5 times a power of ten. */
export function scaleFor(peak: number): number {
  if (peak <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(peak))
  const step = [1, 2, 5, 10].find((one) => one * power >= peak * 0.999_999)!
  return step * power
}
