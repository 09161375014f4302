import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { agentQuery } from '../shared/agents/queries.ts'
import { Facts } from '../ui/facts.tsx'
import { Section, Tag } from '../ui/page.tsx'
import { plural, usd } from '../ui/text/format.ts'
import { Ago } from '../ui/text/time.tsx'
import { type Automation, costQuery } from './queries.ts'

const overlaps: Record<Automation['overlap'], string> = {
  skip: 'Skip the new run',
  queue: 'Queue the new run',
  cancel_previous: 'Stop the active run',
  allow: 'Run both',
}

export function Setup({ automation }: { automation: Automation }) {
  const { id, kind, schedule, time_zone, action, overlap, max_cost_usd, last_run_at, status, paused_reason } =
    automation
  const { data: cost } = useQuery(costQuery(id))
  const { data: agent } = useQuery({
    ...agentQuery(action.type === 'agent' ? action.agent_id : ''),
    enabled: action.type === 'agent',
    retry: false,
  })
  return (
    <Section title="Setup">
      <Facts
        facts={[
          [
            'Status',
            <Tag tone={status === 'active' && paused_reason === null ? 'good' : 'bad'}>
              {paused_reason === null ? status : 'paused'}
            </Tag>,
          ],
          [
            'Trigger',
            kind === 'webhook' ? (
              'webhook'
            ) : (
              <>
                <code className="font-mono">{schedule}</code>, {time_zone ?? 'UTC'}
              </>
            ),
          ],
          [
            'Action',
            action.type === 'command' ? (
              <>
                command on{' '}
                <a className="link" href={`/app/computers/${action.computer_id}`}>
                  a computer
                </a>
              </>
            ) : agent ? (
              <Link to="/agents/$id" params={{ id: agent.id }} className="link">
                {agent.name}
              </Link>
            ) : (
              'an agent you can’t view'
            ),
          ],
          [
            action.type === 'agent' ? 'Prompt' : 'Command',
            <span className={`whitespace-pre-wrap ${action.type === 'command' ? 'font-mono' : ''}`}>
              {action.type === 'agent' ? action.prompt : action.command}
            </span>,
          ],
          [
            'Chat',
            action.type === 'agent' && action.chat_id && (
              <Link className="link" to="/chats/$id" params={{ id: action.chat_id }}>
                Same chat for all runs
              </Link>
            ),
          ],
          ['If a run is still active', overlaps[overlap]],
          ['Max. cost per run', max_cost_usd === null ? 'no cap' : usd(max_cost_usd)],
          ['Last run', last_run_at ? <Ago time={last_run_at} /> : 'never'],
          [
            'Total',
            cost &&
              `${plural(cost.runs, 'run')}, ${cost.succeeded} succeeded, ${cost.failed} failed, ${usd(cost.cost_usd)}; ${usd(cost.last_30_days_usd)} in 30 days`,
          ],
        ]}
      />
    </Section>
  )
}
