import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { queryClient, uk } from '../shared/api.ts'
import { saysKind } from '../shared/operations/kinds.ts'
import { useAccount } from '../shared/session.ts'
import { Button } from '../ui/button.tsx'
import { Refused } from '../ui/notice.tsx'
import { Rows, Section } from '../ui/page.tsx'
import { type Send, useSend } from '../ui/calls/send.ts'
import { Ago } from '../ui/text/time.tsx'
import { type Going, goingQuery, runningOperationsQuery } from './queries.ts'

export function Attention() {
  const { data: going = [] } = useQuery(goingQuery)
  const { data: operations = [] } = useQuery(runningOperationsQuery)
  const waiting = going.filter(({ run }) => run.status === 'requires_action')
  const running = going.filter(({ run }) => run.status === 'running' || run.status === 'queued')
  return (
    <>
      {waiting.length > 0 && (
        <Section title="Waiting for you">
          <Rows label="Waiting for you">
            {waiting.flatMap((one) =>
              one.run.pending_actions.map((action) => <Decision key={action.id} going={one} action={action} />),
            )}
          </Rows>
        </Section>
      )}
      {running.length + operations.length > 0 && (
        <Section title="Running">
          <Rows label="Running">
            {running.map(({ chat: { id, title }, run }) => (
              <li key={run.id} className="flex items-baseline gap-3 px-4 py-2 text-sm">
                <Link to="/chats/$id" params={{ id }} className="link min-w-0 flex-1 truncate">
                  {title}
                </Link>
                <span className="text-quiet">{run.status === 'queued' ? 'queued' : run.model}</span>
                <Ago time={run.started_at ?? run.queued_at} />
              </li>
            ))}
            {operations.map(({ id, kind, progress, started_at, created_at }) => (
              <li key={id} className="flex items-baseline gap-3 px-4 py-2 text-sm">
                <Link to="/operations/$id" params={{ id }} className="link min-w-0 flex-1 truncate">
                  {saysKind(kind)}
                </Link>
                {progress !== null && <span className="figures text-quiet">{Math.round(progress * 100)} %</span>}
                <Ago time={started_at ?? created_at} />
              </li>
            ))}
          </Rows>
        </Section>
      )}
      {(waiting.length > 0 || running.length + operations.length > 0) && <div className="mb-8" />}
    </>
  )
}

type ApprovalAnswer = { decision: 'allow' | 'deny'; remember?: 'chat' }

function Decision({
  going: { chat, run },
  action: { id, kind, tool, arguments: asked, can_remember },
}: {
  going: Going
  action: Going['run']['pending_actions'][number]
}) {
  const { id: me } = useAccount()
  const deciding = useSend(
    (answer: ApprovalAnswer) => uk.chats.actions({ id: chat.id, run_id: run.id, actions: [{ id, ...answer }] }),
    () => queryClient.invalidateQueries({ queryKey: ['chats'] }),
  )
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-2.5">
      <div className="min-w-0 flex-1 basis-64">
        <p className="text-sm">
          <span className="font-medium">{tool}</span> in{' '}
          <Link to="/chats/$id" params={{ id: chat.id }} className="link">
            {chat.title}
          </Link>
        </p>
        <p className="truncate font-mono text-xs text-quiet">{JSON.stringify(asked)}</p>
        <Refused>{deciding.rest()}</Refused>
      </div>
      {kind === 'subagent' ? (
        <span className="text-sm text-quiet">Decide in the agent’s chat</span>
      ) : (
        <Decide tool={tool} canRemember={can_remember && run.created_by === me} deciding={deciding} />
      )}
    </li>
  )
}

function Decide({
  tool,
  canRemember,
  deciding: { pending, send },
}: {
  tool: string
  canRemember: boolean
  deciding: Send<ApprovalAnswer, unknown>
}) {
  return (
    <>
      <Button aria-label={`Deny ${tool}`} pending={pending} onClick={() => void send({ decision: 'deny' })}>
        Deny
      </Button>
      {canRemember && (
        <Button
          aria-label={`Always allow ${tool} in this chat`}
          pending={pending}
          onClick={() => void send({ decision: 'allow', remember: 'chat' })}
        >
          Always allow
        </Button>
      )}
      <Button
        look="primary"
        aria-label={`Allow once: ${tool}`}
        pending={pending}
        onClick={() => void send({ decision: 'allow' })}
      >
        Allow once
      </Button>
    </>
  )
}
