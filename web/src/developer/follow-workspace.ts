import { useEffect } from 'react'
import { queryClient } from '../api.ts'
import { listen } from '../stream.ts'

/** The time in which many events make one reading. */
const GATHER_MS = 400

/** Reads `key` anew whenever something happens in a workspace. */
export function useFollowWorkspace(workspaceId: string | undefined, key: string): void {
  useEffect(() => {
    if (workspaceId === undefined) return
    // The stream may go on from before: what was read on an earlier visit can be old without a word of it.
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
