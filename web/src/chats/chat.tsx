import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useEffect, useMemo, useRef, useState } from 'react'
import { queryClient, sayError, uk } from '../api.ts'
import { namesQuery, useAccount, workspacesQuery } from '../session.ts'
import { Button } from '../ui/button.tsx'
import { Failure, Refused, Waiting } from '../ui/notice.tsx'
import { ChatHead } from './chat-head.tsx'
import { contentOf, givenOf, questionOf } from './content.ts'
import { Composer, type Written } from './composer/composer.tsx'
import { ModelPicker } from './composer/model-picker.tsx'
import { takeFirst } from './first-message.ts'
import { MessageList } from './messages/list.tsx'
import { type MessageDeeds, MessageRow } from './messages/message.tsx'
import { type Message, type Run, agentQuery, settingsQuery } from './queries.ts'
import { RunLine } from './run-line.tsx'
import { isUnfinished } from './thread/live.ts'
import type { Draft, Thread } from './thread/thread.ts'
import { leafBelow, siblingsOf } from './thread/tree.ts'
import { useShown, useThread } from './thread/use-thread.ts'

/** A conversation: what was said, what is being said, and the place to go on. */
export function ChatPage() {
  const { id } = useParams({ from: '/shell/chats/$id' })
  return <Conversation key={id} id={id} />
}

function Conversation({ id }: { id: string }) {
  const { thread, state } = useThread(id)
  const { chat, messages, runs, live, sending, earlier, error } = state
  const shown = useShown(state)
  const { data: workspaces } = useQuery(workspacesQuery)
  const { data: settings } = useQuery(settingsQuery)
  const { data: agent } = useQuery(agentQuery(chat?.agent_id ?? null))
  const { id: me } = useAccount()
  const workspace = workspaces?.find((one) => one.id === chat?.workspace_id)
  const { data: names } = useQuery({ ...namesQuery(workspace?.id ?? ''), enabled: workspace !== undefined })
  const [draft, setDraft] = useState('')
  const [edited, setEdited] = useState<Message | null>(null)
  const [refused, setRefused] = useState<string | null>(null)
  const told =
    live.run === null
      ? null
      : newer(
          live.run,
          runs.find((row) => row.id === live.run!.id),
        )
  const run = told !== null && isUnfinished(told) ? told : (runs.find(isUnfinished) ?? null)
  const latest = told ?? runs.at(-1) ?? null
  const model = chat?.model ?? agent?.model ?? settings?.default_model ?? null
  // A chat that is shared to be read has no workspace of this person's; the server says so where it is tried all the same.
  const mayWrite = chat !== null && chat.status === 'active'

  const send = useSending(thread, setRefused)
  // The first message of a chat that was begun on the page before.
  const first = useRef(false)
  useEffect(() => {
    if (first.current) return
    first.current = true
    const written = takeFirst(id)
    if (written) void send({ id, content: contentOf(written), ...(written.model && { model: written.model }) })
  }, [id, send])

  const deeds: MessageDeeds | null = useMemo(() => {
    if (!mayWrite) return null
    return {
      edit(message) {
        setEdited(message)
        setDraft(message.text)
      },
      again(message) {
        const asked = thread.state().messages?.get(message.parent_id ?? '')
        const question = asked && questionOf(asked, thread.state().messages!)
        if (question) void send({ id, content: givenOf(question), parent_id: question.parent_id })
      },
      show(sibling) {
        void thread
          .show(leafBelow(thread.state().messages!, sibling.id))
          .catch((failure: unknown) => setRefused(sayError(failure)))
      },
      decide: (runId, actions) => thread.decide(runId, actions),
    }
  }, [id, mayWrite, send, thread])

  if (error !== null && (messages === null || chat === null))
    return (
      <div className="p-6">
        <Failure what="This chat" error={error} again={() => thread.refresh()} />
      </div>
    )
  if (chat === null || messages === null)
    return (
      <div className="p-6">
        <Waiting what="the chat" />
      </div>
    )
  const speakerOf = ({ role, created_by, model: by }: Message): string =>
    role === 'user'
      ? created_by === me
        ? 'You'
        : (names?.get(created_by ?? '') ?? 'Somebody else')
      : role === 'assistant'
        ? (agent?.name ?? by ?? run?.model ?? 'Assistant')
        : 'System'
  const queued = runs.filter(({ status, id: other }) => status === 'queued' && other !== run?.id).length
  const onSend = async (written: Written): Promise<boolean> => {
    const content = contentOf(written)
    const parent = edited === null ? {} : { parent_id: edited.parent_id }
    setDraft('')
    setEdited(null)
    const went = await send({ id, content, ...parent })
    if (!went) {
      setDraft((now) => now || written.text)
      setEdited((now) => now ?? edited)
    }
    return went
  }
  return (
    <div className="flex h-[calc(100dvh-3.375rem)] flex-col lg:h-dvh">
      <ChatHead chat={chat} workspace={workspace?.name ?? null} onChange={() => void thread.refresh()} />
      <MessageList
        rows={shown.rows}
        busy={run?.status === 'running'}
        earlier={earlier}
        onEarlier={() => void thread.showEarlier()}
        end={
          <>
            {shown.rows.length === 0 && sending === null && (
              <p className="mx-auto max-w-[46rem] px-4 py-16 text-center text-quiet">Nobody has said anything yet.</p>
            )}
            {sending !== null && <Going draft={sending} />}
            {live.troubles.map((trouble) => (
              <p key={trouble} className="mx-auto max-w-[46rem] px-4 py-1 text-sm text-quiet">
                Tools of a server are missing. {trouble}
              </p>
            ))}
            <div className="mx-auto max-w-[46rem] px-4 py-3 empty:hidden sm:px-0">
              {latest && <RunLine run={latest} onAgain={() => void retry(thread, latest.id, setRefused)} />}
            </div>
          </>
        }
      >
        {(message) => (
          <MessageRow
            message={message}
            speaker={speakerOf(message)}
            siblings={siblingsOf(messages, message)}
            results={shown.results}
            run={run !== null && message.run_id === run.id ? run : null}
            deeds={deeds}
          />
        )}
      </MessageList>
      {mayWrite ? (
        <Composer
          workspaceId={workspace?.id ?? null}
          draft={draft}
          onDraft={setDraft}
          onSend={onSend}
          onStop={
            run === null ? null : () => void thread.stop().catch((failure: unknown) => setRefused(sayError(failure)))
          }
          sending={false}
          error={refused}
          focusOn={edited?.id ?? ''}
          tools={
            <ModelPicker
              model={model}
              onModel={(chosen) => void uk.chats.update({ id, model: chosen }).then(() => thread.refresh())}
            />
          }
          note={
            <>
              {edited && (
                <p className="flex items-center gap-2 text-sm text-quiet">
                  You change an earlier message: a new branch begins there.
                  <Button
                    look="quiet"
                    onClick={() => {
                      setEdited(null)
                      setDraft('')
                    }}
                  >
                    Leave it
                  </Button>
                </p>
              )}
              {queued > 0 && (
                <p role="status" className="text-sm text-quiet">
                  {queued === 1 ? 'One message waits' : `${queued} messages wait`} for this answer to end.
                </p>
              )}
              {state.line === 'lost' && (
                <p role="status" className="text-sm text-ochre">
                  Connecting …
                </p>
              )}
              {model === null && (
                <p className="text-sm text-quiet">
                  No model answers here yet: choose one below, or{' '}
                  <Link to="/ai-routing" className="link">
                    add a provider
                  </Link>
                  .
                </p>
              )}
            </>
          }
        />
      ) : (
        <Archived id={id} status={chat.status} onRestored={() => void thread.refresh()} />
      )}
    </div>
  )
}

/** Of a run as its events told of it and as its row stands: a decision is in the row first. */
const newer = (told: Run, row: Run | undefined): Run =>
  row !== undefined && row.updated_at > told.updated_at ? row : told

/** Sends, and says whether it went; a refusal is shown where the message was written. */
function useSending(thread: Thread, setRefused: (why: string | null) => void): (draft: Draft) => Promise<boolean> {
  return useMemo(
    () => async (draft) => {
      setRefused(null)
      try {
        await thread.send(draft)
        void queryClient.invalidateQueries({ queryKey: ['chats'] })
        return true
      } catch (error) {
        setRefused(sayError(error))
        return false
      }
    },
    [thread, setRefused],
  )
}

async function retry(thread: Thread, runId: string, setRefused: (why: string | null) => void): Promise<void> {
  setRefused(null)
  try {
    await uk.chats.retry({ id: thread.id, run_id: runId, background: true })
    await thread.refresh()
  } catch (error) {
    setRefused(sayError(error))
  }
}

/** What the server has not answered yet. */
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

function Archived({ id, status, onRestored }: { id: string; status: string; onRestored: () => void }) {
  const [error, setError] = useState<string | null>(null)
  const restore = (): void =>
    void (status === 'archived' ? uk.chats.unarchive({ id }) : uk.chats.restore({ id })).then(
      onRestored,
      (failure: unknown) => setError(sayError(failure)),
    )
  return (
    <div className="mx-auto flex w-full max-w-[46rem] flex-wrap items-center gap-3 px-4 py-4 text-quiet sm:px-0">
      <p className="flex-1">This chat is {status}: it can be read, and goes on once it is restored.</p>
      <Button onClick={restore}>Restore</Button>
      <Refused>{error}</Refused>
    </div>
  )
}
