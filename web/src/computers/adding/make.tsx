import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type Workspace, uk } from '../../shared/api.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { say } from '../../ui/dialogs/toast.tsx'
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

export function Make({
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
  const available = drivers.filter((one) => one.available)
  const [name, setName] = useState('')
  const [place, setPlace] = useState('')
  const [driverName, setDriver] = useState('')
  const driver = available.find((one) => one.driver === driverName) ?? available[0]
  const [image, setImage] = useState('')
  const [network, setNetwork] = useState<'none' | 'internet'>('none')
  const [memory, setMemory] = useState('1024')
  const [cpu, setCpu] = useState('')
  const [disk, setDisk] = useState('')
  const [idle, setIdle] = useState('')
  const [snapshot, setSnapshot] = useState(from)
  const { data: snapshots = [] } = useQuery({ ...snapshotsQuery, enabled: open })
  const sending = useSend(uk.cloud_computers.create, async () => {
    await refreshComputers()
    say(`Creating ${name}`)
    setName('')
    onOpen(false)
  })
  if (driver === undefined) return null
  const others = drivers.filter((one) => !one.available && one.reason !== null)
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
      fields={[
        'name',
        'workspace_id',
        'driver',
        'image',
        'cpu',
        'memory_mb',
        'disk_mb',
        'idle_stop_seconds',
        'from_snapshot',
      ]}
      verb="Create computer"
      onSend={() =>
        void sending.send({
          name,
          ...(place !== '' && { workspace_id: place }),
          driver: driver.driver,
          ...(image !== '' && { image }),
          network,
          memory_mb: limit(memory),
          cpu: limit(cpu),
          disk_mb: limit(disk),
          idle_stop_seconds: idle === '' ? null : Number(idle),
          ...(snapshot !== '' && { from_snapshot: snapshot }),
        })
      }
    >
      <TextField label="Name" autoComplete="off" value={name} onValue={setName} error={sending.at('name')} />
      {workspaces.length > 1 && (
        <SelectField
          label="Owner"
          value={place}
          onValue={setPlace}
          options={workspaces.map((one) => [one.kind === 'personal' ? '' : one.id, one.name] as const)}
          error={sending.at('workspace_id')}
        />
      )}
      <SelectField
        label="Type"
        value={driver.driver}
        onValue={(picked) => {
          setDriver(picked)
          setImage('')
        }}
        options={available.map((one) => [one.driver, driverWords[one.driver] ?? one.driver] as const)}
        hint={[driver.reason, ...others.map((one) => `${driverWords[one.driver] ?? one.driver}: ${one.reason}`)]
          .filter(Boolean)
          .join(' ')}
        error={sending.at('driver')}
      />
      {driver.images.length > 0 && (
        <SelectField
          label="Image"
          value={image}
          onValue={setImage}
          options={driver.images.map((one, i) => [i === 0 ? '' : one, one] as const)}
          error={sending.at('image')}
        />
      )}
      <SelectField
        label="Network"
        value={network}
        onValue={setNetwork}
        options={[
          ['none', 'None'] as const,
          ...(driver.network.includes('internet') ? ([['internet', 'Internet: public addresses only']] as const) : []),
        ]}
      />
      <div className="grid gap-4 sm:grid-cols-3">
        <TextField
          label="Memory in MiB"
          inputMode="numeric"
          placeholder="no limit"
          value={memory}
          onValue={setMemory}
          error={sending.at('memory_mb')}
        />
        <TextField
          label="CPU cores"
          inputMode="decimal"
          placeholder="no limit"
          value={cpu}
          onValue={setCpu}
          error={sending.at('cpu')}
        />
        <TextField
          label="Disk in MiB"
          inputMode="numeric"
          placeholder="no limit"
          value={disk}
          onValue={setDisk}
          error={sending.at('disk_mb')}
        />
      </div>
      {!driver.limits_enforced && (
        <p className="text-[0.8125rem] text-quiet">This server can’t enforce all of these limits.</p>
      )}
      <SelectField
        label="Stop when idle"
        value={idle}
        onValue={setIdle}
        options={[
          ['', 'Never'],
          ['900', 'After 15 minutes'],
          ['3600', 'After 1 hour'],
          ['86400', 'After 1 day'],
        ]}
        error={sending.at('idle_stop_seconds')}
      />
      {snapshots.length > 0 && (
        <SelectField
          label="Home folder"
          value={snapshot}
          onValue={setSnapshot}
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
