import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { uk } from '../shared/api.ts'
import { refusal, sayError } from '../ui/calls/errors.ts'
import { visible } from '../ui/text/visible.ts'
import { workspacesQuery } from '../shared/session.ts'
import { Button } from '../ui/button.tsx'
import { Confirm, useOpen } from '../ui/dialogs/dialog.tsx'
import { say } from '../ui/toast/toast.tsx'
import { SelectField } from '../ui/field.tsx'
import { Icon } from '../ui/icons.tsx'
import { Empty, Failure, Waiting } from '../ui/notice.tsx'
import { Page, Rows } from '../ui/page.tsx'
import { Ago } from '../ui/text/time.tsx'
import { bytes, plural } from '../ui/text/format.ts'
import { meantWorkspace } from './drive.tsx'
import { GoneOrNotYours } from './gone.tsx'
import { iconOf } from './list/kinds.ts'
import { readAgain, trashQuery } from './queries.ts'
import type { DriveFile } from '../shared/drive/files.ts'

/** Days until the server deletes trashed files. */
const KEPT_DAYS = 30

const daysLeft = (trashedAt: string, now: number = Date.now()): number =>
  Math.max(0, Math.ceil(KEPT_DAYS - (now - Date.parse(trashedAt)) / 86_400_000))

/** Another user or the server may have deleted the file in the meantime. */
async function goForGood(id: string): Promise<void> {
  await uk.drive.permanent_delete({ id }).catch((error: unknown) => {
    if (refusal(error)?.status !== 404) throw error
  })
}

export function TrashPage() {
  const search = useSearch({ from: '/shell/drive/trash' })
  const navigate = useNavigate()
  const { data: workspaces, error, refetch } = useQuery(workspacesQuery)
  const workspace = workspaces && meantWorkspace(workspaces, search.workspace)
  if (error && !workspaces) return <Failure what="Your workspaces" error={error} again={refetch} />
  if (!workspaces) return <Waiting what="the trash" />
  if (!workspace) return <GoneOrNotYours what="This workspace" />
  return (
    <Thrown
      key={workspace.id}
      workspaceId={workspace.id}
      mayWrite={workspace.role !== 'viewer'}
      picker={
        workspaces.length > 1 && (
          <SelectField
            label="Workspace"
            className="mb-6 max-w-sm"
            value={workspace.id}
            onValue={(id) => void navigate({ to: '/drive/trash', search: { workspace: id } })}
            options={workspaces.map(({ id, name }) => [id, name] as const)}
          />
        )
      }
    />
  )
}

function Thrown({
  workspaceId,
  mayWrite,
  picker,
}: {
  workspaceId: string
  mayWrite: boolean
  picker: React.ReactNode
}) {
  const { data, error, refetch } = useQuery(trashQuery(workspaceId))
  const [emptying, setEmptying] = useState(false)
  const deleting = useOpen<DriveFile>()
  const empty = async (): Promise<void> => {
    try {
      for (const { id } of data ?? []) await goForGood(id)
    } finally {
      await readAgain()
    }
  }
  return (
    <Page
      title="Trash"
      lead={`Files in the trash are deleted permanently after ${KEPT_DAYS} days. They count toward your storage until then.`}
      action={
        mayWrite && data && data.length > 0 ? (
          <Button look="danger-plain" icon="trash" onClick={() => setEmptying(true)}>
            Empty trash
          </Button>
        ) : undefined
      }
    >
      {picker}
      {error && !data ? (
        <Failure what="The trash" error={error} again={refetch} />
      ) : !data ? (
        <Waiting what="the trash" />
      ) : data.length === 0 ? (
        <Empty title="Trash is empty">Files you move to the trash can be restored here.</Empty>
      ) : (
        <Rows label="Trash">
          {data.map((file) => (
            <ThrownRow key={file.id} file={file} mayWrite={mayWrite} onDelete={() => deleting.show(file)} />
          ))}
        </Rows>
      )}
      <Confirm title="Empty trash?" verb="Empty trash" run={empty} open={emptying} onOpen={setEmptying}>
        This permanently deletes {plural(data?.length ?? 0, 'item')} with all versions and contents. You can’t undo
        this.
      </Confirm>
      <Confirm
        title={`Delete “${visible(deleting.on?.name ?? '')}” permanently?`}
        verb="Delete permanently"
        run={async () => {
          await goForGood(deleting.on!.id)
          await readAgain()
        }}
        open={deleting.open}
        onOpen={deleting.onOpen}
      >
        This deletes all its versions, too. You can’t undo this.
      </Confirm>
    </Page>
  )
}

function ThrownRow({ file, mayWrite, onDelete }: { file: DriveFile; mayWrite: boolean; onDelete: () => void }) {
  const left = daysLeft(file.trashed_at!)
  const above = file.path.slice(0, -file.name.length - 1)
  const restore = async (): Promise<void> => {
    try {
      const back = await uk.drive.restore({ id: file.id })
      say(`Restored “${visible(back.name)}”${back.parent_id === null ? '' : ` to ${visible(above)}`}`)
    } catch (failure) {
      say(sayError(failure))
    }
    void readAgain()
  }
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5">
      <Icon name={iconOf(file)} className="size-5 text-quiet" />
      <div className="min-w-0 flex-1 basis-52">
        <p className="truncate">{visible(file.name)}</p>
        <p className="truncate text-[0.8125rem] text-quiet">
          {above === '' ? 'from the root' : `from ${visible(above)}`} · deleted <Ago time={file.trashed_at!} />
          {file.size_bytes !== null && ` · ${bytes(file.size_bytes)}`}
        </p>
      </div>
      <p className={`figures text-sm ${left <= 3 ? 'text-seal' : 'text-quiet'}`}>{plural(left, 'day')} left</p>
      {mayWrite && (
        <span className="flex gap-1">
          <Button aria-label={`Restore ${visible(file.name)}`} onClick={() => void restore()}>
            Restore
          </Button>
          <Button
            look="quiet"
            className="text-seal!"
            aria-label={`Delete permanently: ${visible(file.name)}`}
            onClick={onDelete}
          >
            Delete permanently
          </Button>
        </span>
      )}
    </li>
  )
}
