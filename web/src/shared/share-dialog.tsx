import { queryOptions, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { everyRow, queryClient, uk } from './api.ts'
import { Button } from '../ui/button.tsx'
import { Copy } from '../ui/copy.tsx'
import { Dialog } from '../ui/dialogs/dialog.tsx'
import { say } from '../ui/toast/toast.tsx'
import { SelectField, TextField } from '../ui/field.tsx'
import { Failure, Refused, Waiting } from '../ui/notice.tsx'
import { useSend } from '../ui/calls/send.ts'

type Access = 'view' | 'edit'

/** Labels of the access levels, and what to know before sharing. */
const kinds = {
  agent: {
    view: 'Can use',
    edit: 'Can edit',
    about: 'Share with people outside its workspace. The agent acts with the permissions of the person using it.',
  },
  chat: {
    view: 'Can view',
    edit: 'Can edit',
    about:
      'Share with people outside its workspace. Messages count toward the workspace’s spend caps and follow its rules.',
  },
} as const

const sharesQuery = (type: keyof typeof kinds, id: string) =>
  queryOptions({
    queryKey: ['shares', id],
    queryFn: () => everyRow(uk.shares.list({ resource_type: type, resource_id: id, limit: 100 })),
  })
const refreshShares = (id: string): Promise<void> => queryClient.invalidateQueries({ queryKey: ['shares', id] })

export function ShareDialog({
  type,
  id,
  name,
  mayEdit,
  open,
  onOpen,
}: {
  type: keyof typeof kinds
  id: string
  name: string
  mayEdit: boolean
  open: boolean
  onOpen: (open: boolean) => void
}) {
  const { view, edit, about } = kinds[type]
  const accesses = [
    ['view', view],
    ['edit', edit],
  ] as const
  const [email, setEmail] = useState('')
  const [access, setAccess] = useState<Access>('view')
  const [link, setLink] = useState<{ to: string; url: string } | null>(null)
  const sending = useSend(uk.shares.create, async (made) => {
    setLink(made.token === null ? null : { to: email, url: made.url })
    say(made.token === null ? `Shared ${name} with ${email}` : `${email} was invited to ${name}`)
    setEmail('')
    await refreshShares(id)
  })
  return (
    <Dialog
      open={open}
      onOpen={onOpen}
      title={`Share ${name}`}
      about={about}
      footer={<Button onClick={() => onOpen(false)}>Done</Button>}
    >
      <form
        ref={sending.form}
        noValidate
        className="space-y-3"
        onSubmit={(event) => {
          event.preventDefault()
          void sending.send({ resource_type: type, resource_id: id, grantee: { email }, access })
        }}
      >
        <div className="grid gap-3 sm:grid-cols-[minmax(0,1fr)_10rem]">
          <TextField
            label="Email"
            type="email"
            autoComplete="off"
            value={email}
            onValue={setEmail}
            error={sending.at('grantee')}
          />
          <SelectField<Access>
            label="Access"
            value={access}
            onValue={setAccess}
            options={mayEdit ? accesses : [accesses[0]]}
            error={sending.at('access')}
          />
        </div>
        <Refused>{sending.rest('grantee', 'access')}</Refused>
        <Button look="primary" type="submit" pending={sending.pending}>
          Share {type}
        </Button>
      </form>
      {link && (
        <div className="mt-4 border border-line bg-sheet px-4 py-3 text-sm">
          <p>Invitation link for {link.to}, shown only once:</p>
          <p className="my-2 font-mono text-[0.8125rem] break-all select-all">{link.url}</p>
          <Copy text={link.url} label="Copy link" />
        </div>
      )}
      <Shares type={type} id={id} />
    </Dialog>
  )
}

function Shares({ type, id }: { type: keyof typeof kinds; id: string }) {
  const { data: shares, error, refetch } = useQuery(sharesQuery(type, id))
  const revoking = useSend(uk.shares.revoke, () => refreshShares(id))
  return (
    <>
      <h3 className="mt-6 mb-2 text-sm font-medium">Shared with</h3>
      <Refused>{revoking.rest()}</Refused>
      {error && !shares ? (
        <Failure what="The shares" error={error} again={refetch} />
      ) : !shares ? (
        <Waiting what="the shares" rows={1} />
      ) : shares.length === 0 ? (
        <p className="text-sm text-quiet">Not shared outside its workspace yet.</p>
      ) : (
        <ul aria-label="Shared with" className="divide-y divide-line border border-line bg-sheet text-sm">
          {shares.map(({ id: shareId, grantee, access, status }) => {
            const name = grantee.name ?? grantee.email ?? 'a deleted user'
            return (
              <li key={shareId} className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2">
                <span className="min-w-0 flex-1 basis-32 break-words">{name}</span>
                <span className="text-quiet">
                  {kinds[type][access].toLowerCase()}
                  {status === 'pending' && ' · pending'}
                </span>
                <Button look="quiet" onClick={() => void revoking.send({ share_id: shareId })}>
                  Remove<span className="sr-only"> access of {name}</span>
                </Button>
              </li>
            )
          })}
        </ul>
      )}
    </>
  )
}
