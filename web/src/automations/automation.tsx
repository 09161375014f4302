import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { uk } from '../shared/api.ts'
import { refusal, sayError } from '../ui/calls/errors.ts'
import { type Place, usePlace } from '../shared/rights.ts'
import { Button } from '../ui/button.tsx'
import { Confirm } from '../ui/dialogs/dialog.tsx'
import { type Action, Actions } from '../ui/dialogs/menu.tsx'
import { say } from '../ui/toast/toast.tsx'
import { Paged } from '../ui/more.tsx'
import { Empty, Failure, Refused, Waiting } from '../ui/notice.tsx'
import { Page, Section, Tag } from '../ui/page.tsx'
import { useSend } from '../ui/calls/send.ts'
import { Ago } from '../ui/text/time.tsx'
import { AutomationDialog } from './form/automation-dialog.tsx'
import { Firings } from './form/firings.tsx'
import { type Automation, type AutomationRun, automationQuery, refreshAutomations, runsQuery } from './queries.ts'
import { RunRow } from './run-row.tsx'
import { RunBars } from './runs/bars.tsx'
import { Webhook } from './webhook.tsx'
import { isOnce, saysPause } from './words.ts'
import { Setup } from './setup.tsx'

export function AutomationPage() {
  const { id } = useParams({ from: '/shell/automations/$id' })
  const { data: automation, error, refetch } = useQuery(automationQuery(id))
  const place = usePlace(automation?.workspace_id)
  const runs = useInfiniteQuery({ ...runsQuery(id), enabled: automation !== undefined })
  if (!automation)
    return (
      <Page title="Automation" lead="An agent or command that runs on a schedule or by webhook.">
        {!error ? (
          <Waiting what="the automation" />
        ) : refusal(error)?.status === 404 ? (
          <Empty title="Not found">This automation doesn’t exist, or you don’t have access to it.</Empty>
        ) : (
          <Failure what="This automation" error={error} again={refetch} />
        )}
      </Page>
    )
  const rows = runs.data?.pages.flatMap((page) => page.rows) ?? []
  const { name, kind, schedule, time_zone, status, paused_reason, next_run_at } = automation
  return (
    <Page
      title={name}
      lead={
        <>
          <Link to="/automations" className="link">
            Automations
          </Link>
          {place.workspace && ` · ${place.workspace.name}`}
          {place.workspace && !place.may('automation:write') && ` · view only (${place.workspace.role})`}
        </>
      }
      action={<AutomationActions automation={automation} place={place} />}
    >
      {(paused_reason !== null || status === 'archived') && (
        <Paused automation={automation} place={place} last={rows.find(({ error: why }) => why !== null)} />
      )}
      {kind === 'cron' && (
        <Section
          title="Next runs"
          about={
            next_run_at === null
              ? undefined
              : `In your local time. The schedule uses the time zone ${(time_zone ?? 'UTC').replaceAll('_', ' ')}.`
          }
        >
          {next_run_at !== null ? (
            <Firings schedule={schedule ?? ''} timeZone={time_zone ?? 'UTC'} />
          ) : (
            <p className="text-sm text-quiet">
              {isOnce(schedule) && status === 'active' && paused_reason === null
                ? 'This automation was scheduled once, and its time has passed.'
                : 'No runs are scheduled until you resume this automation.'}
            </p>
          )}
        </Section>
      )}
      <Section title="Runs" about="Newest first. Skipped runs are included with their reason.">
        <RunBars id={id} runs={rows} />
        <Paged
          query={runs}
          what="the runs"
          label="Runs"
          none={<Empty title="No runs yet">Select “Run now” to start a run outside the schedule.</Empty>}
        >
          {(run) => <RunRow run={run} />}
        </Paged>
      </Section>
      {kind === 'webhook' && (
        <Webhook automation={automation} mayRotate={status === 'active' && place.may('automation:write')} />
      )}
      <Setup automation={automation} />
    </Page>
  )
}

function AutomationActions({ automation, place }: { automation: Automation; place: Place }) {
  const { id, name, status } = automation
  const navigate = useNavigate()
  const [changing, setChanging] = useState(false)
  const [deleting, setDeleting] = useState(false)
  const fire = useSend(uk.automations.test_fire, async (run) => {
    await refreshAutomations()
    if (run.status === 'skipped') return say('Skipped because an earlier run is still active')
    await navigate({ to: '/automations/$id/runs/$run', params: { id, run: run.id } })
  })
  const archive = async (): Promise<void> => {
    try {
      await uk.automations.archive({ id })
      say(`Archived ${name}`)
    } catch (error) {
      say(sayError(error))
    }
    await refreshAutomations()
  }
  const writes = place.may('automation:write')
  const actions: Action[] = writes
    ? [
        ...(status === 'active' ? [{ label: 'Archive', run: () => void archive() }] : []),
        { label: 'Delete …', danger: true, run: () => setDeleting(true) },
      ]
    : []
  return (
    <div className="flex max-w-full flex-col items-end gap-2">
      <div className="flex flex-wrap items-center gap-2">
        {place.may('automation:run') && status === 'active' && (
          <Button look="primary" pending={fire.pending} onClick={() => void fire.send({ id })}>
            Run now
          </Button>
        )}
        {writes && <Button onClick={() => setChanging(true)}>Edit</Button>}
        {actions.length > 0 && <Actions label={`More actions for ${name}`} actions={actions} />}
      </div>
      <Refused>{fire.rest()}</Refused>
      {changing && (
        <AutomationDialog
          before={automation}
          workspaces={[]}
          open={changing}
          onOpen={setChanging}
          onDone={() => say(`Saved changes to ${name}`)}
        />
      )}
      <Confirm
        open={deleting}
        onOpen={setDeleting}
        title={`Delete automation ${name}?`}
        verb="Delete automation"
        run={async () => {
          await uk.automations.delete({ id })
          await navigate({ to: '/automations' })
          void refreshAutomations()
        }}
      >
        <p>
          This deletes the automation and its run history permanently and stops any active run. Chats it created are
          kept.
        </p>
      </Confirm>
    </div>
  )
}

function Paused({
  automation: { id, name, paused_reason, paused_at },
  place,
  last,
}: {
  automation: Automation
  place: Place
  last: AutomationRun | undefined
}) {
  const back = useSend(uk.automations.unarchive, async () => {
    await refreshAutomations()
    say(`Resumed ${name}`)
  })
  return (
    <div className="mb-8 border border-seal/45 bg-sheet px-4 py-4">
      <div className="flex flex-wrap items-start gap-x-4 gap-y-3">
        <div className="min-w-0 flex-1 basis-64">
          <p className="font-medium">
            <Tag tone="bad">{paused_reason === null ? 'archived' : 'paused'}</Tag>{' '}
            {paused_reason === null ? 'This automation is archived and doesn’t run.' : saysPause[paused_reason]}
            {paused_at && (
              <span className="font-normal text-quiet">
                {' '}
                <Ago time={paused_at} />
              </span>
            )}
          </p>
          {paused_reason !== null && last?.error && (
            <p className="mt-1 text-sm break-words">
              Its last error:{' '}
              <Link to="/automations/$id/runs/$run" params={{ id, run: last.id }} className="link">
                {last.error.message}
              </Link>
            </p>
          )}
        </div>
        {place.may('automation:write') && (
          <Button look="primary" pending={back.pending} onClick={() => void back.send({ id })}>
            Resume automation
          </Button>
        )}
      </div>
      <div className="mt-3 empty:hidden">
        <Refused>{back.rest()}</Refused>
      </div>
    </div>
  )
}
