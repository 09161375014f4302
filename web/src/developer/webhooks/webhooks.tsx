import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { workspacesQuery } from '../../shared/session.ts'
import { Button } from '../../ui/button.tsx'
import { SelectField } from '../../ui/field.tsx'
import { Empty, Failure, Waiting } from '../../ui/notice.tsx'
import { Rows } from '../../ui/page.tsx'
import { Ago } from '../../ui/text/time.tsx'
import { useFollowWorkspace } from '../follow-workspace.ts'
import { DeveloperPage } from '../frame.tsx'
import { type Webhook, webhooksQuery } from './queries.ts'
import { WebhookStatus, sayEvents } from './status.tsx'
import { NewWebhookDialog } from './webhook-dialogs.tsx'

const lead = 'Send events of a workspace to your programs as they happen.'

export function Webhooks() {
  const { workspace: chosen } = useSearch({ from: '/shell/developer/webhooks' })
  const { data: workspaces, error, refetch } = useQuery(workspacesQuery)
  const administered = workspaces?.filter(({ role }) => role === 'admin' || role === 'owner')
  const shown =
    administered?.find(({ id }) => id === chosen) ??
    administered?.find(({ kind }) => kind === 'personal') ??
    administered?.[0]
  const navigate = useNavigate()
  const [open, setOpen] = useState(false)
  const create = (
    <Button look="primary" icon="plus" onClick={() => setOpen(true)}>
      Create webhook
    </Button>
  )
  return (
    <DeveloperPage title="Webhooks" lead={lead} action={shown && create}>
      {error && !workspaces ? (
        <Failure what="Your workspaces" error={error} again={refetch} />
      ) : !administered ? (
        <Waiting what="your workspaces" />
      ) : !shown ? (
        <Empty title="No access to webhooks">
          Only workspace admins can create webhooks. Ask an admin of your workspace.
        </Empty>
      ) : (
        <>
          {administered.length > 1 && (
            <SelectField
              label="Workspace"
              className="mb-5 max-w-sm"
              value={shown.id}
              onValue={(workspace) =>
                void navigate({ to: '/developer/webhooks', search: { workspace }, replace: true })
              }
              options={administered.map(({ id, name }) => [id, name] as const)}
            />
          )}
          <List key={shown.id} workspaceId={shown.id} />
          <NewWebhookDialog key={`new ${shown.id}`} open={open} onOpen={setOpen} workspaceId={shown.id} />
        </>
      )}
    </DeveloperPage>
  )
}

function List({ workspaceId }: { workspaceId: string }) {
  const { data: webhooks, error, refetch } = useQuery(webhooksQuery(workspaceId))
  useFollowWorkspace(workspaceId, 'webhooks')
  if (error && !webhooks) return <Failure what="The webhooks" error={error} again={refetch} />
  if (!webhooks) return <Waiting what="the webhooks" />
  if (webhooks.length === 0)
    return (
      <Empty title="No webhooks yet">
        Webhooks send the events you select to a URL, signed. Failed deliveries are retried for a day, and the log is
        kept for a month.
      </Empty>
    )
  return (
    <Rows label="Webhooks">
      {webhooks.map((webhook) => (
        <Row key={webhook.id} webhook={webhook} />
      ))}
    </Rows>
  )
}

function Row({ webhook }: { webhook: Webhook }) {
  const { id, name, url, events, last_success_at, failing_since } = webhook
  return (
    <li className="flex flex-wrap items-baseline gap-x-5 gap-y-1 px-4 py-3.5">
      <div className="min-w-0 flex-1 basis-72">
        <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <Link to="/developer/webhooks/$id" params={{ id }} className="link font-medium break-words">
            {name}
          </Link>
          <WebhookStatus webhook={webhook} />
        </p>
        <p className="mt-0.5 font-mono text-[0.8125rem] break-all text-quiet">{url}</p>
        <p className="mt-0.5 text-[0.8125rem] break-words text-quiet">{sayEvents(events)}</p>
      </div>
      <p className="text-[0.8125rem] text-quiet">
        {failing_since !== null ? (
          <>
            failing since <Ago time={failing_since} />
          </>
        ) : last_success_at === null ? (
          'no deliveries yet'
        ) : (
          <>
            delivered <Ago time={last_success_at} />
          </>
        )}
      </p>
    </li>
  )
}
