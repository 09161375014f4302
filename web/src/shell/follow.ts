import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { ApiError } from '#faces/client.ts'
import { pause, waitBefore } from '../again.ts'
import { queryClient, uk } from '../api.ts'
import { workspacesQuery } from '../session.ts'
import { lineIs, lineLost } from './states/line.ts'
import { lookForVersion } from './states/version.ts'

/** The queries that a change makes old, by the beginning of its type. */
const made: readonly [type: string, queries: readonly string[]][] = [
  ['notification.', ['inbox']],
  ['workspace.', ['workspaces']],
  ['member.', ['members', 'team']],
  ['invitation.', ['invitations']],
  ['settings.', ['settings']],
  ['chat.', ['chats']],
  ['message.', ['chats']],
  ['run.', ['chats']],
  ['file.', ['drive']],
  ['agent.', ['agents']],
  ['automation.', ['automations']],
  ['computer.', ['computers']],
  ['operation.', ['operations']],
  ['credits.', ['credit-requests', 'usage']],
]
/** A burst of changes is one reading. */
const TOGETHER_MS = 300
const MOST_WORKSPACES = 50

/** Hears of what happens to the person and in their workspaces, and that their session was ended. */
export function useFollow(accountId: string | undefined): void {
  const { data: workspaces } = useQuery({ ...workspacesQuery, enabled: accountId !== undefined })
  const ids = workspaces?.slice(0, MOST_WORKSPACES).map(({ id }) => `workspace:${id}`)
  const channels = accountId === undefined || ids === undefined ? null : [`user:${accountId}`, ...ids].join(',')
  useEffect(() => {
    if (channels === null) return
    const left = new AbortController()
    void follow(channels, left.signal)
    return () => left.abort()
  }, [channels])
}

async function follow(channels: string, signal: AbortSignal): Promise<void> {
  const old = new Old(signal)
  let last: string | undefined
  let failed = 0
  let broke = false
  while (!signal.aborted) {
    // A line that the browser calls lost may never say so itself.
    const cut = new AbortController()
    const lose = (): void => cut.abort()
    window.addEventListener('offline', lose)
    try {
      const more = { signal: AbortSignal.any([signal, cut.signal]), ...(last !== undefined && { lastEventId: last }) }
      for await (const { id, event, data } of await uk.realtime.subscribe({ channels }, more)) {
        if (id !== undefined) last = id
        if (failed > 0) {
          void afterPause(broke)
          failed = 0
          broke = false
          lineIs('open')
        }
        if (event === 'reset') void queryClient.invalidateQueries()
        // Out of a workspace: which ones there are is asked again, and others are followed then.
        if (event === 'revoked') old.add('workspaces')
        if (event !== 'change') continue
        for (const [type, queries] of made) if (data.type.startsWith(type)) queries.forEach((query) => old.add(query))
      }
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof ApiError && error.status === 401) return void queryClient.setQueryData(['session'], null)
      // A workspace that one was taken out of between the two readings.
      if (error instanceof ApiError && error.status === 404) old.add('workspaces')
      if (!(error instanceof ApiError) || error.status >= 500) {
        broke = true
        lineLost()
      }
    } finally {
      window.removeEventListener('offline', lose)
    }
    // A stream that ended may have ended because the session did: the next attempt says so.
    await pause(waitBefore(failed++), signal)
  }
}

/** What is shown may be old by now, and the server may be another one. */
async function afterPause(broke: boolean): Promise<void> {
  if (broke) await queryClient.invalidateQueries()
  await lookForVersion()
}

/** The queries that became old since the last reading. */
class Old {
  readonly #names = new Set<string>()
  readonly #signal: AbortSignal
  constructor(signal: AbortSignal) {
    this.#signal = signal
  }
  add(name: string): void {
    if (this.#names.size === 0) setTimeout(() => this.#read(), TOGETHER_MS)
    this.#names.add(name)
  }
  #read(): void {
    const names = [...this.#names]
    this.#names.clear()
    if (this.#signal.aborted) return
    for (const name of names) void queryClient.invalidateQueries({ queryKey: [name] })
  }
}
