import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Workspace } from '../api.ts'
import { newDraft } from '../developer/keys/key-draft.ts'
import { NewKeyDialog } from '../developer/keys/key-dialogs.tsx'
import { KeyList } from '../developer/keys/key-list.tsx'
import { keysWithinQuery } from '../developer/keys/keys.ts'
import { isManaged, namesQuery, workspacesQuery } from '../session.ts'
import { Button } from '../ui/button.tsx'
import { SelectField } from '../ui/field.tsx'
import { Empty, Failure, Waiting } from '../ui/notice.tsx'
import { Section } from '../ui/page.tsx'
import { Budget } from './budget.tsx'

/** Keys that reach one workspace only, so that what a team's programs spend is capped and counted there. */
export function GatewayKeys() {
  const { data: workspaces, error, refetch } = useQuery(workspacesQuery)
  const [picked, pick] = useState('')
  if (error && !workspaces) return <Failure what="Your workspaces" error={error} again={refetch} />
  if (!workspaces) return <Waiting what="your workspaces" />
  const workspace = workspaces.find(({ id }) => id === picked) ?? workspaces[0]
  if (!workspace) return <Empty title="No workspace">There is no workspace that you could make keys for.</Empty>
  return (
    <>
      {workspaces.length > 1 && (
        <SelectField
          label="Workspace"
          className="mb-8 max-w-sm"
          value={workspace.id}
          onValue={pick}
          options={workspaces.map(({ id, name }) => [id, name] as const)}
        />
      )}
      <KeysOf key={workspace.id} workspace={workspace} />
      <Budget key={`budget ${workspace.id}`} workspace={workspace} />
    </>
  )
}

function KeysOf({ workspace }: { workspace: Workspace }) {
  const { id, name, kind } = workspace
  const manages = kind === 'team' && isManaged(workspace)
  const { data: keys, error, refetch } = useQuery(keysWithinQuery(id))
  const { data: names, isPending: isNaming } = useQuery({ ...namesQuery(id), enabled: manages })
  const [open, setOpen] = useState(false)
  const create = (
    <Button look="primary" icon="plus" onClick={() => setOpen(true)}>
      New gateway key
    </Button>
  )
  return (
    <Section
      title={`Keys of ${name}`}
      about={`${manages ? 'Every key that reaches this workspace only, whosever it is; of others’ keys you may change the cap, and revoke them.' : 'Keys of yours that reach this workspace only.'} The worst case of each call is held against the cap before it is sent, so no cap is ever crossed.`}
      action={keys?.length ? create : undefined}
    >
      {error && !keys ? (
        <Failure what="The keys" error={error} again={refetch} />
      ) : !keys || (manages && isNaming) ? (
        <Waiting what="the keys" />
      ) : keys.length === 0 ? (
        <Empty title="No key yet" action={create}>
          Make one per program of this workspace, each with the cap that you would lend it.
        </Empty>
      ) : (
        <KeyList keys={keys} label={`Keys of ${name}`} showWorkspace={false} names={names} />
      )}
      <NewKeyDialog open={open} onOpen={setOpen} start={() => newDraft('gateway', id)} fixedWorkspace={name} />
    </Section>
  )
}
