import { useMemo, useSyncExternalStore } from 'react'
import { isUnfinished } from './live.ts'
import { Thread, type ThreadState } from './thread.ts'
import { type ToolResult, branchTo, resultsIn } from './tree.ts'
import type { Message } from '../queries.ts'

export function useThread(id: string): { thread: Thread; state: ThreadState } {
  const thread = useMemo(() => new Thread(id), [id])
  return { thread, state: useSyncExternalStore(thread.subscribe, thread.state) }
}

export interface Shown {
  /** The active branch with what is being written, tools' answers left out. */
  rows: readonly Message[]
  results: ReadonlyMap<string, ToolResult>
}

/** The active branch as it is drawn: rows of the server, and over them what its events tell of the run that goes on. */
export function useShown({ chat, messages, live }: ThreadState): Shown {
  return useMemo(() => {
    if (messages === null) return { rows: [], results: new Map() }
    const written = [...live.messages.values()]
    const [first, newest] = [written[0], written.at(-1)]
    const row = newest && messages.get(newest.id)
    // Until the rows tell the whole of it, what was told of the run stands behind the message that it answers.
    const isTold = row === undefined || row.status === 'in_progress' || (live.run !== null && isUnfinished(live.run))
    const branch =
      first !== undefined && isTold
        ? [...branchTo(messages, first.parent_id), ...written]
        : branchTo(messages, chat?.head_message_id ?? null)
    return {
      rows: branch.filter(({ role }) => role !== 'tool'),
      results: resultsIn(branch),
    }
  }, [chat?.head_message_id, messages, live])
}
