import { useState } from 'react'
import { type ApiKey, uk } from '../api.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import type { OpenState } from '../../ui/dialogs/dialog-props.ts'
import { useSend } from '../../ui/calls/send.ts'
import { say } from '../../ui/toast/toast.tsx'
import { draftOf } from './key-draft.ts'
import { capOf } from '../money/spend-cap.ts'
import { CapFields } from './key-fields.tsx'
import { refreshKeys } from './keys.ts'

/** The only setting of other members' keys that workspace admins can edit. */
export function CapDialog({ apiKey, open, onOpen }: OpenState & { apiKey: ApiKey }) {
  const [draft, setDraft] = useState(() => draftOf(apiKey))
  const sending = useSend(uk.api_keys.update, async () => {
    await refreshKeys()
    say(`Saved the spend cap of ${apiKey.name}`)
    onOpen(false)
  })
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title={`Edit spend cap of ${apiKey.name}`}
      about="Applies from the next call, and is visible to the key’s owner. Earlier spending in the period counts."
      sending={sending}
      fields={['spend_cap_usd', 'spend_cap_period']}
      verb="Save spend cap"
      onSend={() =>
        void sending.send({ id: apiKey.id, spend_cap_usd: capOf(draft.cap), spend_cap_period: draft.period })
      }
    >
      <CapFields draft={draft} onDraft={setDraft} at={sending.at} />
    </FormDialog>
  )
}
