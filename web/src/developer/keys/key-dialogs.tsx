import { useState } from 'react'
import { type ApiKey, type NewApiKey, uk } from '../../api.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import type { Opened } from '../../ui/dialogs/dialog-props.ts'
import { useSend } from '../../ui/send.ts'
import { say } from '../../ui/dialogs/toast.tsx'
import { useDraft } from '../../ui/typing/draft.ts'
import { type Overlap, OverlapField } from '../overlap-field.tsx'
import { type Draft, changesIn, draftOf, keyIn } from './key-draft.ts'
import { KeyFields } from './key-fields.tsx'
import { refreshKeys } from './keys.ts'
import { ShownKey } from './shown-key.tsx'

const FIELDS = ['name', 'scopes', 'workspace_id', 'expires_at', 'version', 'spend_cap_usd', 'spend_cap_period']

/** First the form; then the key, this once. */
export function NewKeyDialog({
  open,
  onOpen,
  start,
  fixedWorkspace,
}: Opened & { start: () => Draft; fixedWorkspace?: string }) {
  const [draft, setDraft] = useDraft(
    `new key ${fixedWorkspace ?? ''}`,
    start,
    (now) => JSON.stringify(now) === JSON.stringify(start()),
  )
  const [made, setMade] = useState<NewApiKey | null>(null)
  const sending = useSend(uk.api_keys.create, async (key) => {
    setMade(key)
    await refreshKeys()
  })
  const close = (next: boolean) => {
    if (!next && made) {
      setMade(null)
      setDraft(start())
    }
    if (!next) sending.reset()
    onOpen(next)
  }
  if (made) return <ShownKey open={open} onOpen={close} made={made} title="Your new key" />
  return (
    <FormDialog
      open={open}
      onOpen={close}
      wide
      keeps
      title="New API key"
      about={
        fixedWorkspace
          ? `It reaches only ${fixedWorkspace}, and its calls count there.`
          : 'For a program that calls this server in your name.'
      }
      sending={sending}
      fields={FIELDS}
      verb="Create key"
      onSend={() => void sending.send(keyIn(draft))}
    >
      <KeyFields draft={draft} onDraft={setDraft} at={sending.at} isNew fixedWorkspace={fixedWorkspace !== undefined} />
    </FormDialog>
  )
}

export function ChangeKeyDialog({ apiKey, open, onOpen }: Opened & { apiKey: ApiKey }) {
  const [draft, setDraft] = useState(() => draftOf(apiKey))
  const sending = useSend(
    () => uk.api_keys.update({ id: apiKey.id, ...changesIn(draft, apiKey) }),
    async () => {
      await refreshKeys()
      say(`${draft.name.trim()} is changed`)
      onOpen(false)
    },
  )
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      wide
      title={`Change ${apiKey.name}`}
      about="What you change holds from the next call on; the key itself stays the same."
      sending={sending}
      fields={FIELDS}
      verb="Save"
      onSend={() => void sending.send(undefined)}
    >
      <KeyFields draft={draft} onDraft={setDraft} at={sending.at} isNew={false} />
    </FormDialog>
  )
}

export function RotateDialog({ apiKey, open, onOpen }: Opened & { apiKey: ApiKey }) {
  const [overlap, setOverlap] = useState<Overlap>('3600')
  const [made, setMade] = useState<NewApiKey | null>(null)
  const sending = useSend(uk.api_keys.rotate, async (key) => {
    setMade(key)
    await refreshKeys()
  })
  if (made) return <ShownKey open={open} onOpen={onOpen} made={made} title={`The new secret of ${apiKey.name}`} />
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title={`Rotate ${apiKey.name}`}
      about="It gets a new secret. Name, scopes, cap and what was spent stay."
      sending={sending}
      fields={['overlap_seconds']}
      verb="Rotate"
      onSend={() => void sending.send({ id: apiKey.id, overlap_seconds: Number(overlap) })}
    >
      <OverlapField
        label="The old secret stops working"
        hint="Time to put the new one everywhere the old one is used."
        value={overlap}
        onValue={setOverlap}
        sending={sending}
      />
    </FormDialog>
  )
}
