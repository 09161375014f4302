import { Link, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useCallback, useEffect, useId, useMemo, useRef, useState } from 'react'
import { uk } from '../shared/api.ts'
import { sayError } from '../ui/calls/errors.ts'
import { hearMessageKeys } from '../shared/conversation/message-keys.ts'
import type { MessageActions } from '../shared/conversation/messages/message.tsx'
import type { Message } from '../shared/conversation/queries.ts'
import { Transcript } from '../shared/conversation/transcript.tsx'
import type { Draft, Thread } from '../shared/conversation/thread/thread.ts'
import {
  questionAgain,
  showBranch,
  useRun,
  useThread,
  useThreadState,
} from '../shared/conversation/thread/use-thread.ts'
import { readAloud } from '../shared/conversation/voice/read-aloud.ts'
import { type Place, usePlacesFor } from '../shared/rights.ts'
import { Button, IconButton } from '../ui/button.tsx'
import { forgetDraft, useDraftWords } from '../ui/typing/draft.ts'
import { Failure, Refused, Waiting } from '../ui/notice.tsx'
import type { Agent } from '../shared/agents/queries.ts'
import { shorten } from '../../../src/core/text/shorten.ts'

/** A test chat with the saved agent. It is a normal chat, billed like any other. */
export function TryOut({ agent, place, unsaved }: { agent: Agent; place: Place; unsaved: boolean }) {
  const [chat, setChat] = useState<{ id: string; first: string } | null>(null)
  const own = usePlacesFor('chat:run').find(({ kind }) => kind === 'personal')
  // People without write permission in the agent's workspace test it in their personal one.
  const workspace = place.may('chat:run') && place.may('chat:write') ? place.workspace : own
  return (
    <section aria-label={`Test ${agent.name}`} className="flex h-full flex-col">
      <div className="flex min-h-13 flex-wrap items-center gap-x-3 border-b border-line px-4 py-2">
        <h2 className="font-serif text-lg">Test agent</h2>
        <p className="figures min-w-0 flex-1 text-[0.8125rem] text-quiet">
          {unsaved ? (
            <span className="text-ochre">Uses the saved version {agent.version}</span>
          ) : (
            `Version ${agent.version}`
          )}
        </p>
        {chat && (
          <>
            <Link to="/chats/$id" params={{ id: chat.id }} className="link text-sm">
              Open in Chats
            </Link>
            <Button look="quiet" onClick={() => setChat(null)}>
              Start over
            </Button>
          </>
        )}
      </div>
      {chat ? (
        <Talk key={chat.id} id={chat.id} first={chat.first} agent={agent} />
      ) : (
        <First agent={agent} workspaceId={workspace?.id} onBegun={(id, first) => setChat({ id, first })} />
      )}
    </section>
  )
}

function First({
  agent,
  workspaceId,
  onBegun,
}: {
  agent: Agent
  workspaceId: string | undefined
  onBegun: (id: string, first: string) => void
}) {
  const [busy, setBusy] = useState(false)
  const [refused, setRefused] = useState<string | null>(null)
  const [draft, setDraft] = useDraftWords(`try ${agent.id}`)
  const begin = async (): Promise<void> => {
    setBusy(true)
    setRefused(null)
    try {
      const { id } = await uk.chats.create({
        title: shorten(`Test of ${agent.name}`, 200),
        agent_id: agent.id,
        ...(workspaceId !== undefined && { workspace_id: workspaceId }),
      })
      forgetDraft(`try ${agent.id}`)
      onBegun(id, draft)
    } catch (error) {
      setRefused(sayError(error))
      setBusy(false)
    }
  }
  return (
    <>
      <div className="flex min-h-0 flex-1 flex-col justify-center overflow-y-auto px-6 text-center text-quiet">
        <p>Send a message to test the agent.</p>
        <p className="mt-1 text-sm">Test runs are real: tools execute and usage is billed.</p>
      </div>
      <Write draft={draft} onDraft={setDraft} onSend={() => void begin()} onStop={null} busy={busy}>
        <Refused>{refused}</Refused>
      </Write>
    </>
  )
}

function Talk({ id, first, agent }: { id: string; first: string; agent: Agent }) {
  const thread = useThread(id)
  const isRead = useThreadState(thread, (state) => state.messages !== null)
  const error = useThreadState(thread, (state) => state.error)
  const { run, latest } = useRun(thread)
  const [draft, setDraft] = useDraftWords(`try ${agent.id}`)
  const [edited, setEdited] = useState<Message | null>(null)
  const { send, refused, fail } = useTestSending(thread, first)
  const edit = useCallback(
    (message: Message): void => {
      setEdited(message)
      setDraft(message.text)
    },
    [setDraft],
  )
  const actions = useTestActions({ thread, send, fail, edit })
  const speakerOf = useCallback(({ role }: Message) => (role === 'user' ? 'You' : agent.name), [agent.name])
  if (!isRead)
    return (
      <div className="flex-1 p-4">
        {error === null ? (
          <Waiting what="the test chat" rows={2} />
        ) : (
          <Failure what="The test chat" error={error} again={() => thread.refresh()} />
        )}
      </div>
    )
  return (
    <>
      <Transcript
        thread={thread}
        run={run}
        latest={latest}
        actions={actions}
        speakerOf={speakerOf}
        onAgain={(failed) => void thread.retry(failed.id).catch(fail)}
        finding={false}
        onFound={() => {}}
      />
      <Write
        draft={draft}
        onDraft={setDraft}
        onSend={() => {
          const [words, parent] = [draft, edited === null ? {} : { parent_id: edited.parent_id }]
          setDraft('')
          setEdited(null)
          void send({ content: words, ...parent }).then((went) => {
            if (!went) setDraft((now) => now || words)
          })
        }}
        onStop={run === null ? null : () => void thread.stop().catch(fail)}
        busy={false}
      >
        <Refused>{refused}</Refused>
        {edited && (
          <p className="flex items-center gap-2 text-sm text-quiet">
            Editing an earlier message
            <Button
              look="quiet"
              onClick={() => {
                setEdited(null)
                setDraft('')
              }}
            >
              Cancel
            </Button>
          </p>
        )}
      </Write>
    </>
  )
}

type SendTest = (draft: Omit<Draft, 'id'>) => Promise<boolean>

function useTestSending(thread: Thread, first: string) {
  const [refused, setRefused] = useState<string | null>(null)
  const fail = useCallback((error: unknown): void => setRefused(sayError(error)), [])
  const send: SendTest = useCallback(
    async (draft) => {
      setRefused(null)
      try {
        await thread.send({ id: thread.id, ...draft })
        return true
      } catch (error) {
        fail(error)
        return false
      }
    },
    [thread, fail],
  )
  const isStarted = useRef(false)
  useEffect(() => {
    if (isStarted.current) return
    isStarted.current = true
    void send({ content: first })
  }, [first, send])
  return { send, refused, fail }
}

function useTestActions({
  thread,
  send,
  fail,
  edit,
}: {
  thread: Thread
  send: SendTest
  fail: (error: unknown) => void
  edit: (message: Message) => void
}): MessageActions {
  const navigate = useNavigate()
  return useMemo(
    () => ({
      changes: {
        edit,
        again(message) {
          const question = questionAgain(thread, message)
          if (question) void send(question)
        },
        show: (sibling) => void showBranch(thread, sibling).catch(fail),
        decide: (runId, actions) => thread.decide(runId, actions),
        // Editing the agent ends its remembered approvals.
        mayRemember: () => false,
      },
      fork: ({ id: message_id }) =>
        void uk.chats
          .fork_to_workspace({ id: thread.id, message_id, workspace_id: thread.state().chat!.workspace_id })
          .then(({ id }) => navigate({ to: '/chats/$id', params: { id } }))
          .catch(fail),
      readAloud: ({ id, text }) => void readAloud(id, text, thread.state().chat?.workspace_id ?? null).catch(fail),
    }),
    [thread, send, fail, edit, navigate],
  )
}

function Write({
  draft,
  onDraft,
  onSend,
  onStop,
  busy,
  children,
}: {
  draft: string
  onDraft: (draft: string) => void
  onSend: () => void
  onStop: (() => void) | null
  busy: boolean
  children: ReactNode
}) {
  const id = useId()
  const ready = draft.trim() !== '' && !busy
  return (
    <form
      className="space-y-2 border-t border-line px-4 py-3"
      onSubmit={(event) => {
        event.preventDefault()
        if (ready) onSend()
      }}
    >
      {children}
      <div className="flex items-end gap-1 rounded-md border border-keyline bg-sheet p-1.5 focus-within:outline-2 focus-within:outline-ai">
        <label htmlFor={id} className="sr-only">
          Test message
        </label>
        <textarea
          id={id}
          rows={1}
          value={draft}
          placeholder="Send a test message"
          onChange={({ target }) => onDraft(target.value)}
          onKeyDown={(event) => hearMessageKeys(event, () => ready && onSend(), onStop)}
          className="field-sizing-content max-h-[30dvh] min-h-9 min-w-0 flex-1 resize-none bg-transparent px-2 py-1.5 text-base leading-normal outline-none"
        />
        {onStop && <IconButton label="Stop (Esc)" icon="stop" look="plain" onClick={onStop} />}
        {(!onStop || draft.trim() !== '') && (
          <IconButton label="Send (Enter)" icon="up" look="primary" type="submit" disabled={!ready} />
        )}
      </div>
    </form>
  )
}
