import { useCallback, useEffect, useRef, useState } from 'react'
import { queryClient } from '../shared/api.ts'
import { takeFirst } from '../shared/conversation/first-message.ts'
import type { Draft, Thread } from '../shared/conversation/thread/thread.ts'
import type { WrittenMessage } from '../shared/conversation/written.ts'
import { sayError } from '../ui/calls/errors.ts'
import { contentOf } from './composer/content.ts'

export interface Sending {
  send: (draft: Draft) => Promise<boolean>
  /** The last error, shown at the composer. */
  refused: string | null
  fail: (error: unknown) => void
  retry: (runId: string) => Promise<void>
}

export function useSending(thread: Thread): Sending {
  const [refused, setRefused] = useState<string | null>(null)
  const fail = useCallback((error: unknown): void => setRefused(sayError(error)), [])
  const send = useCallback(
    async (draft: Draft): Promise<boolean> => {
      setRefused(null)
      try {
        await thread.send(draft)
        void queryClient.invalidateQueries({ queryKey: ['chats'] })
        return true
      } catch (error) {
        fail(error)
        return false
      }
    },
    [thread, fail],
  )
  const retry = useCallback(
    (runId: string): Promise<void> => {
      setRefused(null)
      return thread.retry(runId).catch(fail)
    },
    [thread, fail],
  )
  return { send, refused, fail, retry }
}

/** Sends the first message of a chat started on the previous page. Returns it if it was rejected. */
export function useFirstMessage(chatId: string, send: Sending['send']): WrittenMessage | null {
  const [returned, setReturned] = useState<WrittenMessage | null>(null)
  const isTaken = useRef(false)
  useEffect(() => {
    if (isTaken.current) return
    isTaken.current = true
    const written = takeFirst(chatId)
    if (!written) return
    const draft = { id: chatId, content: contentOf(written), ...(written.model && { model: written.model }) }
    void send(draft).then((isAccepted) => isAccepted || setReturned(written))
  }, [chatId, send])
  return returned
}
