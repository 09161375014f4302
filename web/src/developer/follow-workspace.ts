import { useEffect } from 'react'
import { queryClient } from '../shared/api.ts'
import { listen } from '../shared/stream.ts'

/** Debounces bursts of events. */
const GATHER_MS = 400

/** Refetches `key` on events of a workspace. */
export function useFollowWorkspace(workspaceId: string | undefined, key: string): void {
  useEffect(() => {
    if (workspaceId === undefined) return
    // The stream may already be open: data from an earlier visit can be stale without a new event.
    void queryClient.invalidateQueries({ queryKey: [key] }, { cancelRefetch: false })
    let gathering: ReturnType<typeof setTimeout> | undefined
    const leave = listen([`workspace:${workspaceId}`], ({ event }) => {
      if (event !== 'change' && event !== 'begun') return
      clearTimeout(gathering)
      gathering = setTimeout(() => void queryClient.invalidateQueries({ queryKey: [key] }), GATHER_MS)
    })
    return () => {
      leave()
      clearTimeout(gathering)
    }
  }, [workspaceId, key])
}
