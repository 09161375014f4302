import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { queryClient, uk } from '../shared/api.ts'
import { Button, type Look } from '../ui/button.tsx'
import { FormDialog } from '../ui/dialogs/form-dialog.tsx'
import { TextField } from '../ui/field.tsx'
import { useSend } from '../ui/calls/send.ts'

export function NewWorkspace({ look = 'plain' }: { look?: Look }) {
  const [open, setOpen] = useState(false)
  const [name, setName] = useState('')
  const navigate = useNavigate()
  const sending = useSend(uk.workspaces.create, async ({ id }) => {
    setOpen(false)
    setName('')
    await queryClient.invalidateQueries({ queryKey: ['workspaces'] })
    await navigate({ to: '/workspaces/$id', params: { id } })
  })
  return (
    <>
      <Button look={look} icon="plus" onClick={() => setOpen(true)}>
        Create workspace
      </Button>
      <FormDialog
        open={open}
        onOpen={setOpen}
        title="Create workspace"
        about="A workspace shares chats, agents, files and computers with a team. You’ll own it and can invite members."
        sending={sending}
        fields={['name']}
        verb="Create workspace"
        onSend={() => void sending.send({ name })}
      >
        <TextField label="Name" value={name} onValue={setName} error={sending.at('name')} />
      </FormDialog>
    </>
  )
}
