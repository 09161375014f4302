import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Workspace } from '../shared/api.ts'
import { newDraft } from '../shared/keys/key-draft.ts'
import { NewKeyDialog } from '../shared/keys/key-dialogs.tsx'
import { KeyList } from '../shared/keys/key-list.tsx'
import { keysWithinQuery } from '../shared/keys/keys.ts'
import { isManaged, namesQuery, workspacesQuery } from '../shared/session.ts'
import { Button } from '../ui/button.tsx'
import { SelectField } from '../ui/field.tsx'
import { Empty, Failure, Waiting } from '../ui/notice.tsx'
import { Section } from '../ui/page.tsx'
import { Budget } from '../shared/money/budget.tsx'

/** API keys restricted to one workspace, so that a team's programs are capped and counted there. */
export function GatewayKeys() {
  const { data: workspaces, error, refetch } = useQuery(workspacesQuery)
  const [picked, pick] = useState('')
  if (error && !workspaces) return <Failure what="Your workspaces" error={error} again={refetch} />
  if (!workspaces) return <Waiting what="your workspaces" />
  const workspace = workspaces.find(({ id }) => id === picked) ?? workspaces[0]
  if (!workspace) return <Empty title="No workspaces">You can’t create keys in any of your workspaces.</Empty>
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
      Create gateway key
    </Button>
  )
  return (
    <Section
      title={`Keys of ${name}`}
      about={`${manages ? 'All keys restricted to this workspace. You can change other members’ spend caps and revoke their keys.' : 'Your keys restricted to this workspace.'} The maximum cost of each call is reserved before it is sent, so calls can’t exceed a spend cap.`}
      action={keys?.length ? create : undefined}
    >
      {error && !keys ? (
        <Failure what="The keys" error={error} again={refetch} />
      ) : !keys || (manages && isNaming) ? (
        <Waiting what="the keys" />
      ) : keys.length === 0 ? (
        <Empty title="No keys yet" action={create}>
          Create one key per program, each with its own spend cap.
        </Empty>
      ) : (
        <KeyList keys={keys} label={`Keys of ${name}`} showWorkspace={false} names={names} />
      )}
      <NewKeyDialog open={open} onOpen={setOpen} start={() => newDraft('gateway', id)} fixedWorkspace={name} />
    </Section>
  )
}
