import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type Workspace, uk } from '../../shared/api.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { say } from '../../ui/toast/toast.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { moment } from '../../ui/text/format.ts'
import { typedNumber } from '../../ui/text/typed-number.ts'
import { type Driver, refreshComputers, snapshotsQuery } from '../queries.ts'

const limit = (words: string): number | null => (words.trim() === '' ? null : typedNumber(words.trim()))
const driverWords: Record<string, string> = {
  bubblewrap: 'Sandbox on the server’s system',
  docker: 'Container from an image',
}

interface ComputerDraft {
  name: string
  workspaceId: string
  /** Empty: the first available one. */
  driver: string
  /** Empty: the driver's default. */
  image: string
  network: 'none' | 'internet'
  memory: string
  cpu: string
  disk: string
  /** Seconds; empty: never. */
  idle: string
  /** Empty: a new home folder. */
  snapshot: string
}

const newDraft = (snapshot: string): ComputerDraft => ({
  name: '',
  workspaceId: '',
  driver: '',
  image: '',
  network: 'none',
  memory: '1024',
  cpu: '',
  disk: '',
  idle: '',
  snapshot,
})

const requestOf = (draft: ComputerDraft, driver: string): Parameters<typeof uk.cloud_computers.create>[0] => ({
  name: draft.name,
  ...(draft.workspaceId !== '' && { workspace_id: draft.workspaceId }),
  driver,
  ...(draft.image !== '' && { image: draft.image }),
  network: draft.network,
  memory_mb: limit(draft.memory),
  cpu: limit(draft.cpu),
  disk_mb: limit(draft.disk),
  idle_stop_seconds: draft.idle === '' ? null : Number(draft.idle),
  ...(draft.snapshot !== '' && { from_snapshot: draft.snapshot }),
})

const FIELDS = [
  'name',
  'workspace_id',
  'driver',
  'image',
  'cpu',
  'memory_mb',
  'disk_mb',
  'idle_stop_seconds',
  'from_snapshot',
]

interface FieldsProps {
  draft: ComputerDraft
  set: (change: Partial<ComputerDraft>) => void
  at: (field: string) => string | null
}

export function CreateComputer({
  drivers,
  workspaces,
  open,
  onOpen,
  from = '',
}: {
  drivers: readonly Driver[]
  workspaces: readonly Workspace[]
  open: boolean
  onOpen: (open: boolean) => void
  from?: string
}) {
  const [draft, setDraft] = useState(() => newDraft(from))
  const set = (change: Partial<ComputerDraft>): void => setDraft((now) => ({ ...now, ...change }))
  const available = drivers.filter((one) => one.available)
  const driver = available.find((one) => one.driver === draft.driver) ?? available[0]
  const { data: snapshots = [] } = useQuery({ ...snapshotsQuery, enabled: open })
  const sending = useSend(uk.cloud_computers.create, async () => {
    await refreshComputers()
    say(`Creating ${draft.name}`)
    set({ name: '' })
    onOpen(false)
  })
  if (driver === undefined) return null
  const props = { draft, set, at: sending.at }
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title="Create cloud computer"
      about={
        from === ''
          ? 'An isolated computer for agents and people. It has no access to your data.'
          : 'The home folder is restored from the snapshot.'
      }
      sending={sending}
      fields={FIELDS}
      verb="Create computer"
      onSend={() => void sending.send(requestOf(draft, driver.driver))}
    >
      <TextField
        label="Name"
        autoComplete="off"
        value={draft.name}
        onValue={(name) => set({ name })}
        error={sending.at('name')}
      />
      {workspaces.length > 1 && (
        <SelectField
          label="Owner"
          value={draft.workspaceId}
          onValue={(workspaceId) => set({ workspaceId })}
          options={workspaces.map((one) => [one.kind === 'personal' ? '' : one.id, one.name] as const)}
          error={sending.at('workspace_id')}
        />
      )}
      <DriverFields {...props} drivers={drivers} driver={driver} />
      <LimitFields {...props} isEnforced={driver.limits_enforced} />
      {snapshots.length > 0 && (
        <SelectField
          label="Home folder"
          value={draft.snapshot}
          onValue={(snapshot) => set({ snapshot })}
          options={[
            ['', 'Empty'] as const,
            ...snapshots
              .filter(({ status }) => status === 'ready')
              .map((one) => [one.id, `${one.name ?? one.computer_name}, ${moment(one.created_at)}`] as const),
          ]}
          error={sending.at('from_snapshot')}
        />
      )}
    </FormDialog>
  )
}

const driverName = ({ driver }: Driver): string => driverWords[driver] ?? driver

function DriverFields({
  draft,
  set,
  at,
  drivers,
  driver,
}: FieldsProps & { drivers: readonly Driver[]; driver: Driver }) {
  const available = drivers.filter((one) => one.available)
  const unavailable = drivers.filter((one) => !one.available && one.reason !== null)
  return (
    <>
      <SelectField
        label="Type"
        value={driver.driver}
        onValue={(picked) => set({ driver: picked, image: '' })}
        options={available.map((one) => [one.driver, driverName(one)] as const)}
        hint={[driver.reason, ...unavailable.map((one) => `${driverName(one)}: ${one.reason}`)]
          .filter(Boolean)
          .join(' ')}
        error={at('driver')}
      />
      {driver.images.length > 0 && (
        <SelectField
          label="Image"
          value={draft.image}
          onValue={(image) => set({ image })}
          options={driver.images.map((one, i) => [i === 0 ? '' : one, one] as const)}
          error={at('image')}
        />
      )}
      <SelectField
        label="Network"
        value={draft.network}
        onValue={(network) => set({ network })}
        options={[
          ['none', 'None'] as const,
          ...(driver.network.includes('internet') ? ([['internet', 'Internet: public addresses only']] as const) : []),
        ]}
      />
    </>
  )
}

function LimitFields({ draft, set, at, isEnforced }: FieldsProps & { isEnforced: boolean }) {
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-3">
        <TextField
          label="Memory in MiB"
          inputMode="numeric"
          placeholder="no limit"
          value={draft.memory}
          onValue={(memory) => set({ memory })}
          error={at('memory_mb')}
        />
        <TextField
          label="CPU cores"
          inputMode="decimal"
          placeholder="no limit"
          value={draft.cpu}
          onValue={(cpu) => set({ cpu })}
          error={at('cpu')}
        />
        <TextField
          label="Disk in MiB"
          inputMode="numeric"
          placeholder="no limit"
          value={draft.disk}
          onValue={(disk) => set({ disk })}
          error={at('disk_mb')}
        />
      </div>
      {!isEnforced && <p className="text-[0.8125rem] text-quiet">This server can’t enforce all of these limits.</p>}
      <SelectField
        label="Stop when idle"
        value={draft.idle}
        onValue={(idle) => set({ idle })}
        options={[
          ['', 'Never'],
          ['900', 'After 15 minutes'],
          ['3600', 'After 1 hour'],
          ['86400', 'After 1 day'],
        ]}
        error={at('idle_stop_seconds')}
      />
    </>
  )
}
