import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { Suspense, lazy, useCallback, useState } from 'react'
import { type Workspace } from '../shared/api.ts'
import type { Chat, Message } from '../shared/conversation/queries.ts'
import { Transcript } from '../shared/conversation/transcript.tsx'
import type { Choice } from '../shared/conversation/thread/choices.ts'
import type { Thread } from '../shared/conversation/thread/thread.ts'
import { useRun, useThread, useThreadState } from '../shared/conversation/thread/use-thread.ts'
import type { WrittenMessage } from '../shared/conversation/written.ts'
import { ModelPicker } from '../shared/models/model-picker.tsx'
import { namesQuery, useAccount, workspacesQuery } from '../shared/session.ts'
import { OpenBeside } from '../ui/code/code-block.tsx'
import { useFindKeys } from '../ui/find/find-keys.ts'
import { useMedia } from '../ui/media.ts'
import { Failure, Waiting } from '../ui/notice.tsx'
import { useArtefact } from './artefacts/use-artefact.ts'
import { useChatRights } from './chat-rights.ts'
import { AgentPicker } from './composer/agent-picker.tsx'
import { Foot } from './composer/foot.tsx'
import { GoalStrip } from './goal/goal-strip.tsx'
import { ChatHead } from './head/chat-head.tsx'
import { Reading } from './reading.tsx'
import { TemporaryStrip } from './temporary/strip.tsx'
import { type ChatModel, useChatModel } from './use-chat-model.ts'
import { useMessageActions } from './use-message-actions.ts'
import { type Sending, useFirstMessage, useSending } from './use-sending.ts'

const CopyDialog = lazy(async () => ({ default: (await import('./head/copy-dialog.tsx')).CopyDialog }))
const ArtefactPane = lazy(async () => ({ default: (await import('./artefacts/pane.tsx')).ArtefactPane }))

export function ChatPage() {
  const { id } = useParams({ from: '/shell/chats/$id' })
  return <LoadedChat key={id} id={id} />
}

function LoadedChat({ id }: { id: string }) {
  const thread = useThread(id)
  const chat = useThreadState(thread, (state) => state.chat)
  const hasMessages = useThreadState(thread, (state) => state.messages !== null)
  const error = useThreadState(thread, (state) => state.error)
  const sending = useSending(thread)
  const returned = useFirstMessage(id, sending.send)
  if (chat !== null && hasMessages)
    return <Conversation thread={thread} chat={chat} sending={sending} returned={returned} />
  return (
    <div className="p-6">
      {error === null ? (
        <Waiting what="the chat" />
      ) : (
        <Failure what="This chat" error={error} again={() => thread.refresh()} />
      )}
    </div>
  )
}

function Conversation({
  thread,
  chat,
  sending,
  returned,
}: {
  thread: Thread
  chat: Chat
  sending: Sending
  returned: WrittenMessage | null
}) {
  const { data: workspaces } = useQuery(workspacesQuery)
  const workspace = workspaces?.find((one) => one.id === chat.workspace_id) ?? null
  const { run, latest } = useRun(thread)
  const model = useChatModel(chat)
  const rights = useChatRights(chat)
  const mayWrite = chat.status === 'active' && rights.write === true
  const [edited, setEdited] = useState<Message | null>(null)
  const [finding, setFinding] = useState(false)
  const find = useCallback(() => setFinding(true), [])
  useFindKeys(find)
  const { artefact, beside, close } = useArtefact()
  const hasRoom = useMedia('(min-width: 64rem)')
  const [fork, setFork] = useState<{ messageId: string; open: boolean } | null>(null)
  const actions = useMessageActions({
    thread,
    sending,
    mayWrite,
    workspaceId: workspace?.id ?? null,
    onEdit: setEdited,
    onFork: useCallback(({ id }: Message) => setFork({ messageId: id, open: true }), []),
  })
  const speakerOf = useSpeakers(workspace, model.agent?.name ?? null, run?.model ?? null)
  const refresh = (): void => void thread.refresh()
  return (
    <div className="flex h-full">
      <div className="flex min-w-0 flex-1 flex-col" inert={artefact !== null && !hasRoom}>
        <ChatHead chat={chat} workspace={workspace?.name ?? null} rights={rights} onChange={refresh} onFind={find} />
        <TemporaryStrip chat={chat} onKept={refresh} />
        <GoalStrip chatId={chat.id} mayWrite={mayWrite} onChange={refresh} />
        <OpenBeside value={beside}>
          <Transcript
            thread={thread}
            run={run}
            latest={latest}
            actions={actions}
            speakerOf={speakerOf}
            onAgain={({ id }) => void sending.retry(id)}
            finding={finding}
            onFound={() => setFinding(false)}
          />
        </OpenBeside>
        {mayWrite ? (
          <MessageField
            thread={thread}
            chat={chat}
            workspaceId={workspaces === undefined ? undefined : (workspace?.id ?? null)}
            model={model}
            runId={run?.id ?? null}
            sending={sending}
            returned={returned}
            edited={edited}
            onEdited={setEdited}
          />
        ) : (
          <Reading chat={chat} rights={rights} place={workspace} refused={sending.refused} onRestored={refresh} />
        )}
      </div>
      {artefact && (
        <Suspense>
          <ArtefactPane artefact={artefact} onClose={close} />
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

function MessageField({
  thread,
  chat,
  workspaceId,
  model: { agent, model, byServer },
  runId,
  sending: { send, refused, fail },
  returned,
  edited,
  onEdited,
}: {
  thread: Thread
  chat: Chat
  /** Undefined while loading; null if the person isn't a member. */
  workspaceId: string | null | undefined
  model: ChatModel
  runId: string | null
  sending: Sending
  returned: WrittenMessage | null
  edited: Message | null
  onEdited: (message: Message | null) => void
}) {
  const runs = useThreadState(thread, (state) => state.runs)
  const line = useThreadState(thread, (state) => state.line)
  const choose = (choice: Choice): void => void thread.choose(choice).catch(fail)
  return (
    <Foot
      chatId={chat.id}
      workspaceId={workspaceId}
      temporary={chat.temporary}
      edited={edited}
      onEdited={onEdited}
      returned={returned}
      send={send}
      onStop={runId === null ? null : () => void thread.stop().catch(fail)}
      refused={refused}
      queued={runs.filter(({ status, id }) => status === 'queued' && id !== runId).length}
      isLost={line === 'lost'}
      hasModel={model !== null || byServer !== null}
      tools={
        <>
          {typeof workspaceId === 'string' && (
            <AgentPicker
              workspaceId={workspaceId}
              agentId={chat.agent_id}
              name={agent?.name ?? null}
              onAgent={(agent_id) => choose({ agent_id })}
            />
          )}
          <ModelPicker model={model} byServer={byServer ?? null} onModel={(chosen) => choose({ model: chosen })} />
        </>
      }
    />
  )
}

function useSpeakers(
  workspace: Workspace | null,
  agentName: string | null,
  model: string | null,
): (message: Message) => string {
  const { id: accountId } = useAccount()
  const { data: names } = useQuery({ ...namesQuery(workspace?.id ?? ''), enabled: workspace !== null })
  return useCallback(
    ({ role, created_by, model: messageModel }: Message): string => {
      if (role === 'assistant') return agentName ?? messageModel ?? model ?? 'Assistant'
      if (role !== 'user') return 'System'
      return created_by === accountId ? 'You' : (names?.get(created_by ?? '') ?? 'Another user')
    },
    [accountId, names, agentName, model],
  )
}
