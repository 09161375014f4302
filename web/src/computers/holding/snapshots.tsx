import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { queryClient, uk } from '../../shared/api.ts'
import { workspacesQuery } from '../../shared/session.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm, useOpen } from '../../ui/dialogs/dialog.tsx'
import { Actions } from '../../ui/dialogs/menu.tsx'
import { Empty, Failure, Refused, Waiting } from '../../ui/notice.tsx'
import { Rows, Section, Tag } from '../../ui/page.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { number } from '../../ui/text/format.ts'
import { Ago } from '../../ui/text/time.tsx'
import { CreateComputer } from '../adding/create-computer.tsx'
import { type Computer, type Snapshot, driversQuery, snapshotsQuery } from '../queries.ts'
import { size } from '../words.ts'

const LOOK_MS = 2_000

export function Snapshots({ computer: { id }, manages }: { computer: Computer; manages: boolean }) {
  const { data, error, refetch } = useSnapshots()
  const taking = useSend(uk.computers.snapshot, () => refetch())
  const snapshots = data?.filter((one) => one.computer_id === id)
  return (
    <Section
      title="Snapshots"
      about="Copies of the home folder. Snapshots are verified after they’re created, and kept when the computer is deleted."
      action={
        manages && (
          <Button pending={taking.pending} onClick={() => void taking.send({ id })}>
            Create snapshot
          </Button>
        )
      }
    >
      <Refused>{taking.rest()}</Refused>
      {error && !snapshots ? (
        <Failure what="The snapshots" error={error} again={refetch} />
      ) : !snapshots ? (
        <Waiting what="the snapshots" />
      ) : snapshots.length === 0 ? (
        <Empty title="No snapshots yet">Create one before risky changes.</Empty>
      ) : (
        <List snapshots={snapshots} />
      )}
    </Section>
  )
}

export function Left({ computers }: { computers: readonly Computer[] }) {
  const { data } = useSnapshots()
  const others = data?.filter((one) => !computers.some(({ id }) => id === one.computer_id)) ?? []
  if (others.length === 0) return null
  return (
    <Section title="Other snapshots" about="Snapshots of deleted or transferred computers.">
      <List snapshots={others} />
    </Section>
  )
}

const useSnapshots = () =>
  useQuery({
    ...snapshotsQuery,
    refetchInterval: ({ state }) => (state.data?.some(({ status }) => status === 'creating') ? LOOK_MS : false),
  })

function List({ snapshots }: { snapshots: readonly Snapshot[] }) {
  const { data: drivers = [] } = useQuery(driversQuery)
  const { data: workspaces = [] } = useQuery(workspacesQuery)
  const [from, setFrom] = useState<string | null>(null)
  const removing = useOpen<Snapshot>()
  const mayWrite = ({ workspace_id }: Snapshot): boolean => {
    const workspace = workspaces.find((one) => one.id === workspace_id)
    return workspace !== undefined && workspace.role !== 'viewer'
  }
  return (
    <>
      <Rows label="Snapshots">
        {snapshots.map((one) => (
          <li key={one.id} className="flex flex-wrap items-center gap-x-6 gap-y-2 px-4 py-3">
            <div className="min-w-0 flex-1 basis-52">
              <p className="font-medium">
                {one.name ?? one.computer_name}, <Ago time={one.created_at} />
              </p>
              <p className="text-[0.8125rem] text-quiet">
                {[
                  one.size_bytes !== null && size(one.size_bytes),
                  one.entries !== null && `${number(one.entries)} files and folders`,
                ]
                  .filter(Boolean)
                  .join(' · ')}
              </p>
            </div>
            {one.status !== 'ready' && <Tag tone={one.status === 'failed' ? 'bad' : 'ai'}>{one.status}</Tag>}
            {mayWrite(one) && one.status !== 'creating' && (
              <>
                {one.status === 'ready' && <Button onClick={() => setFrom(one.id)}>Create computer</Button>}
                <Actions
                  label={`More actions for snapshot ${one.name ?? one.computer_name}`}
                  actions={[{ label: 'Delete', run: () => removing.show(one), danger: true }]}
                />
              </>
            )}
          </li>
        ))}
      </Rows>
      {from !== null && (
        <CreateComputer
          key={from}
          from={from}
          drivers={drivers}
          workspaces={workspaces}
          open
          onOpen={(open) => setFrom(open ? from : null)}
        />
      )}
      {removing.on && (
        <Confirm
          open={removing.open}
          onOpen={removing.onOpen}
          title="Delete snapshot?"
          verb="Delete snapshot"
          run={async () => {
            await uk.cloud_computers.delete_snapshot({ id: removing.on!.id })
            await queryClient.invalidateQueries({ queryKey: snapshotsQuery.queryKey })
          }}
        >
          You can’t undo this.
        </Confirm>
      )}
    </>
  )
}
