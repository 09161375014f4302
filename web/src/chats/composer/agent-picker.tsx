import { queryOptions, useQuery } from '@tanstack/react-query'
import { everyRow, uk } from '../../shared/api.ts'
import { Actions } from '../../ui/dialogs/menu.tsx'

const agentsQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['agents', workspaceId, 'for chats'],
    queryFn: () => everyRow(uk.agents.list({ workspace_id: workspaceId, limit: 100 })),
    staleTime: 60_000,
  })

/** Picks an agent of the workspace, or the model alone. Renders nothing in a workspace without agents. */
export function AgentPicker({
  workspaceId,
  agentId,
  name,
  onAgent,
}: {
  workspaceId: string
  agentId: string | null
  name: string | null
  onAgent: (agentId: string | null) => void
}) {
  const { data: agents = [] } = useQuery(agentsQuery(workspaceId))
  if (agents.length === 0 && agentId === null) return null
  return (
    <Actions
      label={agentId === null ? 'No agent: choose an agent' : `Agent: ${name ?? 'unknown'}`}
      trigger={
        <span className="max-w-36 truncate leading-normal">{name ?? (agentId === null ? 'No agent' : 'An agent')}</span>
      }
      actions={[
        { label: 'No agent (model only)', run: () => onAgent(null), disabled: agentId === null },
        ...agents.map((agent) => ({
          label: agent.name,
          run: () => onAgent(agent.id),
          disabled: agent.id === agentId,
        })),
      ]}
    />
  )
}
