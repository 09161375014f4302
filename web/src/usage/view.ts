/** The state of the usage page; it lives in the address, so that a view can be kept and passed on. */
export interface View {
  days: 7 | 30 | 90
  by: 'model' | 'provider' | 'key'
  measure: 'cost' | 'tokens' | 'calls'
  /** `mine`, `instance`, or the id of a workspace. */
  whose: string
  /** The filters, set by a click on a name; left out: none. */
  model?: string
  provider?: string
  /** The key's id. */
  key?: string
  surface?: string
}

export const narrowings = ['model', 'provider', 'key', 'surface'] as const
export type Narrowing = (typeof narrowings)[number]

export const defaults: View = { days: 30, by: 'model', measure: 'cost', whose: 'mine' }

const oneOf = <T>(value: unknown, all: readonly T[], otherwise: T): T =>
  all.includes(value as T) ? (value as T) : otherwise

/** The address as a view, whatever it holds; what is the default is left out of it. */
export const viewIn = (search: Record<string, unknown>): View => ({
  days: oneOf(Number(search.days), [7, 30, 90] as const, defaults.days),
  by: oneOf(search.by, ['model', 'provider', 'key'] as const, defaults.by),
  measure: oneOf(search.measure, ['cost', 'tokens', 'calls'] as const, defaults.measure),
  whose: typeof search.whose === 'string' ? search.whose : defaults.whose,
  ...Object.fromEntries(
    narrowings.flatMap((name) => {
      const value = search[name]
      return typeof value === 'string' && value !== '' ? [[name, value]] : []
    }),
  ),
})

export const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10)
export const daysUpTo = (today: string, count: number): string[] =>
  Array.from({ length: count }, (_, i) => dayOf(Date.parse(today) - (count - 1 - i) * 86_400_000))
