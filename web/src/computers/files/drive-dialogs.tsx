import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { uk } from '../../shared/api.ts'
import { useAccount, workspacesQuery } from '../../shared/session.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { say } from '../../ui/toast/toast.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { within } from './paths.ts'
import { type Row, refreshFolder } from './queries.ts'

interface Props {
  computerId: string
  open: boolean
  onOpen: (open: boolean) => void
}

const MAX = 100

/** The workspaces whose drive the person can write to, and the selected one: first, the personal one. */
function usePlace() {
  const { data: workspaces = [] } = useQuery(workspacesQuery)
  const { id } = useAccount()
  const [picked, pick] = useState('')
  const own = workspaces.find((one) => one.kind === 'personal') ?? workspaces[0]
  return { id, workspaces, place: picked || (own?.id ?? ''), pick }
}

const listed = (place: string, kind: 'file' | 'folder', open: boolean) => ({
  queryKey: ['drive-picker', place, kind],
  queryFn: async () => (await uk.drive.list({ workspace_id: place, kind, limit: MAX })).rows,
  enabled: open && place !== '',
})

export function ToDrive({ computerId, row, open, onOpen }: Props & { row: Row }) {
  const { workspaces, place, pick } = usePlace()
  const [folder, setFolder] = useState('')
  const { data: folders } = useQuery(listed(place, 'folder', open))
  const sending = useSend(uk.drive.upload, (made) => {
    say(`Copied ${made.name} to the drive`)
    onOpen(false)
  })
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title={`Copy ${row.name} to drive`}
      about="If the name is taken, the copy gets a new name."
      sending={sending}
      fields={['workspace_id', 'parent_id']}
      verb="Copy to drive"
      onSend={() =>
        void sending.send({
          ...(folder === '' ? { workspace_id: place } : { parent_id: folder }),
          on_conflict: 'rename',
          computer_source: { computer_id: computerId, path: row.path },
        })
      }
    >
      <SelectField
        label="Drive of"
        value={place}
        onValue={(id) => {
          pick(id)
          setFolder('')
        }}
        options={workspaces.map((one) => [one.id, one.name] as const)}
        error={sending.at('workspace_id')}
      />
      <SelectField
        label="Folder"
        value={folder}
        onValue={setFolder}
        options={[['', 'Top level'] as const, ...(folders ?? []).map((one) => [one.id, one.path] as const)]}
        error={sending.at('parent_id')}
      />
    </FormDialog>
  )
}

export function FromDrive({ computerId, folder, open, onOpen }: Props & { folder: string }) {
  const { workspaces, place, pick } = usePlace()
  const [words, setWords] = useState('')
  const [picked, setPicked] = useState('')
  const { data: files } = useQuery(listed(place, 'file', open))
  const shown = (files ?? []).filter(({ path }) => path.toLowerCase().includes(words.toLowerCase()))
  const file = shown.find(({ id }) => id === picked) ?? shown[0]
  const sending = useSend(uk.computers.upload, async () => {
    await refreshFolder(computerId, folder)
    say('File copied to the computer')
    onOpen(false)
  })
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title="Copy from drive"
      about={`Copies a file to ${folder}.`}
      sending={sending}
      fields={['path', 'drive_source']}
      verb="Copy file"
      onSend={() => {
        if (file)
          void sending.send({
            id: computerId,
            path: within(folder, file.name),
            drive_source: { file_id: file.id },
          })
      }}
    >
      <SelectField
        label="Drive of"
        value={place}
        onValue={pick}
        options={workspaces.map((one) => [one.id, one.name] as const)}
      />
      <TextField label="Search by name" optional autoComplete="off" value={words} onValue={setWords} />
      <SelectField
        label="File"
        value={file?.id ?? ''}
        onValue={setPicked}
        options={
          shown.length === 0
            ? [['', files === undefined ? '…' : 'None']]
            : shown.map((one) => [one.id, one.path] as const)
        }
        hint={files?.length === MAX ? `Showing the ${MAX} newest files.` : undefined}
        error={sending.at('path') ?? sending.at('drive_source')}
      />
    </FormDialog>
  )
}
