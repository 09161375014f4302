import { useMemo } from 'react'
import type { MessageChanges, MessageActions } from '../shared/conversation/messages/message.tsx'
import type { Message } from '../shared/conversation/queries.ts'
import type { Thread } from '../shared/conversation/thread/thread.ts'
import { questionAgain, showBranch } from '../shared/conversation/thread/use-thread.ts'
import { readAloud } from '../shared/conversation/voice/read-aloud.ts'
import { useAccount } from '../shared/session.ts'
import type { Sending } from './use-sending.ts'

export function useMessageActions({
  thread,
  sending: { send, fail },
  mayWrite,
  workspaceId,
  onEdit,
  onFork,
}: {
  thread: Thread
  sending: Sending
  mayWrite: boolean
  workspaceId: string | null
  onEdit: (message: Message) => void
  onFork: (message: Message) => void
}): MessageActions {
  const { id: accountId } = useAccount()
  const changes: MessageChanges | null = useMemo(() => {
    if (!mayWrite) return null
    return {
      edit: onEdit,
      again(message) {
        const question = questionAgain(thread, message)
        if (question) void send({ id: thread.id, ...question })
      },
      show: (sibling) => void showBranch(thread, sibling).catch(fail),
      decide: (runId, actions) => thread.decide(runId, actions),
      mayRemember: ({ created_by }) => created_by === accountId,
    }
  }, [accountId, mayWrite, send, fail, thread, onEdit])
  return useMemo(
    () => ({
      changes,
      fork: onFork,
      readAloud: ({ id, text }) => void readAloud(id, text, workspaceId).catch(fail),
    }),
    [changes, onFork, workspaceId, fail],
  )
}
