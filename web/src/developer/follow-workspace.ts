import { useEffect } from 'react'
import { queryClient, uk } from '../api.ts'

const AGAIN_MS = 3_000
/** Many events at once make one reading. */
const GATHER_MS = 400

/** Reads `key` anew whenever something happens in a workspace. */
export function useFollowWorkspace(workspaceId: string | undefined, key: string): void {
  useEffect(() => {
    if (workspaceId === undefined) return
    const left = new AbortController()
    void follow(workspaceId, key, left.signal)
    return () => left.abort()
  }, [workspaceId, key])
}

async function follow(workspaceId: string, key: string, signal: AbortSignal): Promise<void> {
  let last: string | undefined
  let gathering: ReturnType<typeof setTimeout> | undefined
  const read = (): void => {
    clearTimeout(gathering)
    gathering = setTimeout(() => void queryClient.invalidateQueries({ queryKey: [key] }), GATHER_MS)
  }
  signal.addEventListener('abort', () => clearTimeout(gathering))
  while (!signal.aborted) {
    try {
      const more = { signal, ...(last !== undefined && { lastEventId: last }) }
      for await (const { id, event } of await uk.realtime.subscribe({ channels: `workspace:${workspaceId}` }, more)) {
        if (id !== undefined) last = id
        if (event === 'change' || event === 'reset') read()
      }
    } catch {
      // A stream that ended, or could not begin, is begun again below.
    }
    if (signal.aborted) return
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
  }
}
