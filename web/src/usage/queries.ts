import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { uk } from '../api.ts'
import { type View, dayOf, daysUpTo } from './view.ts'

type Asked = Pick<View, 'days' | 'by' | 'whose'>
export type Usage = Awaited<ReturnType<typeof uk.ai_gateway.usage>>

export const usageQuery = ({ days, by, whose }: Asked) =>
  queryOptions({
    queryKey: ['usage', days, by, whose],
    queryFn: () =>
      uk.ai_gateway.usage({
        from: daysUpTo(dayOf(Date.now()), days)[0]!,
        series: by,
        ...(whose === 'instance' && { instance: true }),
        ...(whose !== 'mine' && whose !== 'instance' && { workspace_id: whose }),
      }),
    // Another view takes the place of the one before it, without a hole between them.
    placeholderData: keepPreviousData,
  })

/** The rest of the credits; null where the account draws on none. */
export const balanceQuery = queryOptions({
  queryKey: ['usage', 'balance'],
  queryFn: async () => {
    const summary = await uk.me.usage({})
    return 'balance_usd' in summary ? summary.balance_usd : null
  },
})

/** One page of the caller's own metered calls. */
async function calls(whose: string, cursor: string | null) {
  const answer = await uk.me.usage({
    view: 'history',
    limit: 20,
    ...(cursor !== null && { cursor }),
    ...(whose !== 'mine' && { workspace_id: whose }),
  })
  if (!('rows' in answer)) throw new TypeError('the history is a list')
  return answer
}
export type Call = Awaited<ReturnType<typeof calls>>['rows'][number]

export const callsQuery = (whose: string) =>
  infiniteQueryOptions({
    queryKey: ['calls', whose],
    queryFn: ({ pageParam }) => calls(whose, pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
  })
