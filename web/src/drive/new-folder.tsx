import { useState } from 'react'
import { uk } from '../api.ts'
import { FormDialog } from '../ui/dialogs/form-dialog.tsx'
import { TextField } from '../ui/field.tsx'
import { useSend } from '../ui/send.ts'
import { type Place, adopt, readAgain, targetOf } from './queries.ts'

export function NewFolder({ place, open, onOpen }: { place: Place; open: boolean; onOpen: (open: boolean) => void }) {
  const [name, setName] = useState('')
  const sending = useSend(uk.drive.create_folder, (folder) => {
    adopt(folder)
    void readAgain()
    setName('')
    onOpen(false)
  })
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title="New folder"
      sending={sending}
      fields={['name']}
      verb="Make it"
      onSend={() => void sending.send({ ...targetOf(place), name })}
    >
      <TextField label="Name" autoComplete="off" value={name} onValue={setName} error={sending.at('name')} />
    </FormDialog>
  )
}
