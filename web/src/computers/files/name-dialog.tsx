import { useState } from 'react'
import { uk } from '../../api.ts'
import { ApiError } from '#faces/client.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { useSend } from '../../ui/send.ts'
import { folderOf, within } from './paths.ts'
import { type Row, refreshFolder } from './queries.ts'

interface Props {
  computerId: string
  open: boolean
  onOpen: (open: boolean) => void
}

export function NewFolder({ computerId, folder, open, onOpen }: Props & { folder: string }) {
  const [name, setName] = useState('')
  const making = useSend(
    () => uk.computers.fs({ id: computerId, op: 'mkdir', path: within(folder, name) }),
    async () => {
      await refreshFolder(computerId, folder)
      setName('')
      onOpen(false)
    },
  )
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title="New folder"
      sending={making}
      fields={['path']}
      verb="Make it"
      onSend={() => void making.send(undefined)}
    >
      <TextField label="Name" autoComplete="off" value={name} onValue={setName} error={making.at('path')} />
    </FormDialog>
  )
}

/** By `mv` there: calls for files know no other name of what is there. */
export function Rename({ computerId, row, open, onOpen }: Props & { row: Row }) {
  const [name, setName] = useState(row.name)
  const folder = folderOf(row.path)
  const renaming = useSend(
    () => rename(computerId, row.path, within(folder, name)),
    async () => {
      await refreshFolder(computerId, folder)
      onOpen(false)
    },
  )
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title={`Rename ${row.name}`}
      sending={renaming}
      fields={[]}
      verb="Rename"
      onSend={() => void renaming.send(undefined)}
    >
      <TextField label="Name" autoComplete="off" value={name} onValue={setName} />
    </FormDialog>
  )
}

async function rename(id: string, from: string, to: string): Promise<void> {
  const there = await uk.computers.fs({ id, op: 'stat', path: to }).catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 404) return null
    throw error
  })
  if (there !== null) throw refused('There is something of this name already.')
  const ran = await uk.computers.exec({ id, argv: ['mv', '-n', '--', from, to] })
  if ('exit_code' in ran && ran.exit_code !== 0) throw refused(ran.stderr.trim() || 'It could not be renamed.')
}

/** In the form of a refusal, which a form shows. */
const refused = (message: string): ApiError =>
  new ApiError({ status: 409, header: () => null }, { type: 'conflict', message })
