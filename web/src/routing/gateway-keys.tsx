import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ApiKey, Workspace } from '../api.ts'
import { newDraft } from '../developer/key-draft.ts'
import { NewKeyDialog } from '../developer/key-dialogs.tsx'
import { KeyList } from '../developer/key-list.tsx'
import { keysQuery } from '../developer/keys.ts'
import { workspacesQuery } from '../session.ts'
import { Button } from '../ui/button.tsx'
import { SelectField } from '../ui/field.tsx'
import { Empty, Failure, Waiting } from '../ui/notice.tsx'
import { Section } from '../ui/page.tsx'
import { Budget } from './budget.tsx'

/** Keys that reach one workspace and may call models, so that what a team's programs spend is capped and counted there. */
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

const callsModels = ({ scopes }: ApiKey): boolean => scopes.includes('*') || scopes.includes('gateway:run')

function KeysOf({ workspace }: { workspace: Workspace }) {
  const { data, error, refetch } = useQuery(keysQuery)
  const [open, setOpen] = useState(false)
  const keys = data?.filter((key) => key.workspace_id === workspace.id && callsModels(key))
  const create = (
    <Button look="primary" icon="plus" onClick={() => setOpen(true)}>
      New gateway key
    </Button>
  )
  return (
    <Section
      title={`Gateway keys of ${workspace.name}`}
      about="Keys of yours that reach this workspace only. The worst case of each call is held against the cap before it is sent, so no cap is ever crossed."
      action={keys?.length ? create : undefined}
    >
      {error && !keys ? (
        <Failure what="The keys" error={error} again={refetch} />
      ) : !keys ? (
        <Waiting what="the keys" />
      ) : keys.length === 0 ? (
        <Empty title="No gateway key yet" action={create}>
          Make one per program of this workspace, each with the cap that you would lend it.
        </Empty>
      ) : (
        <KeyList keys={keys} label={`Gateway keys of ${workspace.name}`} showWorkspace={false} />
      )}
      <NewKeyDialog
        open={open}
        onOpen={setOpen}
        start={() => newDraft('gateway', workspace.id)}
        fixedWorkspace={workspace.name}
      />
    </Section>
  )
}
