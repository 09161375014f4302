import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { type Workspace, uk } from '../shared/api.ts'
import { settingsQuery } from '../shared/session.ts'
import { FormDialog } from '../ui/dialogs/form-dialog.tsx'
import { SelectField, TextField } from '../ui/field.tsx'
import { useSend } from '../ui/calls/send.ts'
import { refreshAgents } from './queries.ts'
import { type Template, templates } from './templates.ts'

export function NewAgent({
  template,
  workspaces,
  preferred,
  open,
  onOpen,
}: {
  template: Template | null
  workspaces: readonly Workspace[]
  preferred: string | undefined
  open: boolean
  onOpen: (open: boolean) => void
}) {
  const navigate = useNavigate()
  const { data: settings } = useQuery(settingsQuery)
  const [key, setKey] = useState(template?.key ?? '')
  const picked = templates.find((one) => one.key === key) ?? null
  const [name, setName] = useState(template?.name ?? '')
  const [place, setPlace] = useState(
    workspaces.find(({ id }) => id === preferred)?.id ??
      workspaces.find(({ kind }) => kind === 'personal')?.id ??
      workspaces[0]?.id ??
      '',
  )
  const sending = useSend(uk.agents.create, async ({ id }) => {
    void refreshAgents()
    onOpen(false)
    await navigate({ to: '/agents/$id', params: { id } })
  })
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title="Create agent"
      about="You can edit and test the agent on its page."
      sending={sending}
      fields={['name', 'workspace_id']}
      verb="Create agent"
      onSend={() =>
        void sending.send({
          workspace_id: place,
          name,
          ...(picked && {
            description: picked.description,
            system_prompt: picked.system_prompt,
            tools: picked.tools,
          }),
          ...(settings?.default_model && { model: settings.default_model }),
        })
      }
    >
      <TextField label="Name" autoComplete="off" value={name} onValue={setName} error={sending.at('name')} />
      <SelectField
        label="Template"
        value={key}
        onValue={(next) => {
          const before = picked?.name ?? ''
          setKey(next)
          if (name === before) setName(templates.find((one) => one.key === next)?.name ?? '')
        }}
        hint={picked?.description ?? 'Starts without instructions or tools.'}
        options={[['', 'None'], ...templates.map((one) => [one.key, one.name] as const)]}
      />
      {workspaces.length > 1 && (
        <SelectField
          label="Workspace"
          value={place}
          onValue={setPlace}
          options={workspaces.map((one) => [one.id, one.name] as const)}
          error={sending.at('workspace_id')}
        />
      )}
    </FormDialog>
  )
}
