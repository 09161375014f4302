import { useIsMutating, useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { queryClient, uk } from '../shared/api.ts'
import { sayError } from '../ui/calls/errors.ts'
import { say } from '../ui/toast/toast.tsx'
import { type Preference, preferencesQuery } from './queries.ts'

const mutationKey = ['notification-preferences']
type Change = Partial<Pick<Preference, 'enabled' | 'digest'>>

/** A checkbox of the grid, updated optimistically. If the server rejects the change, it is reverted with a message. */
export function usePreference(cell: Preference): { shown: Preference; set: (change: Change) => void } {
  const { type, channel } = cell
  const [pending, setPending] = useState<Change | null>(null)
  const shown = { ...cell, ...pending }
  if (pending && shown.enabled === cell.enabled && shown.digest === cell.digest) setPending(null)
  const { mutate } = useMutation({
    mutationKey,
    // In click order, so that the last click wins.
    scope: { id: 'notification-preferences' },
    mutationFn: (change: Change) =>
      uk.notifications.update_preferences({ preferences: [{ type, channel, ...change }] }),
    // Reverts this cell only: the others may have newer changes in flight.
    onSuccess: (_, change) =>
      queryClient.setQueryData(
        preferencesQuery.queryKey,
        (grid) =>
          grid && {
            ...grid,
            preferences: grid.preferences.map((one) =>
              one.type === type && one.channel === channel ? { ...one, ...change } : one,
            ),
          },
      ),
    onError: (error) => {
      setPending(null)
      say(sayError(error))
    },
  })
  return {
    shown,
    set(change) {
      setPending(change)
      mutate(change)
    },
  }
}

export const useIsSaving = (): boolean => useIsMutating({ mutationKey }) > 0
