import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { type Workspace, queryClient, uk } from '../shared/api.ts'
import { useAccount } from '../shared/session.ts'
import { Button } from '../ui/button.tsx'
import { Confirm, useOpen } from '../ui/dialogs/dialog.tsx'
import { FormDialog } from '../ui/dialogs/form-dialog.tsx'
import type { OpenState } from '../ui/dialogs/dialog-props.ts'
import { NameDialog } from '../ui/dialogs/name-dialog.tsx'
import { say } from '../ui/toast/toast.tsx'
import { SelectField, TextField } from '../ui/field.tsx'
import { Section } from '../ui/page.tsx'
import { useSend } from '../ui/calls/send.ts'
import { type Member, membersQuery, refreshTeam } from './queries.ts'

export function Keep({ workspace }: { workspace: Workspace }) {
  const { id, name, role } = workspace
  const { id: own } = useAccount()
  const navigate = useNavigate()
  const { data: members = [] } = useQuery(membersQuery(id))
  const renaming = useOpen<true>()
  const handing = useOpen<true>()
  const leaving = useOpen<true>()
  const deleting = useOpen<true>()
  const others = members.filter(({ user_id }) => user_id !== own)
  const isLastOwner = role === 'owner' && !others.some((member) => member.role === 'owner')
  const away = async (words: string): Promise<void> => {
    await queryClient.invalidateQueries({ queryKey: ['workspaces'] })
    say(words)
    await navigate({ to: '/workspaces' })
  }
  return (
    <Section
      title="Manage workspace"
      about={
        isLastOwner
          ? 'You’re the only owner. Transfer ownership before you leave, or delete the workspace.'
          : role === 'owner'
            ? 'You own this workspace together with others.'
            : undefined
      }
    >
      <div className="flex flex-wrap gap-2">
        {(role === 'owner' || role === 'admin') && (
          <Button onClick={() => renaming.show(true)}>Rename workspace</Button>
        )}
        {role === 'owner' && others.length > 0 && (
          <Button onClick={() => handing.show(true)}>Transfer ownership</Button>
        )}
        {!isLastOwner && (
          <Button look="danger-plain" icon="out" onClick={() => leaving.show(true)}>
            Leave workspace
          </Button>
        )}
        {role === 'owner' && (
          <Button look="danger-plain" onClick={() => deleting.show(true)}>
            Delete workspace
          </Button>
        )}
      </div>
      <Rename key={`${id} name`} workspace={workspace} open={renaming.open} onOpen={renaming.onOpen} />
      <HandOver key={`${id} owner`} workspace={workspace} others={others} open={handing.open} onOpen={handing.onOpen} />
      <Confirm
        open={leaving.open}
        onOpen={leaving.onOpen}
        title={`Leave workspace ${name}?`}
        verb="Leave workspace"
        run={async () => {
          await uk.members.remove({ id, memberId: own })
          await away(`You left ${name}`)
        }}
      >
        <p>
          You’ll lose access to its chats, files, agents and computers. Anything you created there is kept. To come
          back, you’ll need a new invitation.
        </p>
      </Confirm>
      <Delete
        key={`${id} end`}
        workspace={workspace}
        open={deleting.open}
        onOpen={deleting.onOpen}
        onGone={() => away(`Workspace ${name} deleted`)}
      />
    </Section>
  )
}

interface OfWorkspace extends OpenState {
  workspace: Workspace
}

function Rename({ workspace: { id, name }, ...opened }: OfWorkspace) {
  return (
    <NameDialog
      {...opened}
      title={`Rename workspace ${name}`}
      verb="Rename workspace"
      before={name}
      call={(next) => uk.workspaces.update({ id, name: next })}
      done={() => queryClient.invalidateQueries({ queryKey: ['workspaces'] })}
    />
  )
}

function HandOver({ workspace: { id, name }, others, open, onOpen }: OfWorkspace & { others: readonly Member[] }) {
  const { id: own } = useAccount()
  const [chosen, setChosen] = useState('')
  // If the chosen member left, no other member is preselected.
  const to = chosen === '' ? others[0] : others.find(({ user_id }) => user_id === chosen)
  const sending = useSend(
    async (memberId: string) => {
      await uk.members.update({ id, memberId, role: 'owner', permissions: null })
      await uk.members.update({ id, memberId: own, role: 'admin' })
    },
    async () => {
      onOpen(false)
      say(`${to?.name ?? 'The new owner'} now owns ${name}. You’re an admin.`)
      await refreshTeam(id)
    },
  )
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title={`Transfer ownership of ${name}`}
      about="The new owner gets full control. You stay as an admin."
      sending={sending}
      fields={[]}
      verb="Transfer ownership"
      onSend={() => to && void sending.send(to.user_id)}
    >
      <SelectField
        label="New owner"
        value={to?.user_id ?? ''}
        onValue={setChosen}
        options={[
          ...(to === undefined ? [['', 'Choose a member'] as const] : []),
          ...others.map((member) => [member.user_id, `${member.name}, ${member.email}`] as const),
        ]}
      />
    </FormDialog>
  )
}

function Delete({ workspace: { id, name }, open, onOpen, onGone }: OfWorkspace & { onGone: () => Promise<void> }) {
  const [confirm, setConfirm] = useState('')
  const sending = useSend(uk.workspaces.delete, onGone)
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title={`Delete workspace ${name}?`}
      about="This permanently deletes its chats, files, agents and automations, and revokes its API keys. You can’t undo this."
      sending={sending}
      fields={['confirm']}
      verb="Delete workspace"
      onSend={() => void sending.send({ id, confirm })}
    >
      <TextField
        label="Workspace name"
        hint={
          <>
            Type <strong>{name}</strong> to confirm.
          </>
        }
        autoComplete="off"
        value={confirm}
        onValue={setConfirm}
        error={sending.at('confirm')}
      />
    </FormDialog>
  )
}
