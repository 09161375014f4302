import { useState } from 'react'
import { type ApiKey, uk } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Refused } from '../ui/notice.tsx'
import { useSend } from '../ui/send.ts'
import { say } from '../ui/toast.tsx'
import { capOf, draftOf } from './key-draft.ts'
import { CapFields } from './key-fields.tsx'
import { refreshKeys } from './keys.ts'

/** All that admins of its workspace may change of somebody else's key. */
export function CapDialog({
  apiKey,
  open,
  onOpen,
}: {
  apiKey: ApiKey
  open: boolean
  onOpen: (open: boolean) => void
}) {
  const [draft, setDraft] = useState(() => draftOf(apiKey))
  const { send, pending, at, rest, form } = useSend(uk.api_keys.update, async () => {
    await refreshKeys()
    say(`The cap of ${apiKey.name} is changed`)
    onOpen(false)
  })
  return (
    <Dialog
      open={open}
      onOpen={onOpen}
      title={`Change the cap of ${apiKey.name}`}
      about="It holds from the next call on, and its owner sees it. What was spent in the period counts."
      footer={
        <>
          <Button onClick={() => onOpen(false)}>Cancel</Button>
          <Button look="primary" type="submit" form="cap-key" pending={pending}>
            Save
          </Button>
        </>
      }
    >
      <form
        id="cap-key"
        ref={form}
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          void send({ id: apiKey.id, spend_cap_usd: capOf(draft.cap), spend_cap_period: draft.period })
        }}
      >
        <CapFields draft={draft} onDraft={setDraft} at={at} />
        <div className="mt-4">
          <Refused>{rest('spend_cap_usd', 'spend_cap_period')}</Refused>
        </div>
      </form>
    </Dialog>
  )
}
