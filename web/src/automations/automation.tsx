import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { queryClient, uk } from '../api.ts'
import { workspacesQuery } from '../session.ts'
import { Button } from '../ui/button.tsx'
import { Facts } from '../ui/facts.tsx'
import { plural, usd } from '../ui/text/format.ts'
import { Paged } from '../ui/more.tsx'
import { Empty, Failure, Refused, Waiting } from '../ui/notice.tsx'
import { Page, Section, Tag } from '../ui/page.tsx'
import { useSend } from '../ui/send.ts'
import { Ago } from '../ui/text/time.tsx'
import { say } from '../ui/dialogs/toast.tsx'
import { type Automation, automationQuery, costQuery, runsQuery } from './queries.ts'
import { RunRow } from './run-row.tsx'

/** The page that a notification about an automation leads to: how it stands, and how its last runs went. */
export function AutomationPage() {
  const { id } = useParams({ from: '/shell/automations/$id' })
  const { data: automation, error, refetch } = useQuery(automationQuery(id))
  const runs = useInfiniteQuery({ ...runsQuery(id), enabled: automation !== undefined })
  if (!automation)
    return (
      <Page title="Automation" lead="An agent that is set to work by the clock or by a webhook.">
        {error ? <Failure what="This automation" error={error} again={refetch} /> : <Waiting what="the automation" />}
      </Page>
    )
  return (
    <Page
      title={automation.name}
      lead={automation.kind === 'cron' ? 'Set to work by the clock.' : 'Set to work by a webhook.'}
    >
      <State automation={automation} />
      <Section title="Last runs" about="Newest first; what was skipped is among them.">
        <Paged
          query={runs}
          what="the runs"
          label="Runs"
          none={<Empty title="No run yet">It has not been fired.</Empty>}
        >
          {(run) => <RunRow run={run} />}
        </Paged>
      </Section>
    </Page>
  )
}

const pauses = {
  failures: 'by the server, because it kept failing',
  agent_changed: 'by the server, because somebody with fewer rights than it has changed its agent',
} as const

function State({ automation }: { automation: Automation }) {
  const { id, name, status, paused_reason, paused_at, kind, schedule, time_zone, action } = automation
  const { data: workspaces } = useQuery(workspacesQuery)
  const { data: cost } = useQuery(costQuery(id))
  const back = useSend(uk.automations.unarchive, async () => {
    await queryClient.invalidateQueries({ queryKey: ['automation', id] })
    say(`${name} fires again`)
  })
  return (
    <Section
      title="State"
      action={
        status === 'archived' || paused_reason !== null ? (
          <Button look="primary" pending={back.pending} onClick={() => void back.send({ id })}>
            Let it fire again
          </Button>
        ) : undefined
      }
    >
      <div className="mb-3 empty:hidden">
        <Refused>{back.rest()}</Refused>
      </div>
      <Facts
        facts={[
          [
            'Now',
            status === 'active' && paused_reason === null ? (
              <Tag tone="good">active</Tag>
            ) : (
              <>
                <Tag tone="bad">{paused_reason === null ? status : 'paused'}</Tag>{' '}
                {paused_reason && pauses[paused_reason]}
                {paused_at && (
                  <>
                    , <Ago time={paused_at} />
                  </>
                )}
              </>
            ),
          ],
          [
            'Fires',
            kind === 'cron' ? (
              <>
                <code className="font-mono">{schedule}</code>, {time_zone ?? 'UTC'}
              </>
            ) : (
              'when its webhook is called'
            ),
          ],
          ['Next run', automation.next_run_at && <Ago time={automation.next_run_at} />],
          ['Last run', automation.last_run_at ? <Ago time={automation.last_run_at} /> : 'none yet'],
          [
            action.type === 'agent' ? 'Prompt' : 'Command',
            <span className="whitespace-pre-wrap">{action.type === 'agent' ? action.prompt : action.command}</span>,
          ],
          ['Workspace', workspaces?.find((one) => one.id === automation.workspace_id)?.name],
          ['Each run', automation.max_cost_usd === null ? 'no cap' : `${usd(automation.max_cost_usd)} at most`],
          [
            'So far',
            cost &&
              `${plural(cost.runs, 'run')}, ${cost.succeeded} succeeded, ${cost.failed} failed, ${usd(cost.cost_usd)}`,
          ],
          [
            'Speaks in',
            action.type === 'agent' && action.chat_id && (
              <Link className="link" to="/chats/$id" params={{ id: action.chat_id }}>
                one chat
              </Link>
            ),
          ],
        ]}
      />
    </Section>
  )
}
