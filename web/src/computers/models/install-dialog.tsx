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

const MOST_FILES = 500

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
  const [source, setSource] = useState<Source>('url')
  const [words, setWords] = useState('')
  const [sha256, setSha256] = useState('')
  const [name, setName] = useState('')
  const [file, setFile] = useState('')
  const { data: files } = useQuery({
    queryKey: ['drive-picker', 'gguf'],
    queryFn: () => everyRow(uk.drive.glob({ pattern: '*.gguf', case: 'insensitive', limit: 100 }), MOST_FILES),
    enabled: open && source === 'drive',
  })
  const sending = useSend(uk.computers.install_local_model, async () => {
    await refreshModels(computerId)
    setWords('')
    setName('')
    onOpen(false)
  })
  const picked = file || files?.[0]?.id || ''
  const given =
    source === 'url'
      ? { url: words.trim(), ...(sha256.trim() !== '' && { sha256: sha256.trim() }) }
      : source === 'drive'
        ? { file_id: picked }
        : { ollama: words.trim() }
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
        void sending.send({ id: computerId, source: given, ...(name.trim() !== '' && { name: name.trim() }) })
      }
    >
      <SelectField
        label="Source"
        value={source}
        onValue={(next) => {
          setSource(next)
          setWords('')
        }}
        options={sources}
      />
      {source === 'drive' ? (
        <SelectField
          label="File"
          value={picked}
          onValue={setFile}
          options={
            files?.length
              ? files.map((one) => [one.id, one.path] as const)
              : [['', files === undefined ? '…' : 'No .gguf files found']]
          }
          error={sending.at('source')}
        />
      ) : (
        <TextField
          label={source === 'url' ? 'URL' : 'Model name'}
          mono
          inputMode={source === 'url' ? 'url' : 'text'}
          placeholder={source === 'url' ? 'https://…/model.gguf' : 'smollm2:135m'}
          value={words}
          onValue={setWords}
          error={sending.at('source')}
        />
      )}
      {source === 'url' && (
        <TextField
          label="SHA-256"
          mono
          optional
          hint="Optional. The download is rejected if its checksum differs."
          value={sha256}
          onValue={setSha256}
        />
      )}
      {source !== 'ollama' && (
        <TextField
          label="Name"
          mono
          optional
          hint="Used as local/<name>. Defaults to the file name."
          value={name}
          onValue={setName}
          error={sending.at('name')}
        />
      )}
    </FormDialog>
  )
}
