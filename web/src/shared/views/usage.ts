/** The state of the usage page. It is kept in the address, so that a view can be bookmarked and shared. */
export interface View {
  days: 7 | 30 | 90
  by: 'model' | 'provider' | 'key'
  measure: 'cost' | 'tokens' | 'calls'
  whose: string
  model?: string
  provider?: string
  key?: string
  surface?: string
}

export const narrowings = ['model', 'provider', 'key', 'surface'] as const
export type Narrowing = (typeof narrowings)[number]

export const defaults: View = { days: 30, by: 'model', measure: 'cost', whose: 'mine' }

const oneOf = <T>(value: unknown, all: readonly T[], otherwise: T): T =>
  all.includes(value as T) ? (value as T) : otherwise

/** Parses the address; ignores invalid values and drops defaults. */
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
