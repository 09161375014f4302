import { useState } from 'react'
import { type Workspace, queryClient, uk } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { Copy } from '../ui/copy.tsx'
import { Dialog } from '../ui/dialogs/dialog.tsx'
import { FormDialog } from '../ui/dialogs/form-dialog.tsx'
import { SelectField, TextField } from '../ui/field.tsx'
import { useSend } from '../ui/send.ts'
import { invitedQuery } from './queries.ts'

const roles = [
  ['viewer', 'Viewer: reads'],
  ['member', 'Member: writes and runs'],
  ['admin', 'Admin: manages people, keys and budgets'],
] as const
type Role = (typeof roles)[number][0]

/** Asks somebody in by their address. The link is shown once, to be handed over in any way. */
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
        Invite
      </Button>
      <FormDialog
        open={open}
        onOpen={setOpen}
        title={`Invite to ${name}`}
        about="Good for seven days. Inviting an address again replaces its open invitation."
        sending={sending}
        fields={['email', 'role']}
        verb="Make the invitation"
        onSend={() => void sending.send({ id, email, role })}
      >
        <TextField
          label="E-mail"
          type="email"
          autoComplete="off"
          value={email}
          onValue={setEmail}
          error={sending.at('email')}
        />
        <SelectField label="As" value={role} onValue={setRole} options={roles} error={sending.at('role')} />
      </FormDialog>
      <Dialog
        open={shown}
        onOpen={setShown}
        insistent
        title={`A link for ${invited?.email ?? ''}`}
        about={
          invited?.mailed
            ? 'A mail is on its way to them. This link does the same, should it not arrive; it is shown this once.'
            : 'Hand it over: it says who invites into what, and lets them in. It is shown this once.'
        }
        footer={
          <>
            <Copy text={invited?.url ?? ''} label="Copy the link" look="primary" />
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
