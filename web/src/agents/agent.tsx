import { useQuery } from '@tanstack/react-query'
import { Link, useParams, useSearch } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { refusal } from '../ui/calls/errors.ts'
import { usePlace } from '../shared/rights.ts'
import { useMedia } from '../ui/media.ts'
import { Failure, Waiting } from '../ui/notice.tsx'
import { Tag } from '../ui/page.tsx'
import { AgentActions } from './actions.tsx'
import { Editor } from './editor/editor.tsx'
import { type Agent, agentQuery } from '../shared/agents/queries.ts'
import { TryOut } from './try-out.tsx'
import { Uses } from './uses.tsx'
import { Versions } from './versions/versions.tsx'

const tabs = [
  ['setup', 'Setup'],
  ['try', 'Test'],
  ['versions', 'Versions'],
  ['uses', 'Usage'],
] as const

export function AgentPage() {
  const { id } = useParams({ from: '/shell/agents/$id' })
  return <One key={id} id={id} />
}

function One({ id }: { id: string }) {
  const { data: agent, error, refetch } = useQuery(agentQuery(id))
  useEffect(() => {
    document.title = `${agent?.name ?? 'Agent'} · Ukiyo`
  }, [agent?.name])
  if (agent) return <Shown agent={agent} />
  return (
    <div className="mx-auto max-w-3xl px-4 pt-8 sm:px-8">
      <h1 className="mb-5 font-serif text-[2rem] leading-tight">Agent</h1>
      {!error ? (
        <Waiting what="the agent" />
      ) : refusal(error)?.status === 404 ? (
        <p className="text-quiet">
          This agent doesn’t exist, or you don’t have access to it. Its owner can share it with you.{' '}
          <Link to="/agents" className="link">
            Show all agents
          </Link>
        </p>
      ) : (
        <Failure what="This agent" error={error} again={refetch} />
      )}
    </div>
  )
}

function Shown({ agent }: { agent: Agent }) {
  const { tab = 'setup' } = useSearch({ from: '/shell/agents/$id' })
  const place = usePlace(agent.workspace_id)
  // There is room for the test chat next to the editor.
  const wide = useMedia('(min-width: 80rem)')
  const [unsaved, setUnsaved] = useState(false)
  // The test chat is next to the editor, so it doesn't need a tab.
  const shown = wide && tab === 'try' ? 'setup' : tab
  const { id, name, status, version, description } = agent
  const role = place.workspace?.role
  return (
    <div className="xl:grid xl:h-dvh xl:grid-cols-[minmax(0,1fr)_minmax(24rem,30rem)]">
      <div className="relative min-w-0 xl:h-dvh xl:overflow-y-auto">
        <div className="mx-auto max-w-3xl px-4 pt-6 pb-24 sm:px-8">
          <p className="text-sm">
            <Link to="/agents" className="link">
              Agents
            </Link>
          </p>
          <header className="mt-1 flex flex-wrap items-start gap-x-4 gap-y-2">
            <div className="min-w-0 flex-1 basis-64">
              <h1 className="font-serif text-[2rem] leading-tight break-words">{name}</h1>
              <p className="figures mt-1 flex flex-wrap items-center gap-x-2 text-sm text-quiet">
                Version {version}
                {place.workspace && ` · ${place.workspace.name}`}
                {place.known && !place.workspace && ' · shared with you'}
                {status !== 'active' && <Tag tone="warn">{status}</Tag>}
              </p>
            </div>
            <AgentActions agent={agent} place={place} />
          </header>
          {place.workspace && !place.may('agent:write') && (
            <p className="mt-3 border-l-2 border-keyline pl-3 text-sm text-quiet">
              {place.workspace.status === 'archived'
                ? 'The agent’s workspace is archived, so you can’t edit the agent.'
                : `You’re a ${role} of ${place.workspace.name}. You can view and test this agent, but not edit it.`}
            </p>
          )}
          <nav aria-label="Views of this agent" className="mt-5 mb-6 flex gap-1 overflow-x-auto border-b border-line">
            {tabs.map(([key, words]) => (
              <Link
                key={key}
                to="/agents/$id"
                params={{ id }}
                search={key === 'setup' ? {} : { tab: key }}
                replace
                aria-current={shown === key ? 'page' : undefined}
                className={`-mb-px border-b-2 px-3 py-2 text-sm whitespace-nowrap ${key === 'try' ? 'xl:hidden' : ''} ${shown === key ? 'border-seal text-ink' : 'border-transparent text-quiet hover:text-ink'}`}
              >
                {words}
                {key === 'setup' && unsaved && (
                  <span className="ml-1.5 text-ochre" title="Unsaved changes">
                    •<span className="sr-only">unsaved changes</span>
                  </span>
                )}
              </Link>
            ))}
          </nav>
          {description && shown !== 'setup' && <p className="sr-only">{description}</p>}
          {/* Hidden tabs stay mounted to keep typed text. */}
          <div hidden={shown !== 'setup'}>
            <Editor agent={agent} place={place} onUnsaved={setUnsaved} />
          </div>
          {shown === 'versions' && (
            <Versions agent={agent} mayChange={status === 'active' && place.may('agent:write')} />
          )}
          {shown === 'uses' && <Uses agent={agent} place={place} />}
          {!wide && shown === 'try' && (
            <div className="-mx-4 h-[calc(100dvh-17rem)] min-h-96 border-y border-line sm:mx-0 sm:border">
              <TryOut agent={agent} place={place} unsaved={unsaved} />
            </div>
          )}
        </div>
      </div>
      {wide && (
        <aside aria-label="Test agent" className="h-dvh min-w-0 border-l border-line bg-sheet/40">
          <TryOut agent={agent} place={place} unsaved={unsaved} />
        </aside>
      )}
    </div>
  )
}
