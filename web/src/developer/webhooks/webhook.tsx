import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { uk } from '../../shared/api.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/dialogs/dialog.tsx'
import { Actions } from '../../ui/dialogs/menu.tsx'
import { say } from '../../ui/toast/toast.tsx'
import { Facts } from '../../ui/facts.tsx'
import { SelectField } from '../../ui/field.tsx'
import { Paged } from '../../ui/more.tsx'
import { Empty, Failure, Refused, Waiting } from '../../ui/notice.tsx'
import { Section } from '../../ui/page.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { moment } from '../../ui/text/format.ts'
import { Ago } from '../../ui/text/time.tsx'
import { useFollowWorkspace } from '../follow-workspace.ts'
import { DeveloperPage } from '../frame.tsx'
import { DeliveryRow } from './delivery.tsx'
import { type Delivery, type Webhook, deliveriesQuery, refreshWebhooks, webhookQuery } from './queries.ts'
import { WebhookStatus, sayEvents } from './status.tsx'
import { ChangeWebhookDialog, RotateSecretDialog } from './webhook-dialogs.tsx'

export function WebhookPage() {
  const { id } = useParams({ from: '/shell/developer/webhooks/$id' })
  const { data: webhook, error, refetch } = useQuery(webhookQuery(id))
  useFollowWorkspace(webhook?.workspace_id, 'webhooks')
  const test = useSend(uk.webhooks.test, async () => {
    await refreshWebhooks()
    say('Test event sent')
  })
  return (
    <DeveloperPage
      title={webhook?.name ?? 'Webhook'}
      lead={webhook ? <span className="font-mono text-sm break-all">{webhook.url}</span> : 'Sends events to a URL.'}
      action={
        webhook && (
          <div className="flex gap-2">
            <Button
              look="primary"
              pending={test.pending}
              disabled={webhook.status === 'disabled'}
              onClick={() => void test.send({ id })}
            >
              Send test event
            </Button>
            <More webhook={webhook} />
          </div>
        )
      }
    >
      <Refused>{test.rest()}</Refused>
      {error && !webhook ? (
        <Failure what="The webhook" error={error} again={refetch} />
      ) : !webhook ? (
        <Waiting what="the webhook" />
      ) : (
        <>
          <Facts
            facts={[
              ['Status', <WebhookStatus key="state" webhook={webhook} />],
              ['Events', sayEvents(webhook.events)],
              ['Last delivery', webhook.last_success_at ? <Ago time={webhook.last_success_at} /> : 'never'],
              ['Failing since', webhook.failing_since && moment(webhook.failing_since)],
              [
                'Old secret',
                webhook.secret_rotation_ends_at && `valid until ${moment(webhook.secret_rotation_ends_at)}`,
              ],
              ['Created', moment(webhook.created_at)],
            ]}
          />
          <Deliveries webhook={webhook} />
        </>
      )}
    </DeveloperPage>
  )
}

function More({ webhook }: { webhook: Webhook }) {
  const { id, name, status, updated_at } = webhook
  const navigate = useNavigate()
  const [open, setOpen] = useState<'change' | 'rotate' | 'delete' | null>(null)
  const at = (one: typeof open) => ({ open: open === one, onOpen: (next: boolean) => setOpen(next ? one : null) })
  const turn = useSend(uk.webhooks.update, refreshWebhooks)
  return (
    <>
      <Actions
        label={`More actions for ${name}`}
        actions={[
          { label: 'Edit …', run: () => setOpen('change') },
          { label: 'Rotate secret …', run: () => setOpen('rotate') },
          status === 'enabled'
            ? { label: 'Turn off', run: () => void turn.send({ id, status: 'disabled' }) }
            : { label: 'Turn on', run: () => void turn.send({ id, status: 'enabled' }) },
          { label: 'Delete …', run: () => setOpen('delete'), danger: true },
        ]}
      />
      <Refused>{turn.rest()}</Refused>
      <ChangeWebhookDialog key={`change ${updated_at}`} {...at('change')} webhook={webhook} />
      <RotateSecretDialog key={`rotate ${open === 'rotate'}`} {...at('rotate')} webhook={webhook} />
      <Confirm
        {...at('delete')}
        title={`Delete webhook ${name}?`}
        verb="Delete webhook"
        run={async () => {
          await uk.webhooks.delete({ id })
          say(`Deleted ${name}`)
          await navigate({ to: '/developer/webhooks', search: { workspace: webhook.workspace_id } })
          await refreshWebhooks()
        }}
      >
        <p>This stops all deliveries and deletes the delivery log. You can’t undo this.</p>
      </Confirm>
    </>
  )
}

const statuses = [
  ['', 'All'],
  ['waiting', 'Waiting'],
  ['succeeded', 'Succeeded'],
  ['failed', 'Failed'],
  ['cancelled', 'Canceled'],
] as const

function Deliveries({ webhook: { id, status: state } }: { webhook: Webhook }) {
  const { status } = useSearch({ from: '/shell/developer/webhooks/$id' })
  const navigate = useNavigate()
  const query = useInfiniteQuery(deliveriesQuery(id, status))
  const choose = (value: Delivery['status'] | '') =>
    void navigate({
      to: '/developer/webhooks/$id',
      params: { id },
      search: value === '' ? {} : { status: value },
      replace: true,
      resetScroll: false,
    })
  return (
    <Section
      title="Deliveries"
      about="Kept for a month. Deliveries without a 2xx response within 15 seconds are retried 11 times over a day."
      action={<SelectField label="Status" className="w-40" value={status ?? ''} onValue={choose} options={statuses} />}
    >
      <Paged
        query={query}
        what="the deliveries"
        label="Deliveries"
        none={
          <Empty title={status ? 'No matching deliveries' : 'No deliveries yet'}>
            {status ? (
              <Link to="/developer/webhooks/$id" params={{ id }} search={{}} className="link">
                Show all deliveries
              </Link>
            ) : (
              'Events are sent as they happen. Send a test event to try it now.'
            )}
          </Empty>
        }
      >
        {(delivery) => <DeliveryRow delivery={delivery} endpointOn={state === 'enabled'} />}
      </Paged>
    </Section>
  )
}
