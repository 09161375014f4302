import { useQuery } from '@tanstack/react-query'
import { type Workspace, queryClient, uk } from '../shared/api.ts'
import { Button } from '../ui/button.tsx'
import { say } from '../ui/toast/toast.tsx'
import { Failure, Refused } from '../ui/notice.tsx'
import { Rows, Section, Tag } from '../ui/page.tsx'
import { useSend } from '../ui/calls/send.ts'
import { Ago } from '../ui/text/time.tsx'
import { invitedQuery } from './queries.ts'

export function Pending({ workspace: { id, name } }: { workspace: Workspace }) {
  const { data: invited, error, refetch } = useQuery(invitedQuery(id))
  const revoking = useSend(uk.invitations.revoke, async () => {
    await queryClient.invalidateQueries({ queryKey: invitedQuery(id).queryKey })
    say('Invitation revoked')
  })
  if (error && !invited) return <Failure what="Open invitations" error={error} again={refetch} />
  if (!invited?.length) return null
  return (
    <Section
      title="Pending invitations"
      about="Links are shown only once. Inviting the same address again creates a new link and revokes the old one."
    >
      <div className="mb-3 empty:hidden">
        <Refused>{revoking.rest()}</Refused>
      </div>
      <Rows label={`Pending invitations to ${name}`}>
        {invited.map((invitation) => (
          <li key={invitation.id} className="flex flex-wrap items-center gap-x-6 gap-y-2 px-4 py-3.5">
            <div className="min-w-0 flex-1 basis-52">
              <p className="font-medium break-words">{invitation.email}</p>
              <p className="text-[0.8125rem] text-quiet">
                invited <Ago time={invitation.created_at} /> · expires <Ago time={invitation.expires_at} />
              </p>
            </div>
            <Tag>{invitation.role}</Tag>
            <Button
              look="danger-plain"
              aria-label={`Revoke invitation of ${invitation.email}`}
              pending={revoking.pending}
              onClick={() => void revoking.send({ id, invitation_id: invitation.id })}
            >
              Revoke invitation
            </Button>
          </li>
        ))}
      </Rows>
    </Section>
  )
}
