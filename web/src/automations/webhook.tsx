import { useState } from 'react'
import { uk } from '../shared/api.ts'
import { Button } from '../ui/button.tsx'
import { Copy } from '../ui/copy.tsx'
import { Dialog } from '../ui/dialogs/dialog.tsx'
import { FormDialog } from '../ui/dialogs/form-dialog.tsx'
import { SelectField } from '../ui/field.tsx'
import { Section } from '../ui/page.tsx'
import { useSend } from '../ui/calls/send.ts'
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
      about="Call it with the token, or sign requests with the secret as defined by Standard Webhooks. A repeated webhook-id doesn’t start another run."
      action={mayRotate && <Button onClick={() => setAsking(true)}>Rotate secrets</Button>}
    >
      <Snippets label="Example call" examples={[{ name: 'curl', code: curlWith(id, '$TOKEN') }]} />
      <FormDialog
        open={asking}
        onOpen={setAsking}
        title={`Rotate secrets of ${name}`}
        about="Creates a new token and a new secret, shown only once."
        sending={sending}
        fields={[]}
        verb="Rotate secrets"
        onSend={() => void sending.send({ id, overlap_seconds: Number(overlap) })}
      >
        <SelectField
          label="Old secrets expire"
          value={overlap}
          onValue={setOverlap}
          options={[
            ['0', 'Immediately'],
            ['3600', 'In 1 hour'],
            ['86400', 'In 1 day'],
            ['604800', 'In 1 week'],
          ]}
        />
      </FormDialog>
      {shown && <ShownSecrets id={id} secrets={shown} onDone={() => setShown(null)} />}
    </Section>
  )
}

export function ShownSecrets({ id, secrets, onDone }: { id: string; secrets: Secrets; onDone: () => void }) {
  return (
    <Dialog
      open
      onOpen={(open) => !open && onDone()}
      insistent
      wide
      title="Webhook token and secret"
      about="Copy them now. They can’t be shown again."
      footer={<Button onClick={onDone}>I’ve stored them</Button>}
    >
      <dl className="space-y-4">
        {(
          [
            ['Token', secrets.token, 'for Authorization: Bearer'],
            ['Secret', secrets.secret, 'for Standard Webhooks signatures'],
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
        <p className="mb-1 text-sm font-medium">Try it</p>
        <Snippets label="Example call" examples={[{ name: 'curl', code: curlWith(id, secrets.token) }]} />
      </div>
    </Dialog>
  )
}
