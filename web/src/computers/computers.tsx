import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { isManaged, useAccount, workspacesQuery } from '../shared/session.ts'
import { Button } from '../ui/button.tsx'
import { Empty, Failure, Waiting } from '../ui/notice.tsx'
import { Page, Rows, Section, Tag } from '../ui/page.tsx'
import { CreateComputer } from './adding/create-computer.tsx'
import { Pair } from './adding/pair.tsx'
import { Left } from './holding/snapshots.tsx'
import { type Computer, type Driver, computersQuery, driversQuery, probeQuery } from './queries.ts'
import { LastSeen, State } from './state.tsx'
import { capabilityWords, size, systemOf } from './words.ts'

export function Computers() {
  const { data: computers, error, refetch } = useQuery(computersQuery)
  const { data: workspaces } = useQuery(workspacesQuery)
  const { data: drivers } = useQuery(driversQuery)
  const [adding, setAdding] = useState<'pair' | 'make' | null>(null)
  const makes = drivers?.some(({ available }) => available) ?? false
  const actions = (
    <div className="flex flex-wrap gap-2">
      {makes && <Button onClick={() => setAdding('make')}>Create cloud computer</Button>}
      <Button look="primary" icon="plus" onClick={() => setAdding('pair')}>
        Connect computer
      </Button>
    </div>
  )
  return (
    <Page
      title="Computers"
      lead="Use terminals, files, ports and local models on your own computers and on cloud computers."
      action={actions}
    >
      {error && !computers ? (
        <Failure what="Your computers" error={error} again={refetch} />
      ) : !computers ? (
        <Waiting what="your computers" />
      ) : computers.length === 0 ? (
        <NoComputer drivers={drivers} />
      ) : (
        <Lists computers={computers} />
      )}
      {computers && <Left computers={computers} />}
      <Pair open={adding === 'pair'} onOpen={(open) => setAdding(open ? 'pair' : null)} />
      {makes && workspaces && (
        <CreateComputer
          drivers={drivers ?? []}
          workspaces={workspaces.filter((one) => one.kind === 'personal' || isManaged(one) || one.role === 'member')}
          open={adding === 'make'}
          onOpen={(open) => setAdding(open ? 'make' : null)}
        />
      )}
    </Page>
  )
}

function NoComputer({ drivers }: { drivers: readonly Driver[] | undefined }) {
  const makes = drivers?.some(({ available }) => available)
  const reasons = drivers?.map(({ reason }) => reason).filter(Boolean)
  return (
    <Section title="No computers yet">
      <Empty title="Connect your own computer">
        A daemon on your computer connects to this server, without open ports. You decide what it allows.
        {makes
          ? ' Or create a cloud computer, an isolated sandbox.'
          : makes === false &&
            ` Cloud computers aren’t available on this instance. ${reasons?.join(' ') || 'UK_COMPUTER_DRIVERS is off.'}`}
      </Empty>
    </Section>
  )
}

function Lists({ computers }: { computers: readonly Computer[] }) {
  const { id } = useAccount()
  const isOwn = ({ owner }: Computer): boolean => owner.type === 'account' && owner.id === id
  const mine = computers.filter(isOwn)
  const others = computers.filter((one) => !isOwn(one))
  return (
    <>
      {mine.length > 0 && (
        <Section title="Your computers">
          <List label="Your computers" computers={mine} />
        </Section>
      )}
      {others.length > 0 && (
        <Section title="Workspace computers" about="Owned by one of your workspaces, or shared with one.">
          <List label="Workspace computers" computers={others} />
        </Section>
      )}
    </>
  )
}

const List = ({ label, computers }: { label: string; computers: readonly Computer[] }) => (
  <Rows label={label}>
    {computers.map((computer) => (
      <Row key={computer.id} computer={computer} />
    ))}
  </Rows>
)

function Row({ computer }: { computer: Computer }) {
  const { data: probe } = useQuery(probeQuery(computer))
  const { data: workspaces } = useQuery(workspacesQuery)
  const { id, name, kind, lifecycle, lifecycle_reason, my_capabilities, exposures, owner } = computer
  const nameOf = (workspaceId: string) => workspaces?.find((one) => one.id === workspaceId)?.name
  const lentTo = exposures.map(({ workspace_id }) => nameOf(workspace_id)).filter(Boolean)
  const facts = [
    systemOf(computer),
    kind === 'cloud' ? 'cloud computer' : null,
    owner.type === 'workspace' ? nameOf(owner.id) && `owned by ${nameOf(owner.id)}` : null,
    lentTo.length > 0 && `shared with ${lentTo.join(', ')}`,
    lifecycle === 'error' && lifecycle_reason,
  ].filter(Boolean)
  return (
    <li className="flex flex-wrap items-center gap-x-6 gap-y-2 px-4 py-3.5">
      <div className="min-w-0 flex-1 basis-64">
        <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <Link to="/computers/$id" params={{ id }} className="link font-medium break-words">
            {name}
          </Link>
          <State computer={computer} />
          <span className="text-[0.8125rem] text-quiet">
            <LastSeen computer={computer} />
          </span>
        </p>
        <p className="mt-0.5 text-[0.8125rem] break-words text-quiet">{facts.join(' · ')}</p>
      </div>
      {probe && computer.connection === 'online' && (
        <p className="figures text-[0.8125rem] text-quiet">
          load {probe.load.toFixed(1)} · {size(probe.memory_bytes - probe.memory_free_bytes)} of{' '}
          {size(probe.memory_bytes)} in use
        </p>
      )}
      <p className="flex max-w-xs flex-wrap gap-1" aria-label={`Your permissions on ${name}`}>
        {my_capabilities.length === 0 ? (
          <span className="text-[0.8125rem] text-quiet">View only</span>
        ) : (
          my_capabilities.map((one) => <Tag key={one}>{capabilityWords[one].label}</Tag>)
        )}
      </p>
    </li>
  )
}
