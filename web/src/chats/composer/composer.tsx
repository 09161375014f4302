import { type ClipboardEvent, type ReactNode, useEffect, useId, useRef } from 'react'
import { IconButton } from '../../ui/button.tsx'
import { useUnsaved } from '../../ui/typing/unsaved.ts'
import { useDroppedFiles } from '../../ui/dropped-files.ts'
import { Refused } from '../../ui/notice.tsx'
import { AttachedList, type FilesGoTo, useAttached } from './attachments.tsx'
import { hearMessageKeys } from '../../shared/conversation/message-keys.ts'
import type { WrittenMessage } from '../../shared/conversation/written.ts'

/**
 * The message field: grows with its text, accepts dropped and pasted files, and shows a stop button during a response.
 */
export function Composer({
  workspaceId,
  temporary = false,
  draft,
  onDraft,
  onSend,
  onStop,
  sending,
  error,
  focusOn,
  returned = null,
  tools,
  voice,
  note,
}: {
  workspaceId: FilesGoTo
  temporary?: boolean
  draft: string
  onDraft: (text: string) => void
  onSend: (written: WrittenMessage) => Promise<boolean>
  onStop: (() => void) | null
  sending: boolean
  error: string | null
  focusOn: string
  /** A rejected message from another page, to be sent again. */
  returned?: WrittenMessage | null
  tools: ReactNode
  voice?: ReactNode
  note?: ReactNode
}) {
  const field = useRef<HTMLTextAreaElement>(null)
  useUnsaved(draft.trim() !== '')
  const id = useId()
  const attached = useAttached(workspaceId, temporary)
  const over = useDroppedFiles(attached.add)
  useEffect(() => field.current?.focus({ preventScroll: true }), [focusOn])
  useEffect(() => {
    if (returned === null) return
    onDraft(draft || returned.text)
    attached.bring(returned.files)
  }, [returned])
  const ready = (draft.trim() !== '' || attached.files.length > 0) && !attached.busy && !sending
  const send = async (): Promise<void> => {
    if (!ready) return
    const { files } = attached
    // Clears the files at once: a file attached during the response belongs to the next message.
    attached.clear()
    field.current?.focus()
    if (!(await onSend({ text: draft, files }))) attached.bring(files)
  }
  const paste = (event: ClipboardEvent): void => {
    if (event.clipboardData.files.length === 0) return
    event.preventDefault()
    attached.add([...event.clipboardData.files])
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void send()
      }}
      className="mx-auto w-full max-w-[48rem] px-4 pt-2 pb-4"
    >
      <Refused>{error}</Refused>
      {note}
      <div
        className={`mt-2 rounded-md border bg-sheet focus-within:outline-2 focus-within:outline-ai ${over ? 'border-ai bg-ai-wash' : 'border-keyline'}`}
      >
        <AttachedList attached={attached} />
        <label htmlFor={id} className="sr-only">
          Message
        </label>
        <textarea
          ref={field}
          id={id}
          value={draft}
          rows={1}
          placeholder="Write a message"
          onChange={({ target }) => onDraft(target.value)}
          onPaste={paste}
          onKeyDown={(event) => hearMessageKeys(event, () => void send(), onStop)}
          className="field-sizing-content block max-h-[40dvh] min-h-11 w-full resize-none bg-transparent px-3.5 py-2.5 text-base leading-normal outline-none"
        />
        <div className="flex flex-wrap items-center gap-1 px-1.5 pb-1.5">
          <AttachButton onFiles={attached.add} disabled={workspaceId === null && !temporary} />
          <div className="flex min-w-0 flex-1 items-center gap-1">{tools}</div>
          {voice}
          {onStop && <IconButton label="Stop (Esc)" icon="stop" look="plain" onClick={onStop} />}
          {(!onStop || draft.trim() !== '') && (
            <IconButton label="Send (Enter)" icon="up" look="primary" type="submit" disabled={!ready} />
          )}
        </div>
      </div>
    </form>
  )
}

function AttachButton({ onFiles, disabled }: { onFiles: (files: File[]) => void; disabled: boolean }) {
  const picker = useRef<HTMLInputElement>(null)
  return (
    <>
      <IconButton label="Attach files" icon="plus" onClick={() => picker.current?.click()} disabled={disabled} />
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        onChange={({ target }) => {
          onFiles([...(target.files ?? [])])
          target.value = ''
        }}
      />
    </>
  )
}
