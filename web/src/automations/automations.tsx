import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { usePlacesFor } from '../rights.ts'
import { workspacesQuery } from '../session.ts'
import { Button } from '../ui/button.tsx'
import { say } from '../ui/dialogs/toast.tsx'
import { SelectField } from '../ui/field.tsx'
import { Paged } from '../ui/more.tsx'
import { Empty } from '../ui/notice.tsx'
import { Page, Tag } from '../ui/page.tsx'
import { Ago } from '../ui/text/time.tsx'
import { type AutomationsView, automationsViewIn } from '../views.ts'
import { AutomationDialog } from './form/automation-dialog.tsx'
import { type Automation, automationsQuery } from './queries.ts'
import { type Secrets, ShownSecrets } from './webhook.tsx'
import { isOnce } from './words.ts'
import { momentIn, ownZone } from './zone.ts'

/** All automations that the person reads, with what comes next. */
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
      lead="Agents and commands that are set to work by the clock or by a webhook."
      action={
        writable.length > 0 && (
          <Button look="primary" icon="plus" onClick={() => look({ new: '' })}>
            New automation
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
          Archived ones
        </label>
      </div>
      <Paged
        query={query}
        what="the automations"
        label="Automations"
        none={
          status === 'archived' ? (
            <Empty title="Nothing archived">What is archived fires no more, and stays here.</Empty>
          ) : (
            <Empty title="No automation yet">
              <p>
                An automation tells an agent something, or runs a command: “every weekday at nine”, or by a webhook.
              </p>
              <p className="mt-2">It can be fired by hand before its time, and shows what it did and what it cost.</p>
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
            say(`${done.name} is set up`)
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
          {action.type === 'agent' ? 'an agent' : 'a command'}
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
          'by its webhook'
        ) : isOnce(schedule) && paused_reason === null ? (
          'has fired'
        ) : (
          'fires no more'
        )}
      </p>
    </div>
  )
}
