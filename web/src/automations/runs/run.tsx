import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { uk } from '../../shared/api.ts'
import { refusal } from '../../ui/calls/errors.ts'
import { usePlace } from '../../shared/rights.ts'
import { Button } from '../../ui/button.tsx'
import { say } from '../../ui/toast/toast.tsx'
import { Facts } from '../../ui/facts.tsx'
import { Empty, Failure, Refused, Waiting } from '../../ui/notice.tsx'
import { Page, Section, Tag } from '../../ui/page.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { moment, usd } from '../../ui/text/format.ts'
import { type AutomationRun, automationQuery, refreshAutomations, runQuery } from '../queries.ts'
import { durationOf, isGoing, runTones, saysRun, saysSkip, saysTrigger } from '../words.ts'
import { saysDuration } from '../../ui/text/duration.ts'
import { AgentLog, CommandLog } from '../../shared/runs/log.tsx'

export function RunPage() {
  const { id, run: runId } = useParams({ from: '/shell/automations/$id/runs/$run' })
  const { data: automation } = useQuery(automationQuery(id))
  const { data: run, error, refetch } = useQuery(runQuery(id, runId))
  const place = usePlace(run?.workspace_id)
  const name = automation?.name ?? 'Run'
  if (!run)
    return (
      <Page title={name} view="Run" lead="A run of an automation.">
        {!error ? (
          <Waiting what="the run" />
        ) : refusal(error)?.status === 404 ? (
          <Empty title="Not found">This run doesn’t exist, or you don’t have access to it.</Empty>
        ) : (
          <Failure what="This run" error={error} again={refetch} />
        )}
      </Page>
    )
  return (
    <Page
      title={name}
      view="Run"
      lead={
        <>
          <Link to="/automations/$id" params={{ id }} className="link">
            All runs
          </Link>{' '}
          · {moment(run.created_at)}, {saysTrigger[run.trigger]}
        </>
      }
      action={<RunActions run={run} mayRun={place.may('automation:run')} active={automation?.status === 'active'} />}
    >
      <Section title="Log">
        <RunLog run={run} />
      </Section>
      <Section title="Details">
        <Facts
          facts={[
            [
              'Status',
              <>
                <Tag tone={runTones[run.status]}>{saysRun[run.status]}</Tag>{' '}
                {run.skip_reason && saysSkip[run.skip_reason]}
              </>,
            ],
            ['Attempt', run.attempt > 1 && run.attempt],
            ['Scheduled for', run.scheduled_for && moment(run.scheduled_for)],
            ['Started', run.started_at && moment(run.started_at)],
            ['Duration', durationOf(run) !== null && saysDuration(durationOf(run)!)],
            ['Cost', run.cost_usd !== null && usd(run.cost_usd)],
            ['Error', run.error && <span className="text-seal">{run.error.message}</span>],
            ['Code', run.error?.code && <code className="font-mono">{run.error.code}</code>],
            ['Webhook ID', run.webhook_id && <code className="font-mono break-all">{run.webhook_id}</code>],
            [
              'Chat',
              run.chat_id && (
                <Link to="/chats/$id" params={{ id: run.chat_id }} className="link">
                  View conversation
                </Link>
              ),
            ],
            [
              'Operation',
              run.operation_id && (
                <Link to="/operations/$id" params={{ id: run.operation_id }} className="link">
                  View command
                </Link>
              ),
            ],
          ]}
        />
      </Section>
    </Page>
  )
}

function RunLog({ run }: { run: AutomationRun }) {
  if (run.chat_id !== null && run.run_id !== null) return <AgentLog chatId={run.chat_id} runId={run.run_id} />
  if (run.operation_id !== null) return <CommandLog operationId={run.operation_id} going={isGoing(run)} />
  return (
    <p className="text-sm text-quiet">
      {run.status === 'skipped'
        ? `Skipped: ${run.skip_reason ? saysSkip[run.skip_reason] : 'no reason given'}.`
        : isGoing(run)
          ? 'Waiting to start.'
          : (run.error?.message ?? 'This run didn’t start.')}
    </p>
  )
}

function RunActions({ run, mayRun, active }: { run: AutomationRun; mayRun: boolean; active: boolean }) {
  const ids = { id: run.automation_id, runId: run.id }
  const cancel = useSend(uk.automations.cancel, async () => {
    await refreshAutomations()
    say('Run stopped')
  })
  const retry = useSend(uk.automations.retry, () => refreshAutomations())
  if (!mayRun) return null
  return (
    <div className="flex flex-col items-end gap-2">
      {isGoing(run) && (
        <Button look="danger-plain" pending={cancel.pending} onClick={() => void cancel.send(ids)}>
          Stop run
        </Button>
      )}
      {active && ['failed', 'timed_out', 'cancelled'].includes(run.status) && (
        <Button look="primary" pending={retry.pending} onClick={() => void retry.send(ids)}>
          Retry run
        </Button>
      )}
      <Refused>{cancel.rest() ?? retry.rest()}</Refused>
    </div>
  )
}
