import { useMemo, useSyncExternalStore } from 'react'
import type { Message } from '../queries.ts'
import { isUnfinished } from './live.ts'
import { Thread, type ThreadState } from './thread.ts'
import { type Following, type ToolResult, branchTo, followingIn, resultsIn } from './tree.ts'

export const useThread = (id: string): Thread => useMemo(() => new Thread(id), [id])

/** Selects one part of a thread's state, so that readers render only when it changes. */
export const useTold = <T>(thread: Thread, part: (state: ThreadState) => T): T =>
  useSyncExternalStore(thread.subscribe, () => part(thread.state()))

export interface Shown {
  /** The active branch with the streaming response, without tool results. */
  rows: readonly Message[]
  resultsFor: (message: Message) => ReadonlyMap<string, ToolResult>
  following: Following
}

const none: ReadonlyMap<string, ToolResult> = new Map()
const isShown = ({ role }: Message): boolean => role !== 'tool'

/**
 * The active branch: stored rows, followed by the unfinished run according to its events. Existing rows keep their
 * identity while the response streams.
 */
export function useShown({ chat, messages, live }: ThreadState): Shown {
  const [first, newest] = useMemo(() => {
    const ids = [...live.messages.values()]
    return [ids[0], ids.at(-1)]
  }, [live.messages])
  const row = newest && messages?.get(newest.id)
  // The run's events are shown after the message they answer until the rows contain everything.
  const isTold =
    first !== undefined &&
    (row === undefined || row.status === 'in_progress' || (live.run !== null && isUnfinished(live.run)))
  const end = isTold ? first.parent_id : (chat?.head_message_id ?? null)
  const before = useMemo(() => {
    const branch = messages === null ? [] : branchTo(messages, end)
    return { rows: branch.filter(isShown), results: resultsIn(branch) }
  }, [messages, end])
  const following = useMemo(() => followingIn(messages ?? new Map()), [messages])
  return useMemo(() => {
    if (messages === null) return { rows: [], resultsFor: () => none, following }
    if (!isTold) return { rows: before.rows, resultsFor: () => before.results, following }
    const written = [...live.messages.values()]
    const results = resultsIn(written)
    return {
      rows: [...before.rows, ...written.filter(isShown)],
      resultsFor: ({ id }: Message) => (live.messages.has(id) ? results : before.results),
      following,
    }
  }, [messages, before, isTold, live.messages, following])
}
