import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { queryClient, uk } from '../../shared/api.ts'
import { visible } from '../../ui/text/visible.ts'
import { workspacesQuery } from '../../shared/session.ts'
import { Button } from '../../ui/button.tsx'
import { Copy } from '../../ui/copy.tsx'
import { Dialog } from '../../ui/dialogs/dialog.tsx'
import { say } from '../../ui/toast/toast.tsx'
import { Field, SelectField, TextField } from '../../ui/field.tsx'
import { Failure, Refused } from '../../ui/notice.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { type Share, sharesQuery } from '../queries.ts'
import type { DriveFile } from '../../shared/drive/files.ts'
import { SignedLink } from './signed-link.tsx'

const rights = [
  ['view', 'can view'],
  ['edit', 'can edit'],
] as const
type Access = (typeof rights)[number][0]

export function ShareDialog({
  file,
  open,
  onOpen,
}: {
  file: DriveFile
  open: boolean
  onOpen: (open: boolean) => void
}) {
  const type = file.kind
  const { data: shares, error, refetch } = useQuery({ ...sharesQuery(type, file.id), enabled: open })
  return (
    <Dialog
      open={open}
      onOpen={onOpen}
      title={`Share “${visible(file.name)}”`}
      about={
        type === 'folder'
          ? 'Members of its workspace already have access. Sharing a folder includes everything in it, also files added later.'
          : 'Members of its workspace already have access.'
      }
      footer={<Button onClick={() => onOpen(false)}>Done</Button>}
    >
      <div className="space-y-6">
        <Give file={file} />
        <section>
          <h3 className="mb-1 text-sm font-medium">Shared with</h3>
          {error && !shares ? (
            <Failure what="The list" error={error} again={refetch} />
          ) : shares?.length === 0 ? (
            <p className="text-sm text-quiet">Not shared outside its workspace yet.</p>
          ) : (
            <ul aria-label="Shared with" className="divide-y divide-line border border-line bg-sheet">
              {shares?.map((share) => (
                <Given key={share.id} share={share} />
              ))}
            </ul>
          )}
        </section>
        {type === 'file' && <SignedLink file={file} />}
      </div>
    </Dialog>
  )
}

const again = (id: string): Promise<void> => queryClient.invalidateQueries({ queryKey: ['drive', 'shares', id] })

function Give({ file }: { file: DriveFile }) {
  const { data: workspaces = [] } = useQuery(workspacesQuery)
  const others = workspaces.filter(({ id, kind }) => id !== file.workspace_id && kind === 'team')
  const [email, setEmail] = useState('')
  const [workspace, setWorkspace] = useState('')
  const [access, setAccess] = useState<Access>('view')
  const [made, setMade] = useState<{ url: string; to: string; mailed: boolean } | null>(null)
  const sending = useSend(uk.shares.create, ({ url, token, grantee, status }) => {
    setMade({ url, to: grantee.name ?? grantee.email ?? 'them', mailed: status === 'pending' && token === null })
    setEmail('')
    setWorkspace('')
    void again(file.id)
  })
  const grantee = workspace === '' ? { email: email.trim() } : { workspace_id: workspace }
  return (
    <form
      ref={sending.form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        setMade(null)
        void sending.send({ resource_type: file.kind, resource_id: file.id, grantee, access })
      }}
    >
      <div className="flex flex-wrap items-end gap-3">
        <TextField
          label="Email"
          type="email"
          autoComplete="off"
          className="flex-1 basis-52"
          disabled={workspace !== ''}
          value={email}
          onValue={setEmail}
          error={sending.at('grantee') ?? sending.at('email')}
        />
        <SelectField label="Access" value={access} onValue={setAccess} options={rights} />
        <Button type="submit" look="primary" pending={sending.pending} className="h-[2.375rem]!">
          Share {file.kind}
        </Button>
      </div>
      {others.length > 0 && (
        <Field label="Or share with everyone in a workspace" className="mt-3 max-w-xs">
          {(control) => (
            <select {...control} value={workspace} onChange={({ target }) => setWorkspace(target.value)}>
              <option value="">—</option>
              {others.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
          )}
        </Field>
      )}
      <div className="mt-2 empty:hidden">
        <Refused>{sending.rest('grantee', 'email')}</Refused>
      </div>
      {made && (
        <div
          role="status"
          className="mt-3 flex flex-wrap items-center gap-2 border border-moss/40 bg-sheet px-3 py-2 text-sm"
        >
          <p className="min-w-0 flex-1 basis-52">
            Shared with {visible(made.to)}. {made.mailed ? 'An email was sent.' : 'Send them this link.'}
          </p>
          <Copy text={made.url} label="Copy link" />
        </div>
      )}
    </form>
  )
}

function Given({ share }: { share: Share }) {
  const { id, resource_id, grantee, access, status } = share
  const name = grantee.name ?? grantee.email ?? 'a deleted user'
  const change = useSend(uk.shares.update, () => again(resource_id))
  const revoke = useSend(uk.shares.revoke, () => {
    say(`Removed access of ${name}`)
    void again(resource_id)
  })
  return (
    <li className="flex flex-wrap items-center gap-2 px-3 py-2 text-sm">
      <p className="min-w-0 flex-1 basis-40 truncate">
        {visible(name)}
        {grantee.workspace_id !== null && <span className="text-quiet"> (everyone)</span>}
        {grantee.name !== null && grantee.email !== null && <span className="text-quiet"> {grantee.email}</span>}
        {status === 'pending' && <span className="text-ochre"> pending</span>}
      </p>
      <select
        aria-label={`Access of ${name}`}
        className="field w-auto! min-h-0! py-1! text-sm!"
        value={access}
        onChange={({ target }) => void change.send({ share_id: id, access: target.value as Access })}
      >
        {rights.map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
      <Button look="quiet" pending={revoke.pending} onClick={() => void revoke.send({ share_id: id })}>
        Remove access
      </Button>
      <Refused>{change.rest() ?? revoke.rest()}</Refused>
    </li>
  )
}
