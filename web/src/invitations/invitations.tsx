import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { queryClient, uk } from '../shared/api.ts'
import { Button } from '../ui/button.tsx'
import { Empty, Failure, Refused, Waiting } from '../ui/notice.tsx'
import { Page, Rows, Section } from '../ui/page.tsx'
import { SectionForm } from '../ui/dialogs/section-form.tsx'
import { useSend } from '../ui/calls/send.ts'
import { Ago } from '../ui/text/time.tsx'
import { say } from '../ui/toast/toast.tsx'
import { receivedQuery } from '../shared/invitations/queries.ts'
import { dropToken, keptToken } from '../shared/invitations/token.ts'
import { TokenField } from '../shared/invitations/token-field.tsx'

async function settled(): Promise<void> {
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: ['invitations'] }),
    queryClient.invalidateQueries({ queryKey: ['workspaces'] }),
    // Accepting by a token that came by mail verifies the address.
    queryClient.invalidateQueries({ queryKey: ['session'] }),
  ])
}

export function Invitations() {
  return (
    <Page title="Invitations" lead="Invitations to workspaces, and to resources shared with you.">
      <ByToken />
      <Received />
    </Page>
  )
}

function ByToken() {
  const [token, setToken] = useState(keptToken() ?? '')
  const [accepted, setAccepted] = useState(false)
  const accepting = useSend(uk.invitations.accept, async () => {
    dropToken()
    setToken('')
    setAccepted(true)
    say('Invitation accepted')
    await settled()
  })
  const { send, pending, at, rest } = accepting
  return (
    <Section title="Accept with a token" about="Filled in when you follow the link in an invitation email. Works once.">
      <SectionForm sending={accepting} onSend={() => void send({ token: token.trim() })}>
        <div className="flex flex-wrap items-start gap-4">
          <TokenField value={token} onValue={setToken} error={at('token')} />
          <Button type="submit" look="primary" pending={pending} className="mt-6 h-[2.375rem]!">
            Accept invitation
          </Button>
        </div>
        <div className="mt-2 empty:hidden">
          <Refused>{rest('token')}</Refused>
          {accepted && <p className="text-sm text-moss">Invitation accepted. You have access now.</p>}
        </div>
      </SectionForm>
    </Section>
  )
}

function Received() {
  const { data: invitations, error, refetch } = useQuery(receivedQuery)
  return (
    <Section title="Your invitations" about="Shown once your email address is verified.">
      {error && !invitations ? (
        <Failure what="Your invitations" error={error} again={refetch} />
      ) : !invitations ? (
        <Waiting what="your invitations" rows={1} />
      ) : invitations.length === 0 ? (
        <Empty title="No pending invitations">Invitations sent to your email address appear here.</Empty>
      ) : (
        <Rows label="Invitations">
          {invitations.map((invitation) => (
            <InvitationRow key={invitation.id} invitation={invitation} />
          ))}
        </Rows>
      )}
    </Section>
  )
}

type Invitation = Awaited<ReturnType<typeof uk.invitations.received>>['rows'][number]

function InvitationRow({
  invitation: { id, workspace_name, invited_by, role, expires_at },
}: {
  invitation: Invitation
}) {
  const { send, pending, rest } = useSend(uk.invitations.accept, async () => {
    say(`You joined ${workspace_name}`)
    await settled()
  })
  return (
    <li className="flex flex-wrap items-center gap-x-6 gap-y-2 px-4 py-3.5">
      <div className="min-w-0 flex-1 basis-60">
        <p className="font-medium break-words">{workspace_name}</p>
        <p className="text-[0.8125rem] text-quiet">
          {invited_by ?? 'A deleted user'} invited you as {role} · expires <Ago time={expires_at} />
        </p>
        <Refused>{rest()}</Refused>
      </div>
      <Button
        pending={pending}
        aria-label={`Accept invitation to ${workspace_name}`}
        onClick={() => void send({ invitation_id: id })}
      >
        Accept
      </Button>
    </li>
  )
}
