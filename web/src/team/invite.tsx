import { useState } from 'react'
import { type Workspace, queryClient, uk } from '../shared/api.ts'
import { Button } from '../ui/button.tsx'
import { Copy } from '../ui/copy.tsx'
import { Dialog } from '../ui/dialogs/dialog.tsx'
import { FormDialog } from '../ui/dialogs/form-dialog.tsx'
import { SelectField, TextField } from '../ui/field.tsx'
import { useSend } from '../ui/calls/send.ts'
import { invitedQuery } from './queries.ts'

const roles = [
  ['viewer', 'Viewer: can read'],
  ['member', 'Member: can create, edit and run'],
  ['admin', 'Admin: can manage members, keys and spend caps'],
] as const
type Role = (typeof roles)[number][0]

/** Invites by email address. The link is shown once and can be passed on in any way. */
export function Invite({ workspace: { id, name } }: { workspace: Workspace }) {
  const [open, setOpen] = useState(false)
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Role>('member')
  const [invited, setInvited] = useState<{ email: string; url: string; mailed: boolean } | null>(null)
  const [shown, setShown] = useState(false)
  const sending = useSend(uk.invitations.create, (made) => {
    setInvited({ email: made.email, url: made.url, mailed: made.token === null })
    setEmail('')
    void queryClient.invalidateQueries({ queryKey: invitedQuery(id).queryKey })
    setOpen(false)
    setShown(true)
  })
  return (
    <>
      <Button look="primary" icon="plus" onClick={() => setOpen(true)}>
        Invite member
      </Button>
      <FormDialog
        open={open}
        onOpen={setOpen}
        title={`Invite member to ${name}`}
        about="Invitations expire after seven days. Inviting an address again replaces its pending invitation."
        sending={sending}
        fields={['email', 'role']}
        verb="Invite member"
        onSend={() => void sending.send({ id, email, role })}
      >
        <TextField
          label="Email"
          type="email"
          autoComplete="off"
          value={email}
          onValue={setEmail}
          error={sending.at('email')}
        />
        <SelectField label="Role" value={role} onValue={setRole} options={roles} error={sending.at('role')} />
      </FormDialog>
      <Dialog
        open={shown}
        onOpen={setShown}
        insistent
        title={`Invitation link for ${invited?.email ?? ''}`}
        about={
          invited?.mailed
            ? 'An invitation email was sent. You can also share this link. It is shown only once.'
            : 'Share this link with the person you invited. It is shown only once.'
        }
        footer={
          <>
            <Copy text={invited?.url ?? ''} label="Copy link" look="primary" />
            <Button onClick={() => setShown(false)}>Done</Button>
          </>
        }
      >
        <p className="rounded-xs border border-line bg-sheet px-3 py-2 font-mono text-sm break-all select-all">
          {invited?.url}
        </p>
      </Dialog>
    </>
  )
}
