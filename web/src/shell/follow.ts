import { useEffect } from 'react'
import { ApiError } from '#faces/client.ts'
import { queryClient, uk } from '../api.ts'

const AGAIN_MS = 3_000
/** The queries that an event of the person's own channel makes old, by the beginning of its type. */
const made: readonly [string, readonly string[]][] = [
  ['notification.', ['inbox']],
  ['workspace.', ['workspaces']],
  ['invitation.', ['invitations']],
  ['settings.', ['settings']],
]

/** Hears of what happens to the person elsewhere: what they are told, and that their session was ended. */
export function useFollow(accountId: string | undefined): void {
  useEffect(() => {
    if (accountId === undefined) return
    const left = new AbortController()
    void follow(accountId, left.signal)
    return () => left.abort()
  }, [accountId])
}

async function follow(accountId: string, signal: AbortSignal): Promise<void> {
  let last: string | undefined
  while (!signal.aborted) {
    try {
      const more = { signal, ...(last !== undefined && { lastEventId: last }) }
      for await (const { id, event, data } of await uk.realtime.subscribe({ channels: `user:${accountId}` }, more)) {
        if (id !== undefined) last = id
        if (event === 'reset') void queryClient.invalidateQueries()
        if (event !== 'change') continue
        for (const [type, queryKey] of made)
          if (data.type.startsWith(type)) void queryClient.invalidateQueries({ queryKey: [...queryKey] })
      }
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof ApiError && error.status === 401) return void queryClient.setQueryData(['session'], null)
    }
    // A stream that ended may have ended because the session did: the next attempt says so.
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
  }
}
