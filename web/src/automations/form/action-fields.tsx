import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { agentChatsQuery, agentsInQuery, computersQuery } from '../../shared/agents/queries.ts'
import { AreaField } from '../../ui/area-field.tsx'
import { SelectField } from '../../ui/field.tsx'
import type { AutomationDraft } from './draft.ts'

export function ActionFields({
  draft,
  set,
  at,
}: {
  draft: AutomationDraft
  set: (change: Partial<AutomationDraft>) => void
  at: (field: string) => string | null
}) {
  return (
    <fieldset className="min-w-0">
      <legend className="mb-1 text-sm font-medium">Action</legend>
      <div className="mb-3 flex flex-wrap gap-x-5 gap-y-1 text-sm">
        {(
          [
            ['agent', 'Run an agent'],
            ['command', 'Run a command on a computer'],
          ] as const
        ).map(([does, words]) => (
          <label key={does} className="flex min-h-8 items-center gap-2">
            <input type="radio" name="does" value={does} checked={draft.does === does} onChange={() => set({ does })} />
            {words}
          </label>
        ))}
      </div>
      {draft.does === 'agent' ? <ByAgent {...{ draft, set, at }} /> : <ByCommand {...{ draft, set, at }} />}
    </fieldset>
  )
}

interface Props {
  draft: AutomationDraft
  set: (change: Partial<AutomationDraft>) => void
  at: (field: string) => string | null
}

function ByAgent({ draft, set, at }: Props) {
  const { data: agents } = useQuery(agentsInQuery(draft.workspace_id))
  const chats = useInfiniteQuery({ ...agentChatsQuery(draft.agent_id), enabled: draft.agent_id !== '' })
  const rows = (chats.data?.pages.flatMap((page) => page.rows) ?? []).filter(
    ({ workspace_id }) => workspace_id === draft.workspace_id,
  )
  const isElsewhere = draft.agent_id !== '' && agents !== undefined && !agents.some(({ id }) => id === draft.agent_id)
  const isEarlier = draft.chat_id !== '' && !rows.some(({ id }) => id === draft.chat_id)
  return (
    <div className="space-y-4">
      <div className="grid gap-4 sm:grid-cols-2">
        <SelectField
          label="Agent"
          value={draft.agent_id}
          onValue={(agent_id) => set({ agent_id, chat_id: '' })}
          options={[
            ['', agents === undefined ? '…' : 'Choose an agent'],
            ...(isElsewhere ? [[draft.agent_id, 'An agent in another workspace'] as const] : []),
            ...(agents ?? []).map(({ id, name }) => [id, name] as const),
          ]}
          hint={
            agents?.length === 0 && (
              <>
                No agents in this workspace.{' '}
                <Link to="/agents" className="link">
                  Create agent
                </Link>
              </>
            )
          }
          error={at('action.agent_id')}
        />
        <SelectField
          label="Chat"
          value={draft.chat_id}
          onValue={(chat_id) => set({ chat_id })}
          options={[
            ['', 'A new chat each time'],
            ...(isEarlier ? [[draft.chat_id, 'The current chat'] as const] : []),
            ...rows.map(({ id, title }) => [id, title] as const),
          ]}
          error={at('action.chat_id')}
        />
      </div>
      <AreaField
        label="Prompt"
        rows={3}
        value={draft.prompt}
        onValue={(prompt) => set({ prompt })}
        hint={draft.when === 'webhook' && 'The webhook payload is appended and marked as external content.'}
        error={at('action.prompt')}
      />
    </div>
  )
}

function ByCommand({ draft, set, at }: Props) {
  const { data: computers } = useQuery(computersQuery(draft.workspace_id))
  const able = (computers ?? []).filter(({ my_capabilities }) => my_capabilities.includes('exec'))
  const isAway = draft.computer_id !== '' && !able.some(({ id }) => id === draft.computer_id)
  return (
    <div className="space-y-4">
      <SelectField
        label="Computer"
        className="max-w-80"
        value={draft.computer_id}
        onValue={(computer_id) => set({ computer_id })}
        options={[
          ['', computers === undefined ? '…' : 'Choose a computer'],
          ...(isAway ? [[draft.computer_id, 'The current computer'] as const] : []),
          ...able.map(
            ({ id, name, connection }) => [id, connection === 'online' ? name : `${name} (offline)`] as const,
          ),
        ]}
        hint={
          computers !== undefined &&
          able.length === 0 && (
            <>
              No computer lets you run commands in this workspace.{' '}
              <a className="link" href="/app/computers">
                Change permissions
              </a>
            </>
          )
        }
        error={at('action.computer_id')}
      />
      <AreaField
        label="Command (/bin/sh)"
        mono
        rows={3}
        value={draft.command}
        onValue={(command) => set({ command })}
        hint={
          draft.when === 'webhook'
            ? 'The webhook body is passed on standard input. A nonzero exit code marks the run as failed.'
            : 'A nonzero exit code marks the run as failed.'
        }
        error={at('action.command')}
      />
    </div>
  )
}
