import type { Query, QueryClient } from '@tanstack/react-query'
import { isShown, refusal } from './errors.ts'

export const isUnread = ({ state }: Query): boolean => state.status === 'error' && state.data === undefined

export const readFailedAgain = (client: QueryClient): Promise<void> =>
  client.refetchQueries({ type: 'active', predicate: isUnread })

/**
 * An error of a failed query on this page that no part of the page shows. Refusals (no access, not found, wrong state) are left
 * to the part that asked.
 */
export const unshownError = (client: QueryClient): unknown =>
  client
    .getQueryCache()
    .findAll({ type: 'active', predicate: isUnread })
    .map(({ state }) => state.error as unknown)
    .find((error) => !isShown(error) && ![401, 403, 404, 409].includes(refusal(error)?.status ?? 0)) ?? null
