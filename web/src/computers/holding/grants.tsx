import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { uk } from '../../shared/api.ts'
import { isManaged, namesQuery, useAccount, workspacesQuery } from '../../shared/session.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm, useOpen } from '../../ui/dialogs/dialog.tsx'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { Actions } from '../../ui/dialogs/menu.tsx'
import { CheckField, SelectField } from '../../ui/field.tsx'
import { Empty } from '../../ui/notice.tsx'
import { Rows, Section, Tag } from '../../ui/page.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { Ago } from '../../ui/text/time.tsx'
import { type Capability, type Computer, refreshComputers } from '../queries.ts'
import { capabilities, capabilityWords } from '../words.ts'

type Exposure = Computer['exposures'][number]

export function useManages({ owner }: Computer): boolean {
  const { id } = useAccount()
  const { data: workspaces } = useQuery(workspacesQuery)
  if (owner.type === 'account') return owner.id === id
  const workspace = workspaces?.find((one) => one.id === owner.id)
  return workspace !== undefined && isManaged(workspace)
}

/** Whether this person can delete or transfer a computer: its owner, or an owner of its workspace. */
export function useOwns({ owner }: Computer): boolean {
  const { id } = useAccount()
  const { data: workspaces } = useQuery(workspacesQuery)
  return owner.type === 'account' ? owner.id === id : workspaces?.find((one) => one.id === owner.id)?.role === 'owner'
}

export function Grants({ computer }: { computer: Computer }) {
  const { id, name, exposures, allows } = computer
  const manages = useManages(computer)
  const { data: workspaces = [] } = useQuery(workspacesQuery)
  const { open, on, show, onOpen } = useOpen<{ action: 'add' } | { action: 'edit' | 'remove'; exposure: Exposure }>()
  const nameOf = (workspaceId: string): string =>
    workspaces.find((one) => one.id === workspaceId)?.name ?? 'another workspace'
  const free = workspaces.filter(
    (one) =>
      one.kind === 'team' &&
      one.id !== computer.owner.id &&
      !exposures.some(({ workspace_id }) => workspace_id === one.id),
  )
  return (
    <>
      <Section
        title="Shared with"
        about="Members of these workspaces, their agents and automations get the permissions listed. “Commands” gives full access to the machine’s account. Removing access takes effect within five seconds."
        action={
          manages &&
          free.length > 0 && (
            <Button look="primary" icon="plus" onClick={() => show({ action: 'add' })}>
              Share computer
            </Button>
          )
        }
      >
        {exposures.length === 0 ? (
          <Empty title="Not shared yet">
            {manages
              ? free.length > 0
                ? 'Share it with a workspace and choose what its members can do.'
                : 'You’re not a member of another workspace to share it with.'
              : 'Only its owner can use it.'}
          </Empty>
        ) : (
          <Rows label="Workspaces with access">
            {exposures.map((exposure) => (
              <Grant
                key={exposure.workspace_id}
                exposure={exposure}
                name={nameOf(exposure.workspace_id)}
                allows={allows}
                onEdit={manages ? () => show({ action: 'edit', exposure }) : null}
                onRemove={() => show({ action: 'remove', exposure })}
              />
            ))}
          </Rows>
        )}
      </Section>
      {on?.action === 'remove' && (
        <Confirm
          open={open}
          onOpen={onOpen}
          title={`Remove access of ${nameOf(on.exposure.workspace_id)}?`}
          verb="Remove access"
          run={async () => {
            await uk.computers.withdraw({ id, workspace_id: on.exposure.workspace_id })
            await refreshComputers()
          }}
        >
          Its members’ terminals, commands and streams on {name} end within five seconds.
        </Confirm>
      )}
      {on?.action === 'add' && (
        <ShareComputer
          computer={computer}
          before={null}
          places={free.map((one) => [one.id, one.name] as const)}
          open={open}
          onOpen={onOpen}
        />
      )}
      {on?.action === 'edit' && (
        <ShareComputer
          key={on.exposure.workspace_id}
          computer={computer}
          before={on.exposure}
          places={[[on.exposure.workspace_id, nameOf(on.exposure.workspace_id)]]}
          open={open}
          onOpen={onOpen}
        />
      )}
    </>
  )
}

function Grant({
  exposure,
  name,
  allows,
  onEdit,
  onRemove,
}: {
  exposure: Exposure
  name: string
  allows: readonly Capability[]
  /** Null: the person doesn't manage this computer. */
  onEdit: (() => void) | null
  onRemove: () => void
}) {
  return (
    <li className="flex flex-wrap items-center gap-x-6 gap-y-2 px-4 py-3">
      <div className="min-w-0 flex-1 basis-60">
        <p className="font-medium break-words">{name}</p>
        <Who workspaceId={exposure.workspace_id} />
        <p className="text-[0.8125rem] text-quiet">
          since <Ago time={exposure.created_at} />
        </p>
      </div>
      <p className="flex flex-wrap gap-1">
        {exposure.capabilities.map((one) => (
          <Tag key={one} tone={allows.includes(one) ? 'ai' : 'plain'}>
            {capabilityWords[one].label}
            {!allows.includes(one) && ', not allowed by the machine'}
          </Tag>
        ))}
      </p>
      {onEdit && (
        <Actions
          label={`More actions for ${name}`}
          actions={[
            { label: 'Edit', run: onEdit },
            { label: 'Remove access', run: onRemove, danger: true },
          ]}
        />
      )}
    </li>
  )
}

const MAX_NAMES = 6

function Who({ workspaceId }: { workspaceId: string }) {
  const { data: names } = useQuery({ ...namesQuery(workspaceId), retry: false })
  if (!names) return null
  const all = [...names.values()]
  const more = all.length - MAX_NAMES
  return (
    <p className="text-[0.8125rem] break-words text-quiet">
      {all.slice(0, MAX_NAMES).join(', ')}
      {more > 0 && ` and ${more} more`}
    </p>
  )
}

function ShareComputer({
  computer: { id, name, allows },
  before,
  places,
  open,
  onOpen,
}: {
  computer: Computer
  before: Exposure | null
  places: readonly (readonly [id: string, name: string])[]
  open: boolean
  onOpen: (open: boolean) => void
}) {
  const [place, setPlace] = useState(places[0]?.[0] ?? '')
  const [chosen, setChosen] = useState<readonly Capability[]>(before?.capabilities ?? [])
  const sending = useSend(before === null ? uk.computers.expose : uk.computers.change_exposure, async () => {
    await refreshComputers()
    onOpen(false)
  })
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title={before === null ? `Share ${name}` : `Permissions of ${places[0]?.[1]} on ${name}`}
      sending={sending}
      fields={['workspace_id']}
      verb={before === null ? 'Share computer' : 'Save permissions'}
      onSend={() => void sending.send({ id, workspace_id: place, capabilities: [...chosen] })}
    >
      {before === null && (
        <SelectField
          label="Workspace"
          value={place}
          onValue={setPlace}
          options={places}
          error={sending.at('workspace_id')}
        />
      )}
      <fieldset className="space-y-3">
        <legend className="mb-2 text-sm font-medium">Permissions</legend>
        {capabilities.map((one) => (
          <CheckField
            key={one}
            label={capabilityWords[one].label}
            hint={
              allows.includes(one)
                ? capabilityWords[one].about
                : `${capabilityWords[one].about} Currently not allowed on the machine.`
            }
            checked={chosen.includes(one)}
            onChecked={(on) => setChosen(on ? [...chosen, one] : chosen.filter((other) => other !== one))}
          />
        ))}
      </fieldset>
    </FormDialog>
  )
}
