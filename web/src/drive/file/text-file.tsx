import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { Suspense, lazy, useState } from 'react'
import { uk } from '../../shared/api.ts'
import { sayError } from '../../ui/calls/errors.ts'
import { Markdown } from '../../ui/markdown/markdown.tsx'
import { Button } from '../../ui/button.tsx'
import { say } from '../../ui/toast/toast.tsx'
import { Unsaved } from '../../ui/dialogs/unsaved.tsx'
import { Failure, Refused, Waiting } from '../../ui/notice.tsx'
import { bytes } from '../../ui/text/format.ts'
import { shownAs } from '../list/kinds.ts'
import { versionsQuery } from '../queries.ts'
import { type DriveFile, type FilePlace, adopt } from '../../shared/drive/files.ts'
import { Conflict } from './conflict.tsx'
import { DocumentText } from './document-text.tsx'
import { MAX_EDITED_BYTES, textQuery } from '../versions/text.ts'
import { shorten } from '../../../../src/core/text/shorten.ts'

const CodeView = lazy(() =>
  import('../../ui/code/editor/code-view.tsx').then(({ CodeView }) => ({ default: CodeView })),
)

/** A text file: rendered Markdown, or code with line numbers. Editable in place. */
export function TextFile({ place: { file, access } }: { place: FilePlace }) {
  const { line } = useSearch({ from: '/shell/drive/file/$id' })
  const isMarkdown = shownAs(file) === 'markdown'
  const [mode, setMode] = useState<'read' | 'source' | 'edit'>(isMarkdown && line === undefined ? 'read' : 'source')
  const isSmall = (file.size_bytes ?? 0) <= MAX_EDITED_BYTES
  const query = useQuery({ ...textQuery(file), enabled: isSmall })
  // The opened text: changes by others don't replace it while someone is editing.
  const [edited, setEdited] = useState<{ text: string; from: DriveFile } | null>(null)
  // Prefer the editor over refetched data: unsaved text must survive changes by others.
  if (mode === 'edit' && edited !== null)
    return (
      <Editing
        file={file}
        edited={edited}
        onEdited={setEdited}
        onLeave={() => setMode(isMarkdown ? 'read' : 'source')}
      />
    )
  if (!isSmall)
    return (
      <DocumentText
        file={file}
        why={`Showing the first lines of ${bytes(file.size_bytes ?? 0)}. Files up to ${bytes(MAX_EDITED_BYTES)} are shown completely and can be edited here.`}
      />
    )
  if (query.error && !query.data) return <Failure what="The text" error={query.error} again={query.refetch} />
  if (!query.data)
    return (
      <div className="p-4">
        <Waiting what="the text" />
      </div>
    )
  if (query.data.text === null)
    return <DocumentText file={file} why="This file isn’t UTF-8, so it can’t be edited here." />
  const text = query.data.text
  const mayEdit = access !== 'view' && file.status === 'active'
  return (
    <>
      <div className="flex items-center gap-1 border-b border-line px-3 py-1">
        {isMarkdown && (
          <>
            <Button look="quiet" aria-pressed={mode === 'read'} onClick={() => setMode('read')}>
              Preview
            </Button>
            <Button look="quiet" aria-pressed={mode === 'source'} onClick={() => setMode('source')}>
              Source
            </Button>
          </>
        )}
        <p className="figures min-w-0 flex-1 truncate px-1 text-right text-[0.8125rem] text-quiet">
          version {file.content_version}
        </p>
        {mayEdit && (
          <Button
            onClick={() => {
              setEdited({ text, from: file })
              setMode('edit')
            }}
          >
            Edit
          </Button>
        )}
      </div>
      {mode === 'read' ? (
        <div className="min-h-0 flex-1 overflow-y-auto" tabIndex={0} role="region" aria-label="File text">
          <div className="max-w-[72ch] px-4 py-5 text-[1.0625rem] leading-[1.65] sm:px-6">
            <Markdown text={text} />
          </div>
        </div>
      ) : (
        <Suspense fallback={<Plain text={text} />}>
          <CodeView key={file.sha256} name={file.name} text={text} line={line ?? null} />
        </Suspense>
      )}
    </>
  )
}

/** Plain text until the editor is loaded. */
const Plain = ({ text }: { text: string }) => (
  <pre tabIndex={0} className="min-h-0 flex-1 overflow-auto px-4 py-2 font-mono text-[0.8125rem] leading-6">
    {shorten(text, 20_000)}
  </pre>
)

interface Edited {
  text: string
  from: DriveFile
}

function Editing({
  file,
  edited,
  onEdited,
  onLeave,
}: {
  file: DriveFile
  edited: Edited
  onEdited: (edited: Edited) => void
  onLeave: () => void
}) {
  const client = useQueryClient()
  const [written, setWritten] = useState(edited.text)
  const [saving, setSaving] = useState(false)
  const [refused, setRefused] = useState<string | null>(null)
  const [conflict, setConflict] = useState<{ theirs: DriveFile; text: string } | null>(null)
  // Passed to the editor when its text must be replaced.
  const [given, setGiven] = useState({ text: edited.text, times: 0 })
  const isChanged = written !== edited.text
  const compare = async (): Promise<void> => {
    const theirs = await uk.drive.metadata({ id: file.id })
    adopt(theirs)
    const { text } = await client.fetchQuery(textQuery(theirs))
    setConflict({ theirs, text: text ?? '' })
  }
  const save = async (over: DriveFile = edited.from): Promise<void> => {
    if (saving) return
    setSaving(true)
    setRefused(null)
    try {
      const expected = over.content_updated_at
      const saved = await uk.drive.update({
        id: file.id,
        content: written,
        ...(expected !== null && { expected_updated_at: expected }),
      })
      client.setQueryData(textQuery(saved).queryKey, { text: written })
      adopt(saved)
      void client.invalidateQueries({ queryKey: versionsQuery(file.id).queryKey })
      onEdited({ text: written, from: saved })
      setConflict(null)
      say(`Saved as version ${saved.content_version}`)
    } catch (error) {
      if (isStale(error)) await compare().catch((failure: unknown) => setRefused(sayError(failure)))
      else setRefused(sayError(error))
    } finally {
      setSaving(false)
    }
  }
  const somebody = edited.from.content_version !== file.content_version && conflict === null
  return (
    <>
      <div className="flex flex-wrap items-center gap-1 border-b border-line px-3 py-1">
        <p role="status" className="min-w-0 flex-1 px-1 text-[0.8125rem] text-quiet">
          {somebody ? (
            <span className="text-ochre">Another user saved version {file.content_version}.</span>
          ) : isChanged ? (
            'Unsaved changes'
          ) : (
            `Version ${edited.from.content_version}`
          )}
        </p>
        <Button look="quiet" onClick={onLeave}>
          {isChanged ? 'Discard changes' : 'Done'}
        </Button>
        <Button look="primary" pending={saving} disabled={!isChanged} onClick={() => void save()}>
          Save file
        </Button>
      </div>
      <Unsaved on={isChanged} />
      <Refused>{refused}</Refused>
      {conflict && (
        <Conflict
          theirs={conflict.theirs}
          theirText={conflict.text}
          mine={written}
          onMine={() => void save(conflict.theirs)}
          onTheirs={() => {
            onEdited({ text: conflict.text, from: conflict.theirs })
            setWritten(conflict.text)
            setGiven(({ times }) => ({ text: conflict.text, times: times + 1 }))
            setConflict(null)
          }}
          onLater={() => setConflict(null)}
        />
      )}
      <Suspense fallback={<Plain text={given.text} />}>
        <CodeView
          key={given.times}
          name={file.name}
          text={given.text}
          line={null}
          edits={{ onText: setWritten, onSave: () => void save() }}
        />
      </Suspense>
    </>
  )
}

const isStale = (error: unknown): boolean =>
  error instanceof Error && (error as { code?: string }).code === 'stale_update'
