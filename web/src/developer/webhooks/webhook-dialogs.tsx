import { useState } from 'react'
import { uk } from '../../api.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import type { Opened } from '../../ui/dialogs/dialog-props.ts'
import { ShownOnce } from '../../ui/dialogs/shown-once.tsx'
import { say } from '../../ui/dialogs/toast.tsx'
import { TextField } from '../../ui/field.tsx'
import { useSend } from '../../ui/send.ts'
import { type Overlap, OverlapField } from '../overlap-field.tsx'
import { EventPicker } from './event-picker.tsx'
import { type Webhook, refreshWebhooks } from './queries.ts'

interface Draft {
  name: string
  url: string
  events: string[]
}
const FIELDS = ['name', 'url', 'events']

function Fields({
  draft,
  onDraft,
  at,
}: {
  draft: Draft
  onDraft: (draft: Draft) => void
  at: (field: string) => string | null
}) {
  return (
    <>
      <TextField
        label="Name"
        value={draft.name}
        onValue={(name) => onDraft({ ...draft, name })}
        error={at('name')}
        autoComplete="off"
      />
      <TextField
        label="Address"
        type="url"
        inputMode="url"
        mono
        placeholder="https://"
        hint="Gets a POST for each event, signed with a secret."
        value={draft.url}
        onValue={(url) => onDraft({ ...draft, url })}
        error={at('url')}
      />
      <EventPicker events={draft.events} onEvents={(events) => onDraft({ ...draft, events })} error={at('events')} />
    </>
  )
}

/** First the form; then the secret, this once. */
export function NewWebhookDialog({ open, onOpen, workspaceId }: Opened & { workspaceId: string }) {
  const [draft, setDraft] = useState<Draft>({ name: '', url: '', events: ['*'] })
  const [made, setMade] = useState<Webhook | null>(null)
  const sending = useSend(uk.webhooks.create, async (webhook) => {
    setMade(webhook)
    await refreshWebhooks()
  })
  const close = (next: boolean) => {
    if (!next && made) setDraft({ name: '', url: '', events: ['*'] })
    if (!next) {
      setMade(null)
      sending.reset()
    }
    onOpen(next)
  }
  if (made) return <ShownSecret open={open} onOpen={close} made={made} title={`The secret of ${made.name}`} />
  return (
    <FormDialog
      open={open}
      onOpen={close}
      wide
      title="New webhook"
      about="Has events of this workspace sent to a program of yours, as far as you may read them."
      sending={sending}
      fields={FIELDS}
      verb="Create webhook"
      onSend={() => void sending.send({ workspace_id: workspaceId, ...draft })}
    >
      <Fields draft={draft} onDraft={setDraft} at={sending.at} />
    </FormDialog>
  )
}

export function ChangeWebhookDialog({ open, onOpen, webhook }: Opened & { webhook: Webhook }) {
  const { id, name, url, events } = webhook
  const [draft, setDraft] = useState<Draft>({ name, url, events })
  const sending = useSend(
    () => uk.webhooks.update({ id, ...draft }),
    async () => {
      await refreshWebhooks()
      say(`${draft.name.trim()} is changed`)
      onOpen(false)
    },
  )
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      wide
      title={`Change ${name}`}
      about="You answer for what is sent from now on: only events that you may read are."
      sending={sending}
      fields={FIELDS}
      verb="Save"
      onSend={() => void sending.send(undefined)}
    >
      <Fields draft={draft} onDraft={setDraft} at={sending.at} />
    </FormDialog>
  )
}

export function RotateSecretDialog({ open, onOpen, webhook }: Opened & { webhook: Webhook }) {
  const [overlap, setOverlap] = useState<Overlap>('86400')
  const [made, setMade] = useState<Webhook | null>(null)
  const sending = useSend(uk.webhooks.rotate_secret, async (changed) => {
    setMade(changed)
    await refreshWebhooks()
  })
  if (made) return <ShownSecret open={open} onOpen={onOpen} made={made} title={`The new secret of ${webhook.name}`} />
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title={`Make another secret for ${webhook.name}`}
      about="Until the old one ends, each delivery carries a signature of both."
      sending={sending}
      fields={['overlap_seconds']}
      verb="Make another secret"
      onSend={() => void sending.send({ id: webhook.id, overlap_seconds: Number(overlap) })}
    >
      <OverlapField
        label="The old secret ends"
        hint="Time to put the new one where signatures are checked."
        value={overlap}
        onValue={setOverlap}
        sending={sending}
      />
    </FormDialog>
  )
}

/** The only moment at which a secret can be read. */
function ShownSecret({ made, ...dialog }: Opened & { made: Webhook; title: string }) {
  return (
    <ShownOnce
      {...dialog}
      about="Copy it now: it is not shown again. Whoever has it can sign as this server."
      what="secret"
      value={made.secret ?? ''}
    >
      <p className="mt-4 text-sm text-quiet">
        Deliveries are signed after Standard Webhooks, whose libraries exist for most languages.{' '}
        <a className="link" href="/docs/guides/webhooks">
          How to check a signature
        </a>
        , with receivers that run.
      </p>
    </ShownOnce>
  )
}
