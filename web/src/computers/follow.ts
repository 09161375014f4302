import { useEffect } from 'react'
import { useQuery } from '@tanstack/react-query'
import { queryClient, uk } from '../api.ts'
import { useAccount, workspacesQuery } from '../session.ts'

const AGAIN_MS = 3_000

/** While a page of computers is open: what becomes of them is shown at once, those that workspaces lend among them. */
export function useFollowComputers(): void {
  const { id } = useAccount()
  const { data: workspaces } = useQuery(workspacesQuery)
  const channels = workspaces && [`user:${id}`, ...workspaces.map((one) => `workspace:${one.id}`)].slice(0, 100).join()
  useEffect(() => {
    if (channels === undefined) return
    const left = new AbortController()
    void follow(channels, left.signal)
    return () => left.abort()
  }, [channels])
}

async function follow(channels: string, signal: AbortSignal): Promise<void> {
  let last: string | undefined
  while (!signal.aborted) {
    try {
      const more = { signal, ...(last !== undefined && { lastEventId: last }) }
      for await (const { id, event, data } of await uk.realtime.subscribe({ channels }, more)) {
        if (id !== undefined) last = id
        // What came before it listens is not told.
        if (event === 'subscribed' || event === 'reset') refresh('computer.')
        else if (event === 'change' && data.type.startsWith('computer.')) refresh(data.type)
      }
    } catch {
      // The shell shows what it means that the server is away.
    }
    if (signal.aborted) return
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
  }
}

function refresh(type: string): void {
  void queryClient.invalidateQueries({ queryKey: ['computers'] })
  if (type.includes('local_model')) void queryClient.invalidateQueries({ queryKey: ['local-models'] })
}
