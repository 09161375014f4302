import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { usePlacesFor } from '../shared/rights.ts'
import { workspacesQuery } from '../shared/session.ts'
import { Button } from '../ui/button.tsx'
import { useOpen } from '../ui/dialogs/dialog.tsx'
import { SelectField } from '../ui/field.tsx'
import { Empty, Failure, Waiting } from '../ui/notice.tsx'
import { Page } from '../ui/page.tsx'
import { Words } from '../ui/text/words.tsx'
import { plural } from '../ui/text/format.ts'
import { Ago } from '../ui/text/time.tsx'
import { agentsViewIn } from '../shared/views/lists.ts'
import { NewAgent } from './new-agent.tsx'
import { agentsQuery } from './queries.ts'
import type { Agent } from '../shared/agents/queries.ts'
import { type Template, templates } from './templates.ts'

export function AgentsPage() {
  const { workspace, status = 'active' } = useSearch({ from: '/shell/agents' })
  const navigate = useNavigate({ from: '/agents' })
  const { data: workspaces = [] } = useQuery(workspacesQuery)
  const writable = usePlacesFor('agent:write')
  const query = useInfiniteQuery(agentsQuery(status, workspace))
  const { open, on, show, onOpen } = useOpen<{ template: Template | null }>()
  const agents = query.data?.pages.flatMap(({ rows }) => rows)
  const nameOf = (id: string): string => workspaces.find((one) => one.id === id)?.name ?? 'shared with you'
  return (
    <Page
      title="Agents"
      lead="Agents combine instructions and tools. They respond in chats and run in automations."
      action={
        writable.length > 0 && (
          <Button look="primary" icon="plus" onClick={() => show({ template: null })}>
            Create agent
          </Button>
        )
      }
    >
      {(workspaces.length > 1 || status === 'archived' || (agents && agents.length > 0)) && (
        <div className="mb-6 flex flex-wrap items-end gap-4">
          <SelectField
            label="Workspace"
            className="w-full max-w-64"
            value={workspace ?? ''}
            onValue={(id) => void navigate({ search: (now) => agentsViewIn({ ...now, workspace: id || undefined }) })}
            options={[['', 'All'], ...workspaces.map(({ id, name }) => [id, name] as const)]}
          />
          <label className="flex h-9 items-center gap-2 text-sm">
            <input
              type="checkbox"
              checked={status === 'archived'}
              onChange={({ target }) =>
                void navigate({
                  search: (now) => agentsViewIn({ ...now, status: target.checked ? 'archived' : undefined }),
                })
              }
            />
            Archived
          </label>
        </div>
      )}
      {query.error && !agents ? (
        <Failure what="The agents" error={query.error} again={query.refetch} />
      ) : !agents ? (
        <Waiting what="the agents" />
      ) : agents.length === 0 && status === 'archived' ? (
        <Empty title="No archived agents">Agents you archive appear here. You can restore them at any time.</Empty>
      ) : agents.length === 0 ? (
        <Begin onPick={writable.length > 0 ? (template) => show({ template }) : null} />
      ) : (
        <>
          <ul aria-label="Agents" className="grid gap-4 sm:grid-cols-2 xl:grid-cols-3">
            {agents.map((agent) => (
              <AgentCard key={agent.id} agent={agent} place={nameOf(agent.workspace_id)} />
            ))}
          </ul>
          {query.hasNextPage && (
            <Button className="mt-4" pending={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
              Show more
            </Button>
          )}
        </>
      )}
      {on && (
        <NewAgent
          key={on.template?.key ?? ''}
          template={on.template}
          workspaces={writable}
          preferred={workspace}
          open={open}
          onOpen={onOpen}
        />
      )}
    </Page>
  )
}

function AgentCard({ agent, place }: { agent: Agent; place: string }) {
  const { id, name, description, model, tools, mcp_servers, updated_at } = agent
  const tooled = tools.filter(({ policy }) => policy !== 'deny').length
  return (
    <li className="relative flex min-w-0 flex-col border border-line border-t-keyline bg-sheet px-4 py-4 hover:border-keyline">
      <h2 className="font-serif text-lg leading-snug">
        <Link to="/agents/$id" params={{ id }} className="break-words after:absolute after:inset-0">
          {name}
        </Link>
      </h2>
      <p className="mt-1 line-clamp-3 min-h-[1.5em] text-sm break-words text-quiet">
        {description ?? agent.system_prompt ?? 'No instructions yet'}
      </p>
      <p className="figures mt-auto pt-4 text-[0.8125rem] text-quiet">
        <span className="break-all">{model ?? 'the chat’s model'}</span>
        {' · '}
        {tooled + mcp_servers.length === 0 ? 'no tools' : plural(tooled, 'tool')}
        {mcp_servers.length > 0 && `, ${plural(mcp_servers.length, 'MCP server')}`}
      </p>
      <p className="figures text-[0.8125rem] break-words text-quiet">
        {place} · changed <Ago time={updated_at} />
      </p>
    </li>
  )
}

function Begin({ onPick }: { onPick: ((template: Template) => void) | null }) {
  return (
    <Empty title="No agents yet">
      <p>
        Agents combine instructions and tools.
        {onPick
          ? ' Start from a template and change anything later.'
          : ' You don’t have permission to create agents here.'}
      </p>
      {onPick && (
        <ul aria-label="Templates" className="mt-5 grid max-w-none gap-4 text-ink sm:grid-cols-3">
          {templates.map((template) => (
            <li key={template.key} className="flex flex-col border border-line bg-paper px-4 py-4">
              <p className="font-serif text-lg leading-snug">{template.name}</p>
              <p className="mt-1 mb-4 text-sm text-quiet">
                <Words>{template.description}</Words>
              </p>
              <Button className="mt-auto self-start" onClick={() => onPick(template)}>
                Start<span className="sr-only"> with {template.name}</span>
              </Button>
            </li>
          ))}
        </ul>
      )}
    </Empty>
  )
}
