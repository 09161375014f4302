import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { everyRow, uk } from '../../shared/api.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { size } from '../words.ts'
import { refreshModels } from './queries.ts'

type Source = 'url' | 'drive' | 'ollama'
const sources: readonly (readonly [Source, string])[] = [
  ['url', 'GGUF file from a URL'],
  ['drive', 'GGUF file from the drive'],
  ['ollama', 'Ollama library'],
]

const MAX_FILES = 500

interface InstallDraft {
  source: Source
  /** The URL, or the name in the Ollama library. */
  words: string
  sha256: string
  name: string
  /** Empty: the first file of the list. */
  fileId: string
}
const emptyDraft: InstallDraft = { source: 'url', words: '', sha256: '', name: '', fileId: '' }

function sourceOf({ source, words, sha256 }: InstallDraft, fileId: string) {
  if (source === 'drive') return { file_id: fileId }
  if (source === 'ollama') return { ollama: words.trim() }
  return { url: words.trim(), ...(sha256.trim() !== '' && { sha256: sha256.trim() }) }
}

export function InstallDialog({
  computerId,
  free,
  open,
  onOpen,
}: {
  computerId: string
  free: number | null
  open: boolean
  onOpen: (open: boolean) => void
}) {
  const [draft, setDraft] = useState(emptyDraft)
  const set = (change: Partial<InstallDraft>): void => setDraft((now) => ({ ...now, ...change }))
  const { data: files } = useQuery({
    queryKey: ['drive-picker', 'gguf'],
    queryFn: () => everyRow(uk.drive.glob({ pattern: '*.gguf', case: 'insensitive', limit: 100 }), MAX_FILES),
    enabled: open && draft.source === 'drive',
  })
  const fileId = draft.fileId || files?.[0]?.id || ''
  const sending = useSend(uk.computers.install_local_model, async () => {
    await refreshModels(computerId)
    set({ words: '', name: '' })
    onOpen(false)
  })
  const name = draft.name.trim()
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title="Install model"
      about={`Interrupted downloads resume, and files are verified.${
        free === null ? '' : ` ${size(free)} of disk space available.`
      }`}
      sending={sending}
      fields={['source', 'name']}
      verb="Install model"
      onSend={() =>
        void sending.send({ id: computerId, source: sourceOf(draft, fileId), ...(name !== '' && { name }) })
      }
    >
      <SelectField
        label="Source"
        value={draft.source}
        onValue={(source) => set({ source, words: '' })}
        options={sources}
      />
      {draft.source === 'drive' ? (
        <SelectField
          label="File"
          value={fileId}
          onValue={(id) => set({ fileId: id })}
          options={
            files?.length
              ? files.map((one) => [one.id, one.path] as const)
              : [['', files === undefined ? '…' : 'No .gguf files found']]
          }
          error={sending.at('source')}
        />
      ) : (
        <TextField
          label={draft.source === 'url' ? 'URL' : 'Model name'}
          mono
          inputMode={draft.source === 'url' ? 'url' : 'text'}
          placeholder={draft.source === 'url' ? 'https://…/model.gguf' : 'smollm2:135m'}
          value={draft.words}
          onValue={(words) => set({ words })}
          error={sending.at('source')}
        />
      )}
      {draft.source === 'url' && (
        <TextField
          label="SHA-256"
          mono
          optional
          hint="The download is rejected if its checksum differs."
          value={draft.sha256}
          onValue={(sha256) => set({ sha256 })}
        />
      )}
      {draft.source !== 'ollama' && (
        <TextField
          label="Name"
          mono
          optional
          hint="Used as local/<name>. Defaults to the file name."
          value={draft.name}
          onValue={(next) => set({ name: next })}
          error={sending.at('name')}
        />
      )}
    </FormDialog>
  )
}
