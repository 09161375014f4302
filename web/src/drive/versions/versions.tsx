import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { uk } from '../../shared/api.ts'
import { namesQuery, useAccount } from '../../shared/session.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { say } from '../../ui/toast/toast.tsx'
import { Failure, Waiting } from '../../ui/notice.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { bytes, moment } from '../../ui/text/format.ts'
import { Ago } from '../../ui/text/time.tsx'
import { shownAs } from '../list/kinds.ts'
import { type FileVersion, bytesAt, readAgain, versionsQuery } from '../queries.ts'
import { type DriveFile, type FilePlace, adopt } from '../../shared/drive/files.ts'
import { MAX_EDITED_BYTES, textQuery } from './text.ts'
import { DiffView } from './diff-view.tsx'

export function Versions({ place: { file, access }, compared }: { place: FilePlace; compared: number | null }) {
  const navigate = useNavigate()
  const { data, error, refetch } = useQuery(versionsQuery(file.id))
  const { id: me } = useAccount()
  const { data: names } = useQuery({ ...namesQuery(file.workspace_id), retry: false })
  const go = (version: number | null): void =>
    void navigate({
      to: '/drive/file/$id',
      params: { id: file.id },
      search: { panel: 'versions', ...(version !== null && { version }) },
      replace: true,
    })
  const at = data?.findIndex(({ version }) => version === compared) ?? -1
  const isText = ['text', 'markdown'].includes(shownAs(file))
  return (
    <aside
      aria-label="Versions"
      className="flex max-h-[60%] min-h-0 w-full shrink-0 flex-col border-t border-line md:max-h-none md:w-80 md:border-t-0 md:border-l lg:w-96"
    >
      <header className="flex items-center border-b border-line py-1 pr-1 pl-3">
        <h2 className="flex-1 font-serif text-lg">Versions</h2>
        <IconButton
          label="Close versions"
          icon="close"
          onClick={() => void navigate({ to: '/drive/file/$id', params: { id: file.id }, replace: true })}
        />
      </header>
      {error && !data ? (
        <Failure what="The versions" error={error} again={refetch} />
      ) : !data ? (
        <Waiting what="the versions" />
      ) : (
        <ol aria-label="Versions" tabIndex={0} className="min-h-24 flex-1 divide-y divide-line overflow-y-auto">
          {data.map((version) => (
            <VersionRow
              key={version.id}
              file={file}
              version={version}
              by={version.created_by === me ? 'you' : (names?.get(version.created_by ?? '') ?? null)}
              mayRestore={access !== 'view' && file.status === 'active' && !version.current}
              onCompare={isText ? () => go(compared === version.version ? null : version.version) : null}
              isCompared={compared === version.version}
            />
          ))}
        </ol>
      )}
      {at !== -1 && <Compared file={file} version={data![at]!} before={data![at + 1] ?? null} />}
    </aside>
  )
}

function VersionRow({
  file,
  version: { version, size_bytes, created_at, current, restored_from },
  by,
  mayRestore,
  onCompare,
  isCompared,
}: {
  file: DriveFile
  version: FileVersion
  by: string | null
  mayRestore: boolean
  onCompare: (() => void) | null
  isCompared: boolean
}) {
  const { send, pending, rest } = useSend(uk.drive.restore_content_version, (row) => {
    adopt(row)
    void readAgain()
    say(`Restored version ${version} as version ${row.content_version}`)
  })
  return (
    <li className={`px-3 py-2 text-sm ${isCompared ? 'bg-ai-wash' : ''}`}>
      <p className="figures">
        <span className="font-medium">Version {version}</span>
        {current && <span className="text-moss"> · current version</span>}
        {restored_from !== null && <span className="text-quiet"> · restored from {restored_from}</span>}
      </p>
      <p className="figures text-[0.8125rem] text-quiet" title={moment(created_at)}>
        <Ago time={created_at} />
        {by !== null && ` by ${by}`} · {bytes(size_bytes)}
      </p>
      <p className="mt-1 -ml-2.5 flex flex-wrap">
        {onCompare && (
          <Button look="quiet" className="h-7! px-2.5!" aria-pressed={isCompared} onClick={onCompare}>
            {isCompared ? 'Hide changes' : 'Show changes'}
          </Button>
        )}
        <Button
          look="quiet"
          className="h-7! px-2.5!"
          aria-label={`Download version ${version}`}
          onClick={() => location.assign(bytesAt(file.id, { version, disposition: 'attachment' }))}
        >
          Download
        </Button>
        {mayRestore && (
          <Button
            look="quiet"
            className="h-7! px-2.5!"
            pending={pending}
            aria-label={`Restore version ${version}`}
            onClick={() =>
              void send({
                id: file.id,
                version,
                ...(file.content_updated_at !== null && { expected_updated_at: file.content_updated_at }),
              })
            }
          >
            Restore
          </Button>
        )}
      </p>
      {rest() !== null && (
        <p role="alert" className="text-[0.8125rem] text-seal">
          {rest()}
        </p>
      )}
    </li>
  )
}

function Compared({ file, version, before }: { file: DriveFile; version: FileVersion; before: FileVersion | null }) {
  const tooLarge = Math.max(version.size_bytes, before?.size_bytes ?? 0) > MAX_EDITED_BYTES
  const after = useQuery({ ...textQuery({ ...version, id: file.id }, version.version), enabled: !tooLarge })
  const earlier = useQuery({
    ...textQuery({ sha256: before?.sha256 ?? null, id: file.id }, before?.version),
    enabled: !tooLarge && before !== null,
  })
  const error = after.error ?? earlier.error
  return (
    <section
      aria-label={`Changes in version ${version.version}`}
      className="flex max-h-[55%] min-h-32 flex-col border-t border-keyline bg-sheet"
    >
      <h3 className="border-b border-line px-3 py-1.5 text-[0.8125rem] text-quiet">
        {before === null
          ? `Version ${version.version} is the oldest version`
          : `From version ${before.version} to ${version.version}`}
      </h3>
      {tooLarge ? (
        <p className="px-3 py-3 text-sm text-quiet">Too large to compare here.</p>
      ) : error ? (
        <Failure what="The changes" error={error} again={() => (after.error ? after.refetch() : earlier.refetch())} />
      ) : after.data && (before === null || earlier.data) ? (
        <DiffView before={earlier.data?.text ?? ''} after={after.data.text ?? ''} label="Changes" />
      ) : null}
    </section>
  )
}
