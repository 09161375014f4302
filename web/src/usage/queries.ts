import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { uk } from '../shared/api.ts'
import { pagedQuery } from '../shared/paged-query.ts'
import type { View } from '../shared/views/usage.ts'
import { dayOf, daysUpTo } from './days.ts'

type UsageFilter = Omit<View, 'measure'>
export type Usage = Awaited<ReturnType<typeof uk.ai_gateway.usage>>

const askedFor = ({ days, whose, model, provider, key, surface }: UsageFilter) => ({
  from: daysUpTo(dayOf(Date.now()), days)[0]!,
  ...(whose === 'instance' && { instance: true }),
  ...(whose !== 'mine' && whose !== 'instance' && { workspace_id: whose }),
  ...(model !== undefined && { model }),
  ...(provider !== undefined && { provider }),
  ...(key !== undefined && { key_id: key }),
  ...(surface !== undefined && { surface }),
})

export const csvOf = (view: UsageFilter): string =>
  `/v1/app/usage-export?${new URLSearchParams(
    Object.entries(askedFor(view)).map(([name, value]): [string, string] => [name, String(value)]),
  ).toString()}`

export const usageQuery = (view: UsageFilter) =>
  queryOptions({
    // The measure affects only the chart.
    queryKey: ['usage', askedFor(view), view.by],
    queryFn: () => uk.ai_gateway.usage({ ...askedFor(view), series: view.by }),
    // Keeps the previous data while the next view loads.
    placeholderData: keepPreviousData,
  })

/** The remaining credits; null for accounts without a balance. */
export const balanceQuery = queryOptions({
  queryKey: ['usage', 'balance'],
  queryFn: async () => {
    const summary = await uk.me.usage({})
    return 'balance_usd' in summary ? summary.balance_usd : null
  },
})

async function calls({ whose, model, provider, key }: UsageFilter, from: { cursor?: string }) {
  const answer = await uk.me.usage({
    view: 'history',
    limit: 20,
    ...from,
    ...(whose !== 'mine' && { workspace_id: whose }),
    ...(model !== undefined && { model }),
    ...(provider !== undefined && { provider }),
    ...(key !== undefined && { key_id: key }),
  })
  if (!('rows' in answer)) throw new TypeError('the history is a list')
  return answer
}
export type Call = Awaited<ReturnType<typeof calls>>['rows'][number]

export const callsQuery = (view: UsageFilter) =>
  pagedQuery(['calls', view.whose, view.model, view.provider, view.key], (from) => calls(view, from))
