import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { type Workspace, queryClient, uk } from '../shared/api.ts'
import { sayError } from '../ui/calls/errors.ts'
import { type Place, usePlacesFor } from '../shared/rights.ts'
import { Button } from '../ui/button.tsx'
import { FormDialog } from '../ui/dialogs/form-dialog.tsx'
import { type Action, Actions } from '../ui/dialogs/menu.tsx'
import { say, sayUndo } from '../ui/toast/toast.tsx'
import { ShareDialog } from '../shared/share-dialog.tsx'
import { SelectField } from '../ui/field.tsx'
import { useSend } from '../ui/calls/send.ts'
import { refreshAgents } from './queries.ts'
import type { Agent } from '../shared/agents/queries.ts'

export function AgentActions({ agent, place }: { agent: Agent; place: Place }) {
  const { id, name, status } = agent
  const navigate = useNavigate()
  const targets = usePlacesFor('agent:write')
  const [sharing, setSharing] = useState(false)
  const [copying, setCopying] = useState(false)
  const act = async (what: () => Promise<unknown>, words: string): Promise<void> => {
    try {
      await what()
      say(words)
    } catch (error) {
      say(sayError(error))
    }
    await refreshAgents()
  }
  const remove = async (): Promise<void> => {
    try {
      await uk.agents.trash({ id })
    } catch (error) {
      return say(sayError(error))
    }
    await navigate({ to: '/agents' })
    void refreshAgents()
    sayUndo(`Moved ${name} to the trash for 30 days`, () => act(() => uk.agents.restore({ id }), `Restored ${name}`))
  }
  const writes = place.may('agent:write')
  const actions: Action[] = [
    ...(targets.length > 0 ? [{ label: 'Copy …', run: () => setCopying(true) }] : []),
    ...(writes && status === 'active'
      ? [{ label: 'Archive', run: () => void act(() => uk.agents.archive({ id }), `Archived ${name}`) }]
      : []),
    ...(writes && status !== 'trashed' ? [{ label: 'Delete', danger: true, run: () => void remove() }] : []),
  ]
  return (
    <div className="flex flex-wrap items-center gap-2">
      {writes && status === 'archived' && (
        <Button onClick={() => void act(() => uk.agents.unarchive({ id }), `Unarchived ${name}`)}>Unarchive</Button>
      )}
      {writes && status === 'trashed' && (
        <Button onClick={() => void act(() => uk.agents.restore({ id }), `Restored ${name}`)}>Restore</Button>
      )}
      {place.may('share:write') && status === 'active' && <Button onClick={() => setSharing(true)}>Share</Button>}
      {actions.length > 0 && <Actions label={`More actions for ${name}`} actions={actions} />}
      {sharing && <ShareDialog type="agent" id={id} name={name} mayEdit={writes} open={sharing} onOpen={setSharing} />}
      {copying && <CopyDialog agent={agent} targets={targets} onOpen={setCopying} />}
    </div>
  )
}

function CopyDialog({
  agent: { id, name, workspace_id },
  targets,
  onOpen,
}: {
  agent: Agent
  targets: readonly Workspace[]
  onOpen: (open: boolean) => void
}) {
  const navigate = useNavigate()
  const [to, setTo] = useState(targets.find((one) => one.id === workspace_id)?.id ?? targets[0]!.id)
  const sending = useSend(uk.agents.copy_to_workspace, async (copy) => {
    onOpen(false)
    await queryClient.invalidateQueries({ queryKey: ['agents'] })
    say(`Copied ${name}`)
    await navigate({ to: '/agents/$id', params: { id: copy.id } })
  })
  return (
    <FormDialog
      open
      onOpen={onOpen}
      title={`Copy agent ${name}`}
      about="The copy is independent and starts without a version history. API keys of MCP servers aren’t copied."
      sending={sending}
      fields={['workspace_id']}
      verb="Copy agent"
      onSend={() => void sending.send({ id, workspace_id: to })}
    >
      <SelectField
        label="Workspace"
        value={to}
        onValue={setTo}
        options={targets.map((one) => [one.id, one.name] as const)}
        error={sending.at('workspace_id')}
      />
    </FormDialog>
  )
}
