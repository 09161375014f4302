import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { queryClient, uk } from '../shared/api.ts'
import { Button } from '../ui/button.tsx'
import { Confirm, useOpen } from '../ui/dialogs/dialog.tsx'
import type { OpenState } from '../ui/dialogs/dialog-props.ts'
import { FormDialog } from '../ui/dialogs/form-dialog.tsx'
import { NameDialog } from '../ui/dialogs/name-dialog.tsx'
import { say } from '../ui/toast/toast.tsx'
import { TextField } from '../ui/field.tsx'
import { Empty, Failure, Waiting } from '../ui/notice.tsx'
import { Rows, Section, Tag } from '../ui/page.tsx'
import { useSend } from '../ui/calls/send.ts'
import { Ago } from '../ui/text/time.tsx'
import { addPasskey, hasPasskeys } from '../shared/sign-in/passkey.ts'
import type { Guard } from './proof.tsx'
import { type Passkey, passkeysQuery } from './queries.ts'
import { sayAgent } from './user-agent.ts'

const again = () => queryClient.invalidateQueries({ queryKey: ['passkeys'] })

export function Passkeys({ guard }: { guard: Guard }) {
  const { data: passkeys, error, refetch } = useQuery(passkeysQuery)
  const adding = useOpen<true>()
  const renaming = useOpen<Passkey>()
  const removing = useOpen<Passkey>()
  const add = (
    <Button look="primary" icon="plus" onClick={() => adding.show(true)}>
      Add passkey
    </Button>
  )
  return (
    <Section
      title="Passkeys"
      about="Sign in with a fingerprint, face, PIN or security key. Passkeys protect you from phishing."
      action={hasPasskeys() && passkeys?.length ? add : undefined}
    >
      {error && !passkeys ? (
        <Failure what="Your passkeys" error={error} again={refetch} />
      ) : !passkeys ? (
        <Waiting what="your passkeys" rows={1} />
      ) : passkeys.length === 0 ? (
        <Empty title="No passkeys yet" action={hasPasskeys() ? add : undefined}>
          {hasPasskeys()
            ? 'Add one to sign in without your password, which keeps working.'
            : 'Passkeys need HTTPS and a domain name. Open this instance by its domain name.'}
        </Empty>
      ) : (
        <Rows label="Passkeys">
          {passkeys.map((passkey) => (
            <li key={passkey.id} className="flex flex-wrap items-center gap-x-6 gap-y-2 px-4 py-3.5">
              <div className="min-w-0 flex-1 basis-60">
                <p className="flex flex-wrap items-center gap-2 font-medium break-words">
                  {passkey.name} {passkey.synced && <Tag>synced</Tag>}
                  {passkey.rp_id !== location.hostname && <Tag tone="warn">for {passkey.rp_id}</Tag>}
                </p>
                <p className="text-[0.8125rem] text-quiet">
                  added <Ago time={passkey.created_at} /> ·{' '}
                  {passkey.last_used_at ? (
                    <>
                      used <Ago time={passkey.last_used_at} />
                    </>
                  ) : (
                    'never used'
                  )}
                </p>
              </div>
              <div className="flex gap-2">
                <Button aria-label={`Rename ${passkey.name}`} onClick={() => renaming.show(passkey)}>
                  Rename
                </Button>
                <Button
                  look="danger-plain"
                  aria-label={`Remove passkey ${passkey.name}`}
                  onClick={() => removing.show(passkey)}
                >
                  Remove
                </Button>
              </div>
            </li>
          ))}
        </Rows>
      )}
      <AddDialog open={adding.open} onOpen={adding.onOpen} guard={guard} />
      {renaming.on && (
        <Rename key={renaming.on.id} passkey={renaming.on} open={renaming.open} onOpen={renaming.onOpen} />
      )}
      <Confirm
        open={removing.open}
        onOpen={removing.onOpen}
        title={`Remove passkey ${removing.on?.name ?? ''}?`}
        verb="Remove passkey"
        run={async () => {
          await guard(() => uk.passkeys.delete({ id: removing.on!.id }))
          await again()
          say('Passkey removed')
        }}
      >
        <p>
          You can’t sign in with this passkey anymore. Your device may keep offering it until you remove it there too.
        </p>
      </Confirm>
    </Section>
  )
}

function AddDialog({ open, onOpen, guard }: OpenState & { guard: Guard }) {
  const [name, setName] = useState(() => sayAgent(navigator.userAgent))
  const sending = useSend(
    (named: string) => guard(() => addPasskey(named)),
    async () => {
      onOpen(false)
      await again()
      say('Passkey added')
    },
  )
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title="Add passkey"
      about="Your browser asks where to save it."
      sending={sending}
      fields={['name']}
      verb="Add passkey"
      onSend={() => void sending.send(name)}
    >
      <TextField
        label="Name"
        hint="A name to recognize it by."
        value={name}
        onValue={setName}
        error={sending.at('name')}
      />
    </FormDialog>
  )
}

function Rename({ passkey: { id, name }, ...opened }: { passkey: Passkey } & OpenState) {
  return (
    <NameDialog
      {...opened}
      title={`Rename passkey ${name}`}
      verb="Rename passkey"
      before={name}
      call={(next) => uk.passkeys.update({ id, name: next })}
      done={again}
    />
  )
}
