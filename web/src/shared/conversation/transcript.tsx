import { Suspense, lazy, useCallback, useRef, useSyncExternalStore } from 'react'
import type { Message, Run } from './queries.ts'
import { RunLine } from './run-line.tsx'
import type { Draft, Thread } from './thread/thread.ts'
import { siblingsOf } from './thread/tree.ts'
import { useVisibleThread } from './thread/use-thread.ts'
import { type ListHandle, MessageList } from './messages/list.tsx'
import { type MessageActions, MessageRow } from './messages/message.tsx'

const FindBar = lazy(async () => ({ default: (await import('./find/find-bar.tsx')).FindBar }))

/**
 * The messages of the active branch and the streaming response: the only part of the page that renders for each word.
 */
export function Transcript({
  thread,
  run,
  latest,
  actions,
  speakerOf,
  onAgain,
  finding,
  onFound,
}: {
  thread: Thread
  run: Run | null
  latest: Run | null
  actions: MessageActions
  speakerOf: (message: Message) => string
  onAgain: (run: Run) => void
  finding: boolean
  onFound: () => void
}) {
  const list = useRef<ListHandle>(null)
  const onEarlier = useCallback(() => void thread.showEarlier(), [thread])
  const state = useSyncExternalStore(thread.subscribe, thread.state)
  const { rows, resultsFor, following } = useVisibleThread(state)
  const { earlier, sending, live } = state
  return (
    <>
      {finding && (
        <Suspense>
          <FindBar rows={rows} earlier={earlier} onEarlier={onEarlier} list={list} onClose={onFound} />
        </Suspense>
      )}
      <MessageList
        ref={list}
        rows={rows}
        busy={run?.status === 'running'}
        earlier={earlier}
        onEarlier={onEarlier}
        end={
          <>
            {rows.length === 0 && sending === null && (
              <p className="mx-auto max-w-[46rem] px-4 py-16 text-center text-quiet">No messages yet.</p>
            )}
            {sending !== null && <Going draft={sending} />}
            {live.troubles.map((trouble) => (
              <p key={trouble} className="mx-auto max-w-[46rem] px-4 py-1 text-sm text-quiet">
                Tools of an MCP server are unavailable. {trouble}
              </p>
            ))}
            <div className="mx-auto max-w-[46rem] px-4 py-3 empty:hidden sm:px-0">
              {latest && <RunLine run={latest} onAgain={() => onAgain(latest)} />}
            </div>
          </>
        }
      >
        {(message) => (
          <MessageRow
            message={message}
            speaker={speakerOf(message)}
            siblings={siblingsOf(following, message)}
            results={resultsFor(message)}
            run={run !== null && message.run_id === run.id ? run : null}
            actions={actions}
          />
        )}
      </MessageList>
    </>
  )
}

function Going({ draft: { content } }: { draft: Draft }) {
  const text =
    typeof content === 'string' ? content : content.map((part) => (part.type === 'text' ? part.text : '')).join('')
  return (
    <div className="bg-sunk/60 px-4 py-4 sm:px-6">
      <div className="mx-auto max-w-[46rem]">
        <p className="mb-1 text-sm font-medium">You</p>
        <p className="text-[1.0625rem] leading-[1.65] break-words whitespace-pre-wrap opacity-70">{text}</p>
      </div>
    </div>
  )
}
