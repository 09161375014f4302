import { useState } from 'react'
import { type ApiKey, type NewApiKey, uk } from '../api.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import type { OpenState } from '../../ui/dialogs/dialog-props.ts'
import { useSend } from '../../ui/calls/send.ts'
import { say } from '../../ui/toast/toast.tsx'
import { useDraft } from '../../ui/typing/draft.ts'
import { type Overlap, OverlapField } from './overlap-field.tsx'
import { type Draft, changesIn, draftOf, keyIn } from './key-draft.ts'
import { KeyFields } from './key-fields.tsx'
import { refreshKeys } from './keys.ts'
import { ShownKey } from './shown-key.tsx'

const FIELDS = ['name', 'scopes', 'workspace_id', 'expires_at', 'version', 'spend_cap_usd', 'spend_cap_period']

export function NewKeyDialog({
  open,
  onOpen,
  start,
  fixedWorkspace,
}: OpenState & { start: () => Draft; fixedWorkspace?: string }) {
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
      title="Create API key"
      about={
        fixedWorkspace
          ? `This key is restricted to ${fixedWorkspace}, and its calls count there.`
          : 'For a program that calls this server on your behalf.'
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

export function ChangeKeyDialog({ apiKey, open, onOpen }: OpenState & { apiKey: ApiKey }) {
  const [draft, setDraft] = useState(() => draftOf(apiKey))
  const sending = useSend(
    () => uk.api_keys.update({ id: apiKey.id, ...changesIn(draft, apiKey) }),
    async () => {
      await refreshKeys()
      say(`Saved changes to ${draft.name.trim()}`)
      onOpen(false)
    },
  )
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      wide
      title={`Edit key ${apiKey.name}`}
      about="Changes apply from the next call. The key’s secret stays the same."
      sending={sending}
      fields={FIELDS}
      verb="Save key"
      onSend={() => void sending.send(undefined)}
    >
      <KeyFields draft={draft} onDraft={setDraft} at={sending.at} isNew={false} />
    </FormDialog>
  )
}

export function RotateDialog({ apiKey, open, onOpen }: OpenState & { apiKey: ApiKey }) {
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
      title={`Rotate key ${apiKey.name}`}
      about="The key gets a new secret. Its name, scopes, spend cap and recorded spending stay the same."
      sending={sending}
      fields={['overlap_seconds']}
      verb="Rotate key"
      onSend={() => void sending.send({ id: apiKey.id, overlap_seconds: Number(overlap) })}
    >
      <OverlapField
        label="The old secret stops working"
        hint="Gives you time to replace the old secret everywhere."
        value={overlap}
        onValue={setOverlap}
        sending={sending}
      />
    </FormDialog>
  )
}
