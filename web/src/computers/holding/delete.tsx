import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { uk } from '../../shared/api.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialogs/dialog.tsx'
import { say } from '../../ui/toast/toast.tsx'
import { TextField } from '../../ui/field.tsx'
import { Refused } from '../../ui/notice.tsx'
import { Section } from '../../ui/page.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { type Computer, refreshComputers } from '../queries.ts'

export function Delete({ computer: { id, name, kind } }: { computer: Computer }) {
  const [open, setOpen] = useState(false)
  const [typed, setTyped] = useState('')
  const navigate = useNavigate()
  const what =
    kind === 'cloud'
      ? 'This permanently deletes the computer and its home folder. Snapshots are kept.'
      : 'Nothing is removed from the machine itself. Its connection and all shared access end immediately. To use it again, connect it again.'
  const sending = useSend(uk.computers.delete, async () => {
    await navigate({ to: '/computers' })
    await refreshComputers()
    say(`Deleted ${name}`)
  })
  return (
    <Section
      title="Delete computer"
      about={what}
      action={
        <Button look="danger-plain" onClick={() => setOpen(true)}>
          Delete {name}
        </Button>
      }
    >
      <Dialog
        open={open}
        onOpen={setOpen}
        title={`Delete computer ${name}?`}
        about={what}
        footer={
          <>
            <Button onClick={() => setOpen(false)}>Cancel</Button>
            <Button
              look="danger"
              disabled={typed !== name}
              pending={sending.pending}
              onClick={() => void sending.send({ id })}
            >
              Delete computer
            </Button>
          </>
        }
      >
        <TextField label={`Type ${name} to confirm`} autoComplete="off" value={typed} onValue={setTyped} />
        <Refused>{sending.rest()}</Refused>
      </Dialog>
    </Section>
  )
}
