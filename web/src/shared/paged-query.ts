import {
  type InfiniteData,
  type QueryFunctionContext,
  type QueryKey,
  type UndefinedInitialDataInfiniteOptions,
  infiniteQueryOptions,
} from '@tanstack/react-query'

type Options<P> = UndefinedInitialDataInfiniteOptions<P, Error, InfiniteData<P>, QueryKey, string | null>

export const pagedQuery = <P extends { next: string | null }>(
  queryKey: QueryKey,
  read: (from: { cursor?: string }, context: Pick<QueryFunctionContext, 'signal'>) => Promise<P>,
  more: Omit<Options<P>, 'queryKey' | 'queryFn' | 'initialPageParam' | 'getNextPageParam'> = {},
) =>
  infiniteQueryOptions<P, Error, InfiniteData<P>, QueryKey, string | null>({
    ...more,
    queryKey,
    queryFn: (context) => read(context.pageParam === null ? {} : { cursor: context.pageParam }, context),
    initialPageParam: null,
    getNextPageParam: ({ next }) => next,
  })
