import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Place } from '../shared/rights.ts'
import { buttonClass } from '../ui/button.tsx'
import { Icon } from '../ui/icons.tsx'
import { Paged } from '../ui/more.tsx'
import { Empty, Failure, Waiting } from '../ui/notice.tsx'
import { Rows, Section, Tag } from '../ui/page.tsx'
import { Ago } from '../ui/text/time.tsx'
import { agentAutomationsQuery } from './queries.ts'
import { type Agent, agentChatsQuery, agentsInQuery } from '../shared/agents/queries.ts'

export function Uses({ agent, place }: { agent: Agent; place: Place }) {
  const { id, workspace_id } = agent
  const automations = useQuery({ ...agentAutomationsQuery(id, workspace_id), enabled: place.workspace !== null })
  const { data: others = [] } = useQuery({ ...agentsInQuery(workspace_id), enabled: place.workspace !== null })
  const chats = useInfiniteQuery(agentChatsQuery(id))
  const above = others.filter(({ subagents }) => subagents.some(({ agent_id }) => agent_id === id))
  return (
    <>
      {place.workspace && (
        <Section
          title="Automations"
          about="Automations that run this agent on a schedule or by webhook."
          action={
            place.may('automation:write') &&
            agent.status === 'active' && (
              <Link to="/automations" search={{ new: id, workspace: workspace_id }} className={buttonClass('plain')}>
                <Icon name="plus" />
                Create automation
              </Link>
            )
          }
        >
          {automations.error && !automations.data ? (
            <Failure what="The automations" error={automations.error} again={automations.refetch} />
          ) : !automations.data ? (
            <Waiting what="the automations" rows={1} />
          ) : automations.data.length === 0 ? (
            <p className="text-sm text-quiet">No automation uses this agent.</p>
          ) : (
            <Rows label="Automations">
              {automations.data.map(({ id: one, name, next_run_at, paused_reason, kind }) => (
                <li key={one} className="flex flex-wrap items-baseline gap-x-3 gap-y-1 px-4 py-3">
                  <Link to="/automations/$id" params={{ id: one }} className="link min-w-0 flex-1 basis-40 break-words">
                    {name}
                  </Link>
                  {paused_reason !== null && <Tag tone="bad">paused</Tag>}
                  <span className="text-sm text-quiet">
                    {next_run_at ? <Ago time={next_run_at} /> : kind === 'webhook' ? 'by webhook' : 'no more runs'}
                  </span>
                </li>
              ))}
            </Rows>
          )}
        </Section>
      )}
      {above.length > 0 && (
        <Section title="Agents" about="Agents that can delegate tasks to this agent.">
          <Rows label="Agents">
            {above.map(({ id: one, name }) => (
              <li key={one} className="px-4 py-3">
                <Link to="/agents/$id" params={{ id: one }} className="link break-words">
                  {name}
                </Link>
              </li>
            ))}
          </Rows>
        </Section>
      )}
      <Section title="Chats" about="Chats you can view that use this agent.">
        <Paged
          query={chats}
          what="the chats"
          label="Chats"
          none={<Empty title="No chats yet">Chats with this agent that you can view appear here.</Empty>}
        >
          {({ id: one, title, last_message_at, created_at }) => (
            <div className="flex items-baseline gap-3">
              <Link to="/chats/$id" params={{ id: one }} className="link min-w-0 flex-1 truncate">
                {title}
              </Link>
              <span className="text-sm whitespace-nowrap text-quiet">
                <Ago time={last_message_at ?? created_at} />
              </span>
            </div>
          )}
        </Paged>
      </Section>
    </>
  )
}
