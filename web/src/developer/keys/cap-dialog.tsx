import { useState } from 'react'
import { type ApiKey, uk } from '../../api.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import type { Opened } from '../../ui/dialogs/dialog-props.ts'
import { useSend } from '../../ui/send.ts'
import { say } from '../../ui/dialogs/toast.tsx'
import { capOf, draftOf } from './key-draft.ts'
import { CapFields } from './key-fields.tsx'
import { refreshKeys } from './keys.ts'

/** All that admins of its workspace may change of somebody else's key. */
export function CapDialog({ apiKey, open, onOpen }: Opened & { apiKey: ApiKey }) {
  const [draft, setDraft] = useState(() => draftOf(apiKey))
  const sending = useSend(uk.api_keys.update, async () => {
    await refreshKeys()
    say(`The cap of ${apiKey.name} is changed`)
    onOpen(false)
  })
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title={`Change the cap of ${apiKey.name}`}
      about="It holds from the next call on, and its owner sees it. What was spent in the period counts."
      sending={sending}
      fields={['spend_cap_usd', 'spend_cap_period']}
      verb="Save"
      onSend={() =>
        void sending.send({ id: apiKey.id, spend_cap_usd: capOf(draft.cap), spend_cap_period: draft.period })
      }
    >
      <CapFields draft={draft} onDraft={setDraft} at={sending.at} />
    </FormDialog>
  )
}
