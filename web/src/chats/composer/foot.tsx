import { Link } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import { Button } from '../../ui/button.tsx'
import { useDraft } from '../../ui/typing/draft.ts'
import { contentOf } from './content.ts'
import type { Message } from '../../shared/conversation/queries.ts'
import type { Draft } from '../../shared/conversation/thread/thread.ts'
import { VoiceButton } from '../voice/voice-button.tsx'
import type { FilesGoTo } from './attachments.tsx'
import { Composer } from './composer.tsx'
import type { WrittenMessage } from '../../shared/conversation/written.ts'

/** The composer and its notices. It holds the typed text, so that typing renders nothing else. */
export function Foot({
  chatId,
  workspaceId,
  temporary,
  edited,
  onEdited,
  returned,
  send,
  onStop,
  refused,
  queued,
  isLost,
  hasModel,
  tools,
}: {
  chatId: string
  workspaceId: FilesGoTo
  temporary: boolean
  edited: Message | null
  onEdited: (message: Message | null) => void
  /** The first message of the chat, if it was rejected. */
  returned: WrittenMessage | null
  send: (draft: Draft) => Promise<boolean>
  onStop: (() => void) | null
  refused: string | null
  queued: number
  isLost: boolean
  hasModel: boolean
  tools: ReactNode
}) {
  const { draft, setDraft, onSend, cancelEdit } = useMessageDraft({ chatId, edited, onEdited, send })
  return (
    <Composer
      workspaceId={workspaceId}
      temporary={temporary}
      draft={draft}
      onDraft={setDraft}
      onSend={onSend}
      onStop={onStop}
      sending={false}
      error={refused}
      focusOn={edited?.id ?? ''}
      returned={returned}
      tools={tools}
      voice={
        <VoiceButton
          workspaceId={workspaceId ?? null}
          onWords={(words) => setDraft((now) => (now.trim() === '' ? words : `${now.trimEnd()} ${words}`))}
        />
      }
      note={
        <>
          {edited && (
            <p className="flex items-center gap-2 text-sm text-quiet">
              Editing an earlier message starts a new branch.
              <Button look="quiet" onClick={cancelEdit}>
                Cancel
              </Button>
            </p>
          )}
          <Notices queued={queued} isLost={isLost} hasModel={hasModel} />
        </>
      }
    />
  )
}

/** The typed text. It survives leaving the page, and a rejected message or edit returns to the field. */
function useMessageDraft({
  chatId,
  edited,
  onEdited,
  send,
}: {
  chatId: string
  edited: Message | null
  onEdited: (message: Message | null) => void
  send: (draft: Draft) => Promise<boolean>
}) {
  // An unfinished edit isn't kept: without its original it would be sent as a new message.
  const [draft, setDraft] = useDraft(
    `chat ${chatId}`,
    () => '',
    (words) => words.trim() === '' || edited !== null,
  )
  const rejectedEdit = useRef<string | null>(null)
  useEffect(() => {
    if (edited !== null) setDraft(rejectedEdit.current ?? edited.text)
    rejectedEdit.current = null
  }, [edited])
  const onSend = async (written: WrittenMessage): Promise<boolean> => {
    const content = contentOf(written)
    const parent = edited === null ? {} : { parent_id: edited.parent_id }
    setDraft('')
    onEdited(null)
    const isAccepted = await send({ id: chatId, content, ...parent })
    if (!isAccepted && edited === null) setDraft((now) => now || written.text)
    if (!isAccepted && edited !== null) {
      rejectedEdit.current = written.text
      onEdited(edited)
    }
    return isAccepted
  }
  return {
    draft,
    setDraft,
    onSend,
    cancelEdit: () => {
      onEdited(null)
      setDraft('')
    },
  }
}

function Notices({ queued, isLost, hasModel }: { queued: number; isLost: boolean; hasModel: boolean }) {
  return (
    <>
      {queued > 0 && (
        <p role="status" className="text-sm text-quiet">
          {queued === 1 ? '1 message' : `${queued} messages`} waiting for this response to finish.
        </p>
      )}
      {isLost && (
        <p role="status" className="text-sm text-ochre">
          Connecting …
        </p>
      )}
      {!hasModel && (
        <p className="text-sm text-quiet">
          No model is available yet:{' '}
          <Link to="/ai-routing" className="link">
            add a provider
          </Link>
          .
        </p>
      )}
    </>
  )
}
