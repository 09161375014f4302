import { useEffect } from 'react'
import { queryClient, uk } from '../api.ts'

const AGAIN_MS = 3_000

/** What is read anew when something happens, by the beginning of the event's type. */
export type Heard = readonly (readonly [type: string, ...queryKeys: (readonly string[])[]])[]

/**
 * Follows channels for as long as a page is open, and reads anew what their events make old. Channels that the person may
 * not read are left alone: the page shows what it has read.
 */
export function useChannels(channels: readonly string[], heard: Heard): void {
  const names = channels.join(',')
  const words = JSON.stringify(heard)
  useEffect(() => {
    if (names === '') return
    const left = new AbortController()
    void listen(names, JSON.parse(words) as Heard, left.signal)
    return () => left.abort()
  }, [names, words])
}

async function listen(channels: string, heard: Heard, signal: AbortSignal): Promise<void> {
  let last: string | undefined
  const read = (keys: readonly (readonly string[])[]): void => {
    for (const queryKey of keys) void queryClient.invalidateQueries({ queryKey: [...queryKey] })
  }
  while (!signal.aborted) {
    try {
      const more = { signal, ...(last !== undefined && { lastEventId: last }) }
      for await (const { id, event, data } of await uk.realtime.subscribe({ channels }, more)) {
        if (id !== undefined) last = id
        // What happened meanwhile is not told: all of it may be old.
        if (event === 'reset') for (const [, ...keys] of heard) read(keys)
        if (event === 'change') for (const [type, ...keys] of heard) if (data.type.startsWith(type)) read(keys)
      }
    } catch {
      if (signal.aborted) return
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
  }
}
