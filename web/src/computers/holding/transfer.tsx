import { useQueries, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { uk } from '../../shared/api.ts'
import { namesQuery, useAccount, workspacesQuery } from '../../shared/session.ts'
import { Button } from '../../ui/button.tsx'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { say } from '../../ui/toast/toast.tsx'
import { SelectField } from '../../ui/field.tsx'
import { Section } from '../../ui/page.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { type Computer, refreshComputers } from '../queries.ts'

const about =
  'All shared access ends immediately, including yours unless you’re a member of the new owner’s workspace. Local model mappings are removed.'

export function Transfer({ computer: { id, name, owner } }: { computer: Computer }) {
  const [open, setOpen] = useState(false)
  const [picked, setPicked] = useState('')
  const { id: me } = useAccount()
  const navigate = useNavigate()
  const { data: workspaces = [] } = useQuery(workspacesQuery)
  const teams = workspaces.filter(({ kind }) => kind === 'team')
  const people = useQueries({
    queries: teams.map((one) => ({ ...namesQuery(one.id), retry: false, enabled: open })),
    combine: (answers) => new Map(answers.flatMap(({ data }) => [...(data ?? [])])),
  })
  const receivers = [
    ...(owner.id === me ? [] : [[`user:${me}`, 'Yourself'] as const]),
    ...teams
      .filter((one) => one.id !== owner.id && one.role !== 'viewer')
      .map((one) => [`workspace:${one.id}`, `${one.name} (workspace)`] as const),
    ...[...people].filter(([user]) => user !== me).map(([user, called]) => [`user:${user}`, called] as const),
  ]
  const [kind, to] = (picked || receivers[0]?.[0] || '').split(':')
  const sending = useSend(uk.computers.transfer, async () => {
    const called = receivers.find(([value]) => value === `${kind}:${to}`)?.[1]
    await navigate({ to: '/computers' })
    await refreshComputers()
    say(`Transferred ${name}${called ? `: ${called}` : ''}`)
  })
  if (teams.length === 0) return null
  return (
    <Section
      title="Transfer ownership"
      about={about}
      action={<Button onClick={() => setOpen(true)}>Transfer {name}</Button>}
    >
      <FormDialog
        open={open}
        onOpen={setOpen}
        title={`Transfer ownership of ${name}?`}
        about={about}
        sending={sending}
        fields={['user_id', 'workspace_id']}
        verb="Transfer ownership"
        onSend={() => {
          if (to !== undefined) void sending.send({ id, ...(kind === 'user' ? { user_id: to } : { workspace_id: to }) })
        }}
      >
        <SelectField
          label="New owner"
          value={`${kind}:${to}`}
          onValue={setPicked}
          options={receivers}
          hint="Workspaces you can edit, and people who share a workspace with you."
          error={sending.at('user_id') ?? sending.at('workspace_id')}
        />
      </FormDialog>
    </Section>
  )
}
