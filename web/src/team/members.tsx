import { useQuery } from '@tanstack/react-query'
import type { Workspace } from '../api.ts'
import { useAccount } from '../session.ts'
import { Failure, Waiting } from '../ui/notice.tsx'
import { Rows, Section, Tag } from '../ui/page.tsx'
import { type Member, membersQuery } from './queries.ts'

export function Members({ workspace: { id, name } }: { workspace: Workspace }) {
  const { data: members, error, refetch } = useQuery(membersQuery(id))
  return (
    <Section title="Members">
      {error && !members ? (
        <Failure what="The members" error={error} again={refetch} />
      ) : !members ? (
        <Waiting what="the members" />
      ) : (
        <Rows label={`Members of ${name}`}>
          {members.map((member) => (
            <MemberRow key={member.id} member={member} />
          ))}
        </Rows>
      )}
    </Section>
  )
}

function MemberRow({ member: { user_id, name, email, role } }: { member: Member }) {
  const { id } = useAccount()
  return (
    <li className="flex flex-wrap items-center gap-x-6 gap-y-2 px-4 py-3.5">
      <div className="min-w-0 flex-1 basis-60">
        <p className="font-medium break-words">
          {name}
          {user_id === id && <span className="font-normal text-quiet"> (you)</span>}
        </p>
        <p className="text-[0.8125rem] break-words text-quiet">{email}</p>
      </div>
      <Tag tone={role === 'owner' || role === 'admin' ? 'ai' : 'plain'}>{role}</Tag>
    </li>
  )
}
