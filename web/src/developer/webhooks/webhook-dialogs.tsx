import { useState } from 'react'
import { uk } from '../../shared/api.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import type { OpenState } from '../../ui/dialogs/dialog-props.ts'
import { ShownOnce } from '../../ui/dialogs/shown-once.tsx'
import { say } from '../../ui/toast/toast.tsx'
import { TextField } from '../../ui/field.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { type Overlap, OverlapField } from '../../shared/keys/overlap-field.tsx'
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
        label="URL"
        type="url"
        inputMode="url"
        mono
        placeholder="https://"
        hint="Receives a signed POST request for each event."
        value={draft.url}
        onValue={(url) => onDraft({ ...draft, url })}
        error={at('url')}
      />
      <EventPicker events={draft.events} onEvents={(events) => onDraft({ ...draft, events })} error={at('events')} />
    </>
  )
}

export function NewWebhookDialog({ open, onOpen, workspaceId }: OpenState & { workspaceId: string }) {
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
  if (made) return <ShownSecret open={open} onOpen={close} made={made} title={`Secret of ${made.name}`} />
  return (
    <FormDialog
      open={open}
      onOpen={close}
      wide
      title="Create webhook"
      about="Sends events of this workspace that you can read to your program."
      sending={sending}
      fields={FIELDS}
      verb="Create webhook"
      onSend={() => void sending.send({ workspace_id: workspaceId, ...draft })}
    >
      <Fields draft={draft} onDraft={setDraft} at={sending.at} />
    </FormDialog>
  )
}

export function ChangeWebhookDialog({ open, onOpen, webhook }: OpenState & { webhook: Webhook }) {
  const { id, name, url, events } = webhook
  const [draft, setDraft] = useState<Draft>({ name, url, events })
  const sending = useSend(
    () => uk.webhooks.update({ id, ...draft }),
    async () => {
      await refreshWebhooks()
      say(`Saved changes to ${draft.name.trim()}`)
      onOpen(false)
    },
  )
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      wide
      title={`Edit webhook ${name}`}
      about="From now on, the webhook sends only events that you can read."
      sending={sending}
      fields={FIELDS}
      verb="Save webhook"
      onSend={() => void sending.send(undefined)}
    >
      <Fields draft={draft} onDraft={setDraft} at={sending.at} />
    </FormDialog>
  )
}

export function RotateSecretDialog({ open, onOpen, webhook }: OpenState & { webhook: Webhook }) {
  const [overlap, setOverlap] = useState<Overlap>('86400')
  const [made, setMade] = useState<Webhook | null>(null)
  const sending = useSend(uk.webhooks.rotate_secret, async (changed) => {
    setMade(changed)
    await refreshWebhooks()
  })
  if (made) return <ShownSecret open={open} onOpen={onOpen} made={made} title={`New secret of ${webhook.name}`} />
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title={`Rotate secret of ${webhook.name}`}
      about="Until the old secret expires, each delivery is signed with both secrets."
      sending={sending}
      fields={['overlap_seconds']}
      verb="Rotate secret"
      onSend={() => void sending.send({ id: webhook.id, overlap_seconds: Number(overlap) })}
    >
      <OverlapField
        label="Old secret expires"
        hint="Gives you time to update the program that verifies signatures."
        value={overlap}
        onValue={setOverlap}
        sending={sending}
      />
    </FormDialog>
  )
}

function ShownSecret({ made, ...dialog }: OpenState & { made: Webhook; title: string }) {
  return (
    <ShownOnce
      {...dialog}
      about="Copy this secret now. It can’t be shown again. Anyone who has it can sign requests as this server."
      what="secret"
      value={made.secret ?? ''}
    >
      <p className="mt-4 text-sm text-quiet">
        Deliveries are signed after Standard Webhooks, whose libraries exist for most languages.{' '}
        <a className="link" href="/docs/guides/webhooks">
          How to verify signatures
        </a>
        , with receivers that run.
      </p>
    </ShownOnce>
  )
}
