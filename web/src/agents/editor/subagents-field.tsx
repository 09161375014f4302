import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { IconButton } from '../../ui/button.tsx'
import { SelectField } from '../../ui/field.tsx'
import type { Policy } from '../queries.ts'
import { type Agent, agentsInQuery } from '../../shared/agents/queries.ts'

export function SubagentsField({
  subagents,
  onSubagents,
  agent,
  locked,
  error,
}: {
  subagents: Agent['subagents']
  onSubagents: (subagents: Agent['subagents']) => void
  agent: Agent
  locked: boolean
  error: string | null
}) {
  const { data: all = [] } = useQuery(agentsInQuery(agent.workspace_id))
  const free = all.filter(({ id }) => id !== agent.id && !subagents.some(({ agent_id }) => agent_id === id))
  if (subagents.length === 0 && (locked || free.length === 0)) return null
  return (
    <div className="mt-5">
      <h3 className="mb-2 text-sm font-medium">Subagents</h3>
      {subagents.length > 0 && (
        <ul aria-label="Subagents" className="mb-3 divide-y divide-line border border-line bg-sheet">
          {subagents.map(({ agent_id, policy }) => {
            const name = all.find(({ id }) => id === agent_id)?.name ?? 'An agent in another workspace'
            return (
              <li key={agent_id} className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2">
                <Link to="/agents/$id" params={{ id: agent_id }} className="link min-w-0 flex-1 basis-32 break-words">
                  {name}
                </Link>
                <select
                  aria-label={`Policy of ${name}`}
                  value={policy}
                  disabled={locked}
                  className="field min-h-8! w-32! py-1! text-sm!"
                  onChange={({ target }) =>
                    onSubagents(
                      subagents.map((one) =>
                        one.agent_id === agent_id ? { agent_id, policy: target.value as Policy } : one,
                      ),
                    )
                  }
                >
                  <option value="ask">Ask</option>
                  <option value="allow">Allow</option>
                  <option value="deny">Never</option>
                </select>
                <IconButton
                  label={`Remove subagent ${name}`}
                  icon="close"
                  disabled={locked}
                  onClick={() => onSubagents(subagents.filter((one) => one.agent_id !== agent_id))}
                />
              </li>
            )
          })}
        </ul>
      )}
      {!locked && free.length > 0 && (
        <SelectField
          label="Add subagent"
          className="max-w-80"
          value=""
          onValue={(id) => id && onSubagents([...subagents, { agent_id: id, policy: 'ask' }])}
          options={[['', 'Choose an agent'], ...free.map(({ id, name }) => [id, name] as const)]}
          error={error}
        />
      )}
    </div>
  )
}
