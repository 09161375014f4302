import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { agentChatsQuery, agentsInQuery, computersQuery } from '../../agents/queries.ts'
import { AreaField } from '../../ui/area-field.tsx'
import { SelectField } from '../../ui/field.tsx'
import type { AutomationDraft } from './draft.ts'

/** What it does: an agent is told something, or a command runs on a computer. */
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
      <legend className="mb-1 text-sm font-medium">What</legend>
      <div className="mb-3 flex flex-wrap gap-x-5 gap-y-1 text-sm">
        {(
          [
            ['agent', 'An agent works'],
            ['command', 'A command runs on a computer'],
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
  // What is set stays to be seen, also where it is not among those that were read.
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
            ['', agents === undefined ? '…' : 'Choose one'],
            ...(isElsewhere ? [[draft.agent_id, 'An agent of elsewhere'] as const] : []),
            ...(agents ?? []).map(({ id, name }) => [id, name] as const),
          ]}
          hint={
            agents?.length === 0 && (
              <>
                There is none in this workspace.{' '}
                <Link to="/agents" className="link">
                  Make one
                </Link>
              </>
            )
          }
          error={at('action.agent_id')}
        />
        <SelectField
          label="Speaks in"
          value={draft.chat_id}
          onValue={(chat_id) => set({ chat_id })}
          options={[
            ['', 'A new chat each time'],
            ...(isEarlier ? [[draft.chat_id, 'The chat it spoke in so far'] as const] : []),
            ...rows.map(({ id, title }) => [id, title] as const),
          ]}
          error={at('action.chat_id')}
        />
      </div>
      <AreaField
        label="What it is told"
        rows={3}
        value={draft.prompt}
        onValue={(prompt) => set({ prompt })}
        hint={draft.when === 'webhook' && 'What the webhook brings follows it, marked as coming from outside.'}
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
          ['', computers === undefined ? '…' : 'Choose one'],
          ...(isAway ? [[draft.computer_id, 'The computer it runs on so far'] as const] : []),
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
                Grant it at Computers
              </a>
            </>
          )
        }
        error={at('action.computer_id')}
      />
      <AreaField
        label="Command, for /bin/sh"
        mono
        rows={3}
        value={draft.command}
        onValue={(command) => set({ command })}
        hint={
          draft.when === 'webhook'
            ? 'It reads the body of the webhook. Another exit code than 0 is a failed run.'
            : 'Another exit code than 0 is a failed run.'
        }
        error={at('action.command')}
      />
    </div>
  )
}
