import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { queryClient, uk } from '../../shared/api.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, useOpen } from '../../ui/dialogs/dialog.tsx'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { Actions } from '../../ui/dialogs/menu.tsx'
import { CheckField, TextField } from '../../ui/field.tsx'
import { Empty, Failure, Refused, Waiting } from '../../ui/notice.tsx'
import { Rows, Section } from '../../ui/page.tsx'
import { useSend } from '../../ui/calls/send.ts'
import type { Computer } from '../queries.ts'

type User = Awaited<ReturnType<typeof uk.computers.users>>['rows'][number]
type UserAction = { type: 'create' } | { type: 'change' | 'delete'; user: User }

const keyOf = (id: string): string[] => ['computer-users', id]
const refresh = (id: string): Promise<void> => queryClient.invalidateQueries({ queryKey: keyOf(id) })
/** Groups other than the user's own. */
const furtherOf = ({ username, groups }: User): string[] => groups.filter((group) => group !== username)
const listIn = (words: string): string[] => words.split(/[,\s]+/).filter(Boolean)

export function Users({ computer: { id } }: { computer: Computer }) {
  const {
    data: users,
    error,
    refetch,
  } = useQuery({
    queryKey: keyOf(id),
    queryFn: async () => (await uk.computers.users({ id, limit: 100 })).rows,
  })
  const { open, on, show, onOpen } = useOpen<UserAction>()
  return (
    <Section
      title="Users"
      about="Accounts of the machine’s operating system. Editing them requires a daemon running as root."
      action={
        <Button look="primary" icon="plus" onClick={() => show({ type: 'create' })}>
          Create user
        </Button>
      }
    >
      {error && !users ? (
        <Failure what="The users" error={error} again={refetch} />
      ) : !users ? (
        <Waiting what="the users" />
      ) : users.length === 0 ? (
        <Empty title="No users yet">System accounts aren’t shown.</Empty>
      ) : (
        <Rows label="Users">
          {users.map((user) => (
            <li key={user.username} className="flex flex-wrap items-center gap-x-6 gap-y-1 px-4 py-3">
              <div className="min-w-0 flex-1 basis-52">
                <p className="font-medium">{user.username}</p>
                <p className="text-[0.8125rem] break-words text-quiet">
                  {user.uid} · {user.home} · {user.shell}
                  {furtherOf(user).length > 0 && ` · in ${furtherOf(user).join(', ')}`}
                </p>
              </div>
              <Actions
                label={`More actions for ${user.username}`}
                actions={[
                  { label: 'Edit', run: () => show({ type: 'change', user }) },
                  { label: 'Delete', run: () => show({ type: 'delete', user }), danger: true },
                ]}
              />
            </li>
          ))}
        </Rows>
      )}
      {on?.type === 'delete' && <Delete key={on.user.username} id={id} user={on.user} open={open} onOpen={onOpen} />}
      {on?.type === 'create' && <Create id={id} open={open} onOpen={onOpen} />}
      {on?.type === 'change' && <Change key={on.user.username} id={id} user={on.user} open={open} onOpen={onOpen} />}
    </Section>
  )
}

interface Props {
  id: string
  open: boolean
  onOpen: (open: boolean) => void
}

function Create({ id, open, onOpen }: Props) {
  const [username, setUsername] = useState('')
  const [shell, setShell] = useState('')
  const [groups, setGroups] = useState('')
  const sending = useSend(uk.computers.create_user, async () => {
    await refresh(id)
    setUsername('')
    onOpen(false)
  })
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title="Create user"
      about="Created with a home folder and no password."
      sending={sending}
      fields={['username', 'shell', 'groups']}
      verb="Create user"
      onSend={() => void sending.send({ id, username, groups: listIn(groups), ...(shell !== '' && { shell }) })}
    >
      <TextField
        label="Name"
        mono
        autoComplete="off"
        value={username}
        onValue={setUsername}
        error={sending.at('username')}
      />
      <TextField
        label="Shell"
        mono
        optional
        placeholder="/bin/bash"
        value={shell}
        onValue={setShell}
        error={sending.at('shell')}
      />
      <TextField
        label="Groups"
        mono
        optional
        hint="Additional groups, separated by commas."
        value={groups}
        onValue={setGroups}
        error={sending.at('groups')}
      />
    </FormDialog>
  )
}

function Change({ id, user, open, onOpen }: Props & { user: User }) {
  const [shell, setShell] = useState(user.shell)
  const [groups, setGroups] = useState(furtherOf(user).join(', '))
  const sending = useSend(uk.computers.update_user, async () => {
    await refresh(id)
    onOpen(false)
  })
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title={`Edit user ${user.username}`}
      sending={sending}
      fields={['shell', 'groups']}
      verb="Save user"
      onSend={() => void sending.send({ id, username: user.username, shell, groups: listIn(groups) })}
    >
      <TextField label="Shell" mono value={shell} onValue={setShell} error={sending.at('shell')} />
      <TextField
        label="Groups"
        mono
        hint="All additional groups, separated by commas."
        value={groups}
        onValue={setGroups}
        error={sending.at('groups')}
      />
    </FormDialog>
  )
}

function Delete({ id, user: { username }, open, onOpen }: Props & { user: User }) {
  const [home, setHome] = useState(false)
  const [force, setForce] = useState(false)
  const sending = useSend(uk.computers.delete_user, async () => {
    await refresh(id)
    onOpen(false)
  })
  return (
    <Dialog
      open={open}
      onOpen={onOpen}
      title={`Delete user ${username}?`}
      footer={
        <>
          <Button onClick={() => onOpen(false)}>Cancel</Button>
          <Button
            look="danger"
            pending={sending.pending}
            onClick={() => void sending.send({ id, username, remove_home: home, force })}
          >
            Delete user
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        <CheckField label="Delete the home folder and mail" checked={home} onChecked={setHome} />
        <CheckField
          label="Stop the user’s programs first"
          hint="Otherwise, the user can’t be deleted while programs are running."
          checked={force}
          onChecked={setForce}
        />
        <Refused>{sending.rest()}</Refused>
      </div>
    </Dialog>
  )
}
