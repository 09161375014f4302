import { useMemo, useSyncExternalStore } from 'react'
import type { Message, Run } from '../queries.ts'
import { contentOf, questionOf } from './question.ts'
import { isUnfinished } from './live.ts'
import { type Draft, Thread, type ThreadState } from './thread.ts'
import { type Following, type ToolResult, branchTo, followingIn, leafBelow, resultsIn } from './tree.ts'

export const useThread = (id: string): Thread => useMemo(() => new Thread(id), [id])

/** Selects one part of a thread's state, so that readers render only when it changes. */
export const useThreadState = <T>(thread: Thread, part: (state: ThreadState) => T): T =>
  useSyncExternalStore(thread.subscribe, () => part(thread.state()))

export interface VisibleThread {
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
export function useVisibleThread({ chat, messages, live }: ThreadState): VisibleThread {
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

/** The unfinished run, and the newest one including ended ones. */
export function useRun(thread: Thread): { run: Run | null; latest: Run | null } {
  const runs = useThreadState(thread, (state) => state.runs)
  const streamed = useThreadState(thread, (state) => state.live.run)
  return useMemo(() => {
    const row = streamed === null ? undefined : runs.find(({ id }) => id === streamed.id)
    // The row knows about decisions first.
    const current = streamed !== null && row !== undefined && row.updated_at > streamed.updated_at ? row : streamed
    return {
      run: current !== null && isUnfinished(current) ? current : (runs.find(isUnfinished) ?? null),
      latest: current ?? runs.at(-1) ?? null,
    }
  }, [runs, streamed])
}

export const showBranch = (thread: Thread, { id }: Message): Promise<void> =>
  thread.show(leafBelow(followingIn(thread.state().messages ?? new Map()), id))

/** The question of a response, to be sent again; null if it isn't loaded. */
export function questionAgain(thread: Thread, { parent_id }: Message): Pick<Draft, 'content' | 'parent_id'> | null {
  const { messages } = thread.state()
  const parent = messages?.get(parent_id ?? '')
  const question = parent && messages && questionOf(parent, messages)
  return question ? { content: contentOf(question), parent_id: question.parent_id } : null
}
