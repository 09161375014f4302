import { useQuery } from '@tanstack/react-query'
import { type Workspace, uk } from '../shared/api.ts'
import { isManaged, useAccount } from '../shared/session.ts'
import { Button } from '../ui/button.tsx'
import { Confirm, useOpen } from '../ui/dialogs/dialog.tsx'
import { say } from '../ui/toast/toast.tsx'
import { SpendMeter } from '../ui/meter.tsx'
import { Failure, Waiting } from '../ui/notice.tsx'
import { Rows, Section, Tag } from '../ui/page.tsx'
import { MemberDialog } from './member-dialog.tsx'
import { type Member, membersQuery, refreshTeam } from './queries.ts'

export function Members({ workspace }: { workspace: Workspace }) {
  const { id, name } = workspace
  const { data: members, error, refetch } = useQuery(membersQuery(id))
  const { open, on, show, onOpen } = useOpen<Member>()
  const removing = useOpen<Member>()
  const manages = workspace.kind === 'team' && isManaged(workspace)
  return (
    <Section
      title="Members"
      about={
        manages
          ? 'A spend cap covers all of a member’s calls in this workspace: by any key, in chats and by automations.'
          : undefined
      }
    >
      {error && !members ? (
        <Failure what="The members" error={error} again={refetch} />
      ) : !members ? (
        <Waiting what="the members" />
      ) : (
        <Rows label={`Members of ${name}`}>
          {members.map((member) => (
            <MemberRow
              key={member.id}
              member={member}
              {...(manages && isLimitable(member, workspace) && { onChange: () => show(member) })}
            />
          ))}
        </Rows>
      )}
      {on && (
        <MemberDialog
          key={on.id}
          member={on}
          open={open}
          onOpen={onOpen}
          onRemove={() => {
            onOpen(false)
            removing.show(on)
          }}
        />
      )}
      <Confirm
        open={removing.open}
        onOpen={removing.onOpen}
        title={`Remove member ${removing.on?.name ?? ''}?`}
        verb="Remove member"
        run={async () => {
          await uk.members.remove({ id, memberId: removing.on!.id })
          await refreshTeam(id)
          say(`Removed ${removing.on!.name} from this workspace`)
        }}
      >
        <p>
          They lose access to {name}. Anything they created there is kept. To come back, they need a new invitation.
        </p>
      </Confirm>
    </Section>
  )
}

/** Admins can't limit owners. */
const isLimitable = ({ role }: Member, workspace: Workspace): boolean => role !== 'owner' || workspace.role === 'owner'

function MemberRow({ member, onChange }: { member: Member; onChange?: () => void }) {
  const { user_id, name, email, role, spend_cap_usd, spend_cap_period, spent_usd, keys, allowed_models } = member
  const { id } = useAccount()
  return (
    <li className="flex flex-wrap items-center gap-x-6 gap-y-2 px-4 py-3.5">
      <div className="min-w-0 flex-1 basis-52">
        <p className="font-medium break-words">
          {name}
          {user_id === id && <span className="font-normal text-quiet"> (you)</span>}
        </p>
        <p className="text-[0.8125rem] break-words text-quiet">{email}</p>
        {allowed_models !== null && (
          <p className="text-[0.8125rem] break-words text-quiet">
            Models: {allowed_models.length === 0 ? 'none' : allowed_models.join(', ')}
          </p>
        )}
      </div>
      {spent_usd !== null && (
        <div className="w-44">
          <SpendMeter spent={spent_usd} cap={spend_cap_usd} per={spend_cap_period} name={name} />
        </div>
      )}
      {keys === 'workspace' && <Tag>workspace keys only</Tag>}
      <Tag tone={role === 'owner' || role === 'admin' ? 'ai' : 'plain'}>{role}</Tag>
      {onChange && (
        <Button aria-label={`Edit member ${name}`} onClick={onChange}>
          Edit
        </Button>
      )}
    </li>
  )
}
