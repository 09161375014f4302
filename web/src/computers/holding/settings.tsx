import { useQuery } from '@tanstack/react-query'
import { uk } from '../../shared/api.ts'
import { useAccount, workspacesQuery } from '../../shared/session.ts'
import { Button } from '../../ui/button.tsx'
import { useChanged } from '../../ui/typing/changed.ts'
import { Facts } from '../../ui/facts.tsx'
import { TextField } from '../../ui/field.tsx'
import { Refused } from '../../ui/notice.tsx'
import { Section, Tag } from '../../ui/page.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { say } from '../../ui/toast/toast.tsx'
import { UnsavedWords } from '../../ui/dialogs/unsaved.tsx'
import { moment } from '../../ui/text/format.ts'
import { type Computer, probeQuery, refreshComputers } from '../queries.ts'
import { LastSeen, State } from '../state.tsx'
import { capabilityWords, size, systemOf } from '../words.ts'
import { Delete } from './delete.tsx'
import { useManages, useOwns } from './grants.tsx'
import { Snapshots } from './snapshots.tsx'
import { Transfer } from './transfer.tsx'

export function Settings({ computer }: { computer: Computer }) {
  const manages = useManages(computer)
  const owns = useOwns(computer)
  return (
    <>
      <About computer={computer} />
      {computer.kind === 'cloud' && <Snapshots computer={computer} manages={manages} />}
      {manages && <Name computer={computer} />}
      {manages && <Credential computer={computer} />}
      {owns && <Transfer computer={computer} />}
      {owns && <Delete computer={computer} />}
    </>
  )
}

function About({ computer }: { computer: Computer }) {
  const { data: probe } = useQuery(probeQuery(computer))
  const { data: workspaces } = useQuery(workspacesQuery)
  const { owner, allows, limits, kind, driver, image, hostname, daemon_version, created_at } = computer
  const { id: me } = useAccount()
  const here = computer.connection === 'online' ? probe : null
  return (
    <Section title="Details">
      <Facts
        facts={[
          [
            'Status',
            <>
              <State computer={computer} /> <LastSeen computer={computer} />
            </>,
          ],
          ['Reason', computer.lifecycle_reason],
          [
            'Owner',
            owner.type === 'workspace'
              ? (workspaces?.find((one) => one.id === owner.id)?.name ?? 'a workspace')
              : owner.id === me
                ? 'you'
                : 'another user',
          ],
          ['System', systemOf(computer)],
          ['Host name', hostname],
          ['Daemon', daemon_version],
          ['Driver', kind === 'cloud' && [driver, image].filter(Boolean).join(', ')],
          [
            'Limits',
            limits &&
              ([
                limits.cpu !== null && `${limits.cpu} cores`,
                limits.memory_mb !== null && size(limits.memory_mb * 1_048_576),
                limits.processes !== null && `${limits.processes} processes`,
                limits.disk_mb !== null && `${size(limits.disk_mb * 1_048_576)} of disk`,
                !limits.enforced && 'not all enforced on this server',
              ]
                .filter(Boolean)
                .join(' · ') ||
                'none'),
          ],
          [
            'Allowed on the machine',
            <span className="flex flex-wrap gap-1">
              {allows.map((one) => (
                <Tag key={one}>{capabilityWords[one].label}</Tag>
              ))}
            </span>,
          ],
          ['Load', here && here.load.toFixed(2)],
          ['Memory', here && `${size(here.memory_free_bytes)} of ${size(here.memory_bytes)} free`],
          [
            'Disk (home folder)',
            here &&
              here.disk_free_bytes !== null &&
              here.disk_bytes !== null &&
              `${size(here.disk_free_bytes)} of ${size(here.disk_bytes)} free`,
          ],
          ['Latency', here && `${here.round_trip_ms.toFixed(1)} ms`],
          ['Added', moment(created_at)],
        ]}
      />
    </Section>
  )
}

function Name({ computer: { id, name } }: { computer: Computer }) {
  const [words, setWords, adopt] = useChanged(name)
  const sending = useSend(uk.computers.update, async () => {
    await refreshComputers()
    adopt()
    say('Computer renamed')
  })
  return (
    <Section title="Name">
      <form
        ref={sending.form}
        noValidate
        className="flex max-w-lg flex-wrap items-end gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          void sending.send({ id, name: words })
        }}
      >
        <TextField
          label="Name"
          className="flex-1 basis-52"
          autoComplete="off"
          value={words}
          onValue={setWords}
          error={sending.at('name')}
        />
        <Button type="submit" pending={sending.pending} disabled={words === name}>
          Rename computer
        </Button>
      </form>
      <UnsavedWords box={sending.form} />
      <Refused>{sending.rest('name')}</Refused>
    </Section>
  )
}

function Credential({ computer: { id, connection, name } }: { computer: Computer }) {
  const sending = useSend(uk.computers.rotate_credential, () => say(`Rotated the credential of ${name}`))
  const online = connection === 'online'
  return (
    <Section
      title="Credential"
      about={
        online
          ? 'Sends a new credential to the machine. The old one stays valid for one minute.'
          : 'Sends a new credential to the machine, which must be connected.'
      }
      action={
        <Button disabled={!online} pending={sending.pending} onClick={() => void sending.send({ id })}>
          Rotate credential
        </Button>
      }
    >
      <Refused>{sending.rest()}</Refused>
    </Section>
  )
}
