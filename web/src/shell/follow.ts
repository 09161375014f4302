import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { queryClient } from '../shared/api.ts'
import { workspacesQuery } from '../shared/session.ts'
import { listen } from '../shared/stream.ts'
import { lineIs, lineLost } from './states/line.ts'
import { lookForVersion } from './states/version.ts'

const queriesOf: readonly [type: string, queries: readonly string[]][] = [
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
  ['computer.local_model', ['local-models']],
  ['operation.', ['operations']],
  ['provider_endpoint.', ['routing', 'models']],
  ['credits.', ['credit-requests', 'usage']],
]
/**
 * Queries that change without an action of the person. Changes between the read and the start of the stream could be
 * missed.
 */
const atBeginning = ['computers']
/** Debounces a burst of changes into one refetch. */
const TOGETHER_MS = 300
const MAX_WORKSPACES = 50

/** Follows events of the person and their workspaces, and the end of the session. */
export function useFollow(accountId: string | undefined): void {
  const { data: workspaces } = useQuery({ ...workspacesQuery, enabled: accountId !== undefined })
  const ids = workspaces?.slice(0, MAX_WORKSPACES).map(({ id }) => `workspace:${id}`)
  const channels = accountId === undefined || ids === undefined ? null : [`user:${accountId}`, ...ids].join(',')
  useEffect(() => {
    if (channels === null) return
    const old = new Old()
    const leave = listen(channels.split(','), (heard) => {
      if (heard.event === 'lost') lineLost()
      else if (heard.event === 'again') {
        void afterPause(heard.broke)
        lineIs('open')
      } else if (heard.event === 'begun')
        if (heard.missed) old.addAll()
        else for (const query of atBeginning) old.add(query)
      // After leaving a workspace, the list of workspaces and the channels are refreshed.
      else if (heard.event === 'revoked') old.add('workspaces')
      else
        for (const [type, queries] of queriesOf)
          if (heard.change.type.startsWith(type)) queries.forEach((query) => old.add(query))
    })
    return () => {
      leave()
      old.forget()
    }
  }, [channels])
}

/** Refetches after a connection loss: the data may be stale, and the server may be a new one. */
async function afterPause(broke: boolean): Promise<void> {
  if (broke) await queryClient.invalidateQueries()
  await lookForVersion()
}

class Old {
  readonly #names = new Set<string>()
  #all = false
  #timer: ReturnType<typeof setTimeout> | undefined
  add(name: string): void {
    this.#names.add(name)
    this.#readSoon()
  }
  /** Refetches everything on the page, since it's unknown which changes were missed. */
  addAll(): void {
    this.#all = true
    this.#readSoon()
  }
  forget(): void {
    clearTimeout(this.#timer)
  }
  #readSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#read()
    }, TOGETHER_MS)
  }
  #read(): void {
    const names = [...this.#names]
    const all = this.#all
    this.#names.clear()
    this.#all = false
    if (all) void queryClient.invalidateQueries()
    else for (const name of names) void queryClient.invalidateQueries({ queryKey: [name] })
  }
}
