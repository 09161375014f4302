import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { usePlacesFor } from '../shared/rights.ts'
import { workspacesQuery } from '../shared/session.ts'
import { Button } from '../ui/button.tsx'
import { say } from '../ui/toast/toast.tsx'
import { SelectField } from '../ui/field.tsx'
import { Paged } from '../ui/more.tsx'
import { Empty } from '../ui/notice.tsx'
import { Page, Tag } from '../ui/page.tsx'
import { Ago } from '../ui/text/time.tsx'
import { type AutomationsView, automationsViewIn } from '../shared/views/lists.ts'
import { AutomationDialog } from './form/automation-dialog.tsx'
import { type Automation, automationsQuery } from './queries.ts'
import { type Secrets, ShownSecrets } from './webhook.tsx'
import { isOnce } from './words.ts'
import { momentIn, ownZone } from './zone.ts'

export function AutomationsPage() {
  const { workspace, status = 'active', new: fresh } = useSearch({ from: '/shell/automations' })
  const navigate = useNavigate({ from: '/automations' })
  const { data: workspaces = [] } = useQuery(workspacesQuery)
  const writable = usePlacesFor('automation:write')
  const query = useInfiniteQuery(automationsQuery(status, workspace))
  const [made, setMade] = useState<(Secrets & { id: string }) | null>(null)
  const look = (change: { [K in keyof AutomationsView]: AutomationsView[K] | undefined }): void =>
    void navigate({ search: (now) => automationsViewIn({ ...now, ...change }) })
  const open = (id: string): void => void navigate({ to: '/automations/$id', params: { id } })
  return (
    <Page
      title="Automations"
      lead="Run agents and commands on a schedule or by webhook."
      action={
        writable.length > 0 && (
          <Button look="primary" icon="plus" onClick={() => look({ new: '' })}>
            Create automation
          </Button>
        )
      }
    >
      <div className="mb-6 flex flex-wrap items-end gap-4">
        <SelectField
          label="Workspace"
          className="w-full max-w-64"
          value={workspace ?? ''}
          onValue={(id) => look({ workspace: id || undefined })}
          options={[['', 'All'], ...workspaces.map(({ id, name }) => [id, name] as const)]}
        />
        <label className="flex h-9 items-center gap-2 text-sm">
          <input
            type="checkbox"
            checked={status === 'archived'}
            onChange={({ target }) => look({ status: target.checked ? 'archived' : undefined })}
          />
          Archived
        </label>
      </div>
      <Paged
        query={query}
        what="the automations"
        label="Automations"
        none={
          status === 'archived' ? (
            <Empty title="No archived automations">
              Archived automations don’t run. You can restore them at any time.
            </Empty>
          ) : (
            <Empty title="No automations yet">
              <p>
                Automations run an agent or a command on a schedule, such as “every weekday at nine”, or by webhook.
              </p>
              <p className="mt-2">
                You can trigger a run manually at any time, and see the result and cost of every run.
              </p>
            </Empty>
          )
        }
      >
        {(automation) => (
          <Row automation={automation} place={workspaces.find(({ id }) => id === automation.workspace_id)?.name} />
        )}
      </Paged>
      {fresh !== undefined && writable.length > 0 && (
        <AutomationDialog
          before={null}
          workspaces={writable}
          agentId={fresh}
          preferred={workspace}
          open
          onOpen={(next) => !next && look({ new: undefined })}
          onDone={(done) => {
            say(`Created ${done.name}`)
            if ('token' in done && done.token !== null)
              setMade({ id: done.id, token: done.token, secret: done.secret! })
            else open(done.id)
          }}
        />
      )}
      {made && <ShownSecrets id={made.id} secrets={made} onDone={() => open(made.id)} />}
    </Page>
  )
}

function Row({ automation, place }: { automation: Automation; place: string | undefined }) {
  const { id, name, kind, schedule, next_run_at, last_run_at, paused_reason, action } = automation
  return (
    <div className="flex flex-wrap items-baseline gap-x-4 gap-y-1">
      <div className="min-w-0 flex-1 basis-56">
        <p>
          <Link to="/automations/$id" params={{ id }} className="link font-medium break-words">
            {name}
          </Link>{' '}
          {paused_reason !== null && <Tag tone="bad">paused</Tag>}
        </p>
        <p className="text-[0.8125rem] break-words text-quiet">
          {action.type === 'agent' ? 'Agent' : 'Command'}
          {place && ` in ${place}`}
          {last_run_at && (
            <>
              , last run <Ago time={last_run_at} />
            </>
          )}
        </p>
      </div>
      <p className="figures text-sm text-quiet">
        {next_run_at ? (
          <>
            next <time dateTime={next_run_at}>{momentIn(next_run_at, ownZone())}</time>
          </>
        ) : kind === 'webhook' ? (
          'by webhook'
        ) : isOnce(schedule) && paused_reason === null ? (
          'finished'
        ) : (
          'no more runs'
        )}
      </p>
    </div>
  )
}
