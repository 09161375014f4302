import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { Suspense, lazy, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { queryClient } from '../shared/api.ts'
import { sayError } from '../ui/calls/errors.ts'
import { namesQuery, useAccount, workspacesQuery, settingsQuery } from '../shared/session.ts'
import { type Code, OpenBeside } from '../ui/code/code-block.tsx'
import { useMedia } from '../ui/media.ts'
import { Failure, Waiting } from '../ui/notice.tsx'
import { Reading } from './reading.tsx'
import { type Artefact, kindOf, verbs } from './artefacts/kinds.ts'
import { useChatRights } from './chat-rights.ts'
import { AgentPicker } from './composer/agent-picker.tsx'
import type { Written } from '../shared/conversation/written.ts'
import { Foot } from './composer/foot.tsx'
import { ModelPicker } from '../shared/models/model-picker.tsx'
import { contentOf } from './composer/content.ts'
import { givenOf, questionOf } from '../shared/conversation/question.ts'
import { useFindKeys } from '../ui/find/find-keys.ts'
import { takeFirst } from '../shared/conversation/first-message.ts'
import { GoalStrip } from './goal/goal-strip.tsx'
import { ChatHead } from './head/chat-head.tsx'
import type { MessageChanges, MessageDeeds } from '../shared/conversation/messages/message.tsx'
import { Said } from '../shared/conversation/said.tsx'
import { agentQuery, chatModelQuery } from './queries.ts'
import type { Message, Run } from '../shared/conversation/queries.ts'
import { TemporaryStrip } from './temporary/strip.tsx'
import type { Choice } from '../shared/conversation/thread/choices.ts'
import { isUnfinished } from '../shared/conversation/thread/live.ts'
import type { Draft, Thread } from '../shared/conversation/thread/thread.ts'
import { followingIn, leafBelow } from '../shared/conversation/thread/tree.ts'
import { useThread, useTold } from '../shared/conversation/thread/use-thread.ts'
import { readAloud } from '../shared/conversation/voice/read-aloud.ts'

const CopyDialog = lazy(async () => ({ default: (await import('./head/copy-dialog.tsx')).CopyDialog }))
const ArtefactPane = lazy(async () => ({ default: (await import('./artefacts/pane.tsx')).ArtefactPane }))

export function ChatPage() {
  const { id } = useParams({ from: '/shell/chats/$id' })
  return <Conversation key={id} id={id} />
}

function Conversation({ id }: { id: string }) {
  const thread = useThread(id)
  const chat = useTold(thread, (state) => state.chat)
  const isRead = useTold(thread, (state) => state.messages !== null)
  const runs = useTold(thread, (state) => state.runs)
  const told = useTold(thread, (state) => state.live.run)
  const line = useTold(thread, (state) => state.line)
  const error = useTold(thread, (state) => state.error)
  const { data: workspaces } = useQuery(workspacesQuery)
  const { data: settings } = useQuery(settingsQuery)
  const { data: agent } = useQuery(agentQuery(chat?.agent_id ?? null))
  const { id: me } = useAccount()
  const workspace = workspaces?.find((one) => one.id === chat?.workspace_id)
  const { data: names } = useQuery({ ...namesQuery(workspace?.id ?? ''), enabled: workspace !== undefined })
  const [edited, setEdited] = useState<Message | null>(null)
  const [returned, setReturned] = useState<Written | null>(null)
  const [refused, setRefused] = useState<string | null>(null)
  const [finding, setFinding] = useState(false)
  const find = useCallback(() => setFinding(true), [])
  useFindKeys(find)
  const [artefact, setArtefact] = useState<Artefact | null>(null)
  const hasRoom = useMedia('(min-width: 64rem)')
  const beside = useMemo(
    () => ({
      verbFor(code: Code) {
        const kind = kindOf(code)
        return kind && verbs[kind]
      },
      open(code: Code) {
        const kind = kindOf(code)
        if (kind) setArtefact({ ...code, kind })
      },
    }),
    [],
  )
  const [fork, setFork] = useState<{ messageId: string; open: boolean } | null>(null)
  const { run, latest } = useMemo(() => standing(told, runs), [told, runs])
  // If the person can't view the agent, the server tells which model answers.
  const model = chat?.model ?? agent?.model ?? (agent === null ? null : (settings?.default_model ?? null))
  const isUnnamed = settings !== undefined && (chat?.agent_id === null || agent !== undefined) && model === null
  const { data: byServer } = useQuery(chatModelQuery(isUnnamed ? chat : null))
  const rights = useChatRights(chat)
  const mayWrite = chat !== null && chat.status === 'active' && rights.write === true

  const send = useSending(thread, setRefused)
  // The first message of a chat started on the previous page.
  const first = useRef(false)
  useEffect(() => {
    if (first.current) return
    first.current = true
    const written = takeFirst(id)
    if (!written) return
    const given = { id, content: contentOf(written), ...(written.model && { model: written.model }) }
    void send(given).then((went) => went || setReturned(written))
  }, [id, send])

  const workspaceId = workspace?.id ?? null
  const changes: MessageChanges | null = useMemo(() => {
    if (!mayWrite) return null
    return {
      edit: setEdited,
      again(message) {
        const asked = thread.state().messages?.get(message.parent_id ?? '')
        const question = asked && questionOf(asked, thread.state().messages!)
        if (question) void send({ id, content: givenOf(question), parent_id: question.parent_id })
      },
      show(sibling) {
        void thread
          .show(leafBelow(followingIn(thread.state().messages!), sibling.id))
          .catch((failure: unknown) => setRefused(sayError(failure)))
      },
      decide: (runId, actions) => thread.decide(runId, actions),
      mayRemember: ({ created_by }) => created_by === me,
    }
  }, [id, me, mayWrite, send, thread])
  const deeds: MessageDeeds = useMemo(
    () => ({
      changes,
      fork: ({ id: messageId }) => setFork({ messageId, open: true }),
      readAloud: ({ id: messageId, text }) =>
        void readAloud(messageId, text, workspaceId).catch((failure: unknown) => setRefused(sayError(failure))),
    }),
    [changes, workspaceId],
  )
  const speakerOf = useCallback(
    ({ role, created_by, model: by }: Message): string =>
      role === 'user'
        ? created_by === me
          ? 'You'
          : (names?.get(created_by ?? '') ?? 'Another user')
        : role === 'assistant'
          ? (agent?.name ?? by ?? run?.model ?? 'Assistant')
          : 'System',
    [me, names, agent?.name, run?.model],
  )

  if (error !== null && (!isRead || chat === null))
    return (
      <div className="p-6">
        <Failure what="This chat" error={error} again={() => thread.refresh()} />
      </div>
    )
  if (chat === null || !isRead)
    return (
      <div className="p-6">
        <Waiting what="the chat" />
      </div>
    )
  const refresh = (): void => void thread.refresh()
  const changeChat = (change: Choice): void =>
    void thread.choose(change).catch((failure: unknown) => setRefused(sayError(failure)))
  return (
    <div className="flex h-full">
      <div className="flex min-w-0 flex-1 flex-col" inert={artefact !== null && !hasRoom}>
        <ChatHead chat={chat} workspace={workspace?.name ?? null} rights={rights} onChange={refresh} onFind={find} />
        <TemporaryStrip chat={chat} onKept={refresh} />
        <GoalStrip chatId={id} mayWrite={mayWrite} onChange={refresh} />
        <OpenBeside value={beside}>
          <Said
            thread={thread}
            run={run}
            latest={latest}
            deeds={deeds}
            speakerOf={speakerOf}
            onAgain={(failed) => void retry(thread, failed.id, setRefused)}
            finding={finding}
            onFound={() => setFinding(false)}
          />
        </OpenBeside>
        {mayWrite ? (
          <Foot
            chatId={id}
            workspaceId={workspaces === undefined ? undefined : workspaceId}
            temporary={chat.temporary}
            edited={edited}
            onEdited={setEdited}
            returned={returned}
            send={send}
            onStop={
              run === null ? null : () => void thread.stop().catch((failure: unknown) => setRefused(sayError(failure)))
            }
            refused={refused}
            queued={runs.filter(({ status, id: other }) => status === 'queued' && other !== run?.id).length}
            isLost={line === 'lost'}
            hasModel={model !== null || byServer !== null}
            tools={
              <>
                {workspaceId !== null && (
                  <AgentPicker
                    workspaceId={workspaceId}
                    agentId={chat.agent_id}
                    name={agent?.name ?? null}
                    onAgent={(agent_id) => changeChat({ agent_id })}
                  />
                )}
                <ModelPicker
                  model={model}
                  byServer={byServer ?? null}
                  onModel={(chosen) => changeChat({ model: chosen })}
                />
              </>
            }
          />
        ) : (
          <Reading chat={chat} rights={rights} place={workspace ?? null} refused={refused} onRestored={refresh} />
        )}
      </div>
      {artefact && (
        <Suspense>
          <ArtefactPane artefact={artefact} onClose={() => setArtefact(null)} />
        </Suspense>
      )}
      {fork && (
        <Suspense>
          <CopyDialog
            chat={chat}
            copying={{ how: 'fork', messageId: fork.messageId }}
            open={fork.open}
            onOpen={(open) => setFork({ ...fork, open })}
          />
        </Suspense>
      )}
    </div>
  )
}

function standing(told: Run | null, runs: readonly Run[]): { run: Run | null; latest: Run | null } {
  const row = told === null ? undefined : runs.find(({ id }) => id === told.id)
  // The row knows about decisions first.
  const now = told !== null && row !== undefined && row.updated_at > told.updated_at ? row : told
  return {
    run: now !== null && isUnfinished(now) ? now : (runs.find(isUnfinished) ?? null),
    latest: now ?? runs.at(-1) ?? null,
  }
}

/** Sends a message; returns whether it was accepted. The error is shown at the composer. */
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
    await thread.retry(runId)
  } catch (error) {
    setRefused(sayError(error))
  }
}
