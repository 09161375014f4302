import { useChanged } from '../typing/changed.ts'
import { TextField } from '../field.tsx'
import { useSend } from '../calls/send.ts'
import type { OpenState } from './dialog-props.ts'
import { FormDialog } from './form-dialog.tsx'

export function NameDialog<T>({
  open,
  onOpen,
  title,
  verb,
  before = '',
  field = 'name',
  call,
  done,
}: OpenState & {
  title: string
  verb: string
  before?: string
  field?: string
  call: (name: string) => Promise<T>
  done: (made: T) => unknown
}) {
  const [name, setName, adopt] = useChanged(before)
  const sending = useSend(call, async (made) => {
    adopt()
    onOpen(false)
    await done(made)
  })
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title={title}
      sending={sending}
      fields={[field]}
      verb={verb}
      onSend={() => void sending.send(name)}
    >
      <TextField label="Name" autoComplete="off" value={name} onValue={setName} error={sending.at(field)} />
    </FormDialog>
  )
}
