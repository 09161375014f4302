import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { Budget } from '../shared/money/budget.tsx'
import { isManaged, workspacesQuery } from '../shared/session.ts'
import { SelectField } from '../ui/field.tsx'
import { Empty, Failure, Waiting } from '../ui/notice.tsx'
import { Page } from '../ui/page.tsx'
import { Invite } from './invite.tsx'
import { Keep } from './keep.tsx'
import { Members } from './members.tsx'
import { NewWorkspace } from './new-workspace.tsx'
import { Pending } from './pending.tsx'
import { Rules } from './rules.tsx'

export function Team() {
  const { id } = useParams({ from: '/shell/workspaces/$id' })
  const navigate = useNavigate()
  const { data: workspaces, error, refetch } = useQuery(workspacesQuery)
  if (error && !workspaces) return <Failure what="Your workspaces" error={error} again={refetch} />
  if (!workspaces) return <Waiting what="your workspaces" />
  const workspace = workspaces.find((one) => one.id === id)
  if (!workspace)
    return (
      <Page title="Workspace" lead="It doesn’t exist, or you’re no longer a member.">
        <Empty title="Workspace not found">Ask for a new invitation to join it again.</Empty>
      </Page>
    )
  const manages = workspace.kind === 'team' && isManaged(workspace)
  return (
    <Page
      title={workspace.name}
      lead={
        workspace.kind === 'team'
          ? `You’re ${workspace.role === 'viewer' || workspace.role === 'member' ? 'a' : 'an'} ${workspace.role} of this workspace.`
          : 'Your personal workspace. Create a team workspace to work with others.'
      }
      action={
        <div className="flex flex-wrap gap-2">
          <NewWorkspace look={manages ? 'plain' : 'primary'} />
          {manages && <Invite workspace={workspace} />}
        </div>
      }
    >
      {workspaces.length > 1 && (
        <SelectField
          label="Workspace"
          className="mb-8 max-w-sm"
          value={id}
          onValue={(picked) => void navigate({ to: '/workspaces/$id', params: { id: picked } })}
          options={workspaces.map((one) => [one.id, one.name] as const)}
        />
      )}
      <Members key={id} workspace={workspace} />
      {manages && <Pending key={`invited ${id}`} workspace={workspace} />}
      <Budget key={`budget ${id}`} workspace={workspace} />
      {workspace.kind === 'team' && <Rules key={`rules ${id}`} workspace={workspace} />}
      {workspace.kind === 'team' && <Keep key={`keep ${id}`} workspace={workspace} />}
    </Page>
  )
}
