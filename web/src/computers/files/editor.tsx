import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { uk } from '../../shared/api.ts'
import { refusal } from '../../ui/calls/errors.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialogs/dialog.tsx'
import { say } from '../../ui/toast/toast.tsx'
import { Failure, Refused, Waiting } from '../../ui/notice.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { useUnsaved } from '../../ui/typing/unsaved.ts'
import type { Standing } from '../words.ts'
import { type Row, type Text, readText, refreshFolder } from './queries.ts'
import { folderOf } from './paths.ts'
import { sendPart } from './uploads.ts'

/** Edits a small text file. Saving fails if another user changed the file meanwhile. */
export function Editor({
  computerId,
  row,
  writes,
  open,
  onOpen,
}: {
  computerId: string
  row: Row
  writes: Standing
  open: boolean
  onOpen: (open: boolean) => void
}) {
  // Read once per opening: later changes must not replace typed text.
  const [opening, setOpening] = useState({ open, times: 0 })
  if (opening.open !== open) setOpening({ open, times: opening.times + (open ? 1 : 0) })
  const { data, error, refetch } = useQuery({
    queryKey: ['computer-file', computerId, row.path, opening.times],
    queryFn: () => readText(computerId, row.path),
    enabled: open,
    staleTime: Infinity,
    gcTime: 0,
  })
  return data ? (
    <Words key={opening.times} computerId={computerId} row={row} before={data} {...{ writes, open, onOpen }} />
  ) : (
    <Dialog wide open={open} onOpen={onOpen} title={row.name}>
      {error ? (
        <Failure what="This file" error={error} again={refetch} />
      ) : data === null ? (
        <p className="text-quiet">This file can’t be read as text. Download it to open it.</p>
      ) : (
        <Waiting what="the file" />
      )}
    </Dialog>
  )
}

function Words({
  computerId,
  row,
  before,
  writes,
  open,
  onOpen,
}: {
  computerId: string
  row: Row
  before: Text
  writes: Standing
  open: boolean
  onOpen: (open: boolean) => void
}) {
  const [words, setWords] = useState(before.text)
  const [changed, setChanged] = useState(false)
  useUnsaved(open && writes.ready && words !== before.text)
  const saving = useSend(
    async (force: boolean) => {
      const now = await uk.computers.fs({ id: computerId, op: 'stat', path: row.path }).catch((error: unknown) => {
        // The file was deleted meanwhile and is created again. For other errors, it's unknown what would be
        // overwritten.
        if (refusal(error)?.status === 404) return null
        throw error
      })
      const isChanged = now !== null && 'modified_at' in now && now.modified_at !== row.modified_at
      if (isChanged && !force) return false
      const query = new URLSearchParams({ path: row.path, overwrite: 'true' })
      await sendPart(`/v1/computers/${computerId}/fs/upload?${query}`, new Blob([words]), {})
      return true
    },
    async (saved) => {
      setChanged(!saved)
      if (!saved) return
      await refreshFolder(computerId, folderOf(row.path))
      say(`Saved ${row.name}`)
      onOpen(false)
    },
  )
  return (
    <Dialog
      wide
      open={open}
      onOpen={onOpen}
      title={row.name}
      about={row.path}
      footer={
        <>
          <Button onClick={() => onOpen(false)}>Close</Button>
          {writes.ready && (
            <Button
              look={changed ? 'danger' : 'primary'}
              pending={saving.pending}
              disabled={words === before.text}
              onClick={() => void saving.send(changed)}
            >
              {changed ? 'Overwrite file' : 'Save file'}
            </Button>
          )}
        </>
      }
    >
      <textarea
        aria-label={`Text of ${row.name}`}
        value={words}
        readOnly={!writes.ready}
        spellCheck={false}
        onChange={(event) => setWords(event.target.value)}
        className="field h-[52dvh] resize-none font-mono text-sm! whitespace-pre"
      />
      <div className="mt-2 space-y-2">
        {!writes.ready && <p className="text-sm text-quiet">{writes.why}</p>}
        {changed && (
          <p role="alert" className="text-sm text-seal">
            The file changed on the computer since you opened it. Saving overwrites those changes.
          </p>
        )}
        <Refused>{saving.rest()}</Refused>
      </div>
    </Dialog>
  )
}
