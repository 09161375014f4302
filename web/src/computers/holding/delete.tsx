import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { uk } from '../../api.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialogs/dialog.tsx'
import { say } from '../../ui/dialogs/toast.tsx'
import { TextField } from '../../ui/field.tsx'
import { Refused } from '../../ui/notice.tsx'
import { Section } from '../../ui/page.tsx'
import { useSend } from '../../ui/send.ts'
import { type Computer, refreshComputers } from '../queries.ts'

/** Lets a computer go, once its name is typed. */
export function Delete({ computer: { id, name, kind } }: { computer: Computer }) {
  const [open, setOpen] = useState(false)
  const [typed, setTyped] = useState('')
  const navigate = useNavigate()
  const what =
    kind === 'cloud'
      ? 'It goes with its home and all that is in it. Its snapshots stay.'
      : 'Nothing is removed from the machine. Its credential and all that was granted end at once; to come back it is paired anew.'
  const sending = useSend(uk.computers.delete, async () => {
    await navigate({ to: '/computers' })
    await refreshComputers()
    say(`${name} is gone`)
  })
  return (
    <Section
      title="Let it go"
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
        title={`Delete ${name}?`}
        about={what}
        footer={
          <>
            <Button onClick={() => setOpen(false)}>Keep it</Button>
            <Button
              look="danger"
              disabled={typed !== name}
              pending={sending.pending}
              onClick={() => void sending.send({ id })}
            >
              Delete it
            </Button>
          </>
        }
      >
        <TextField label={`Type ${name} to delete it`} autoComplete="off" value={typed} onValue={setTyped} />
        <Refused>{sending.rest()}</Refused>
      </Dialog>
    </Section>
  )
}
