import { useIsMutating, useMutation } from '@tanstack/react-query'
import { queryClient, sayError, uk } from '../api.ts'
import { say } from '../ui/toast.tsx'
import { type Preference, preferencesQuery } from './queries.ts'

const { queryKey } = preferencesQuery
const mutationKey = ['notification-preferences']
type Wish = Pick<Preference, 'type' | 'channel'> & Partial<Pick<Preference, 'enabled' | 'digest'>>

const isOf = (wish: Wish) => (one: Preference) => one.type === wish.type && one.channel === wish.channel

/** One cell of the grid. It shows at once; what the server refuses goes back to how it was, and is said. */
export function useWish(): (wish: Wish) => void {
  const { mutate } = useMutation({
    mutationKey,
    // In the order of the clicks, so that the last one holds.
    scope: { id: 'notification-preferences' },
    mutationFn: (wish: Wish) => uk.notifications.update_preferences({ preferences: [wish] }),
    onMutate: async (wish) => {
      await queryClient.cancelQueries({ queryKey })
      queryClient.setQueryData(
        queryKey,
        (grid) =>
          grid && {
            ...grid,
            preferences: grid.preferences.map((one) => (isOf(wish)(one) ? { ...one, ...wish } : one)),
          },
      )
    },
    onError: (error) => say(sayError(error)),
    // Not under the hand of somebody who clicks on.
    onSettled: () =>
      queryClient.isMutating({ mutationKey }) === 1 ? queryClient.invalidateQueries({ queryKey }) : null,
  })
  return mutate
}

export const useIsSaving = (): boolean => useIsMutating({ mutationKey }) > 0
