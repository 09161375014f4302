import { useState } from 'react'
import { uk } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { Copy } from '../ui/copy.tsx'
import { Dialog } from '../ui/dialogs/dialog.tsx'
import { FormDialog } from '../ui/dialogs/form-dialog.tsx'
import { SelectField } from '../ui/field.tsx'
import { Section } from '../ui/page.tsx'
import { useSend } from '../ui/send.ts'
import { Snippets } from '../ui/snippet.tsx'
import type { Automation } from './queries.ts'

export interface Secrets {
  token: string
  secret: string
}

const addressOf = (id: string): string => `${location.origin}/v1/automations/${id}/fire`

const curlWith = (id: string, token: string): string =>
  `curl -X POST ${addressOf(id)} \\
  -H 'Authorization: Bearer ${token}' \\
  -H 'Content-Type: application/json' \\
  -d '{"hello": "world"}'`

/** The address of a webhook, how it is called, and new secrets for it. */
export function Webhook({ automation: { id, name }, mayRotate }: { automation: Automation; mayRotate: boolean }) {
  const [asking, setAsking] = useState(false)
  const [overlap, setOverlap] = useState('86400')
  const [shown, setShown] = useState<Secrets | null>(null)
  const sending = useSend(uk.automations.rotate_secret, ({ token, secret }) => {
    setAsking(false)
    setShown({ token: token!, secret: secret! })
  })
  return (
    <Section
      title="Webhook"
      about="Called with its token, or signed with its secret after Standard Webhooks. The same webhook-id twice is one run."
      action={mayRotate && <Button onClick={() => setAsking(true)}>New secrets</Button>}
    >
      <Snippets label="Calling the webhook" examples={[{ name: 'curl', code: curlWith(id, '$TOKEN') }]} />
      <FormDialog
        open={asking}
        onOpen={setAsking}
        title={`New secrets for ${name}`}
        about="A new token and a new secret are made, and shown once."
        sending={sending}
        fields={[]}
        verb="Make them"
        onSend={() => void sending.send({ id, overlap_seconds: Number(overlap) })}
      >
        <SelectField
          label="Those of now count"
          value={overlap}
          onValue={setOverlap}
          options={[
            ['0', 'no more, at once'],
            ['3600', 'for an hour'],
            ['86400', 'for a day'],
            ['604800', 'for a week'],
          ]}
        />
      </FormDialog>
      {shown && <ShownSecrets id={id} secrets={shown} onDone={() => setShown(null)} />}
    </Section>
  )
}

/** Token and secret, this once, with a call that works as it is. */
export function ShownSecrets({ id, secrets, onDone }: { id: string; secrets: Secrets; onDone: () => void }) {
  return (
    <Dialog
      open
      onOpen={(open) => !open && onDone()}
      insistent
      wide
      title="Its token and secret"
      about="Shown this once. Keep them where the caller keeps its secrets."
      footer={<Button onClick={onDone}>I have them</Button>}
    >
      <dl className="space-y-4">
        {(
          [
            ['Token', secrets.token, 'for Authorization: Bearer'],
            ['Secret', secrets.secret, 'for signatures after Standard Webhooks'],
          ] as const
        ).map(([name, value, about]) => (
          <div key={name}>
            <dt className="text-sm font-medium">
              {name} <span className="font-normal text-quiet">{about}</span>
            </dt>
            <dd className="mt-1 flex flex-wrap items-center gap-2">
              <code className="min-w-0 flex-1 basis-64 border border-line bg-sheet px-3 py-2 font-mono text-sm break-all select-all">
                {value}
              </code>
              <Copy text={value} label={`Copy ${name.toLowerCase()}`} />
            </dd>
          </div>
        ))}
      </dl>
      <div className="mt-5">
        <p className="mb-1 text-sm font-medium">Fire it to try</p>
        <Snippets label="Firing it" examples={[{ name: 'curl', code: curlWith(id, secrets.token) }]} />
      </div>
    </Dialog>
  )
}
