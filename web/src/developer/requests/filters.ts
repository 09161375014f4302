import type { uk } from '../../shared/api.ts'

export interface Filters {
  /** `instance` or a workspace ID; omitted: the person's own requests. */
  whose?: string
  key?: string
  model?: string
  provider?: string
  status?: 'succeeded' | 'failed' | 'cancelled'
  error?: string
  from?: string
  to?: string
}

const statuses = ['succeeded', 'failed', 'cancelled'] as const
const isDay = (value: unknown): value is string => typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value)
const words = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined

export function filtersIn(search: Record<string, unknown>): Filters {
  const status = statuses.find((one) => one === search.status)
  const given = {
    whose: words(search.whose),
    key: words(search.key),
    model: words(search.model),
    provider: words(search.provider),
    status,
    error: words(search.error),
    from: isDay(search.from) ? search.from : undefined,
    to: isDay(search.to) ? search.to : undefined,
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

export type Query = NonNullable<Parameters<typeof uk.ai_gateway.requests>[0]>

export const queryOf = ({ whose, key, error, ...plain }: Filters): Query => ({
  ...plain,
  ...(key !== undefined && { key_id: key }),
  ...(error !== undefined && { error_code: error }),
  ...(whose === 'instance' ? { instance: true } : whose !== undefined && { workspace_id: whose }),
})
