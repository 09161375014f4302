import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { queryClient, uk } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { Confirm, useOpen } from '../ui/dialogs/dialog.tsx'
import type { Opened } from '../ui/dialogs/dialog-props.ts'
import { FormDialog } from '../ui/dialogs/form-dialog.tsx'
import { NameDialog } from '../ui/dialogs/name-dialog.tsx'
import { say } from '../ui/dialogs/toast.tsx'
import { TextField } from '../ui/field.tsx'
import { Empty, Failure, Waiting } from '../ui/notice.tsx'
import { Rows, Section, Tag } from '../ui/page.tsx'
import { useSend } from '../ui/send.ts'
import { Ago } from '../ui/text/time.tsx'
import { addPasskey, hasPasskeys } from './passkey.ts'
import type { Guard } from './proof.tsx'
import { type Passkey, passkeysQuery } from './queries.ts'
import { sayAgent } from './user-agent.ts'

const again = () => queryClient.invalidateQueries({ queryKey: ['passkeys'] })

/** The passkeys of the account. */
export function Passkeys({ guard }: { guard: Guard }) {
  const { data: passkeys, error, refetch } = useQuery(passkeysQuery)
  const adding = useOpen<true>()
  const renaming = useOpen<Passkey>()
  const removing = useOpen<Passkey>()
  const add = (
    <Button look="primary" icon="plus" onClick={() => adding.show(true)}>
      Add a passkey
    </Button>
  )
  return (
    <Section
      title="Passkeys"
      about="Sign in with a fingerprint, a face, a PIN or a security key: nothing to type, and nothing that a false page could take from you."
      action={hasPasskeys() && passkeys?.length ? add : undefined}
    >
      {error && !passkeys ? (
        <Failure what="Your passkeys" error={error} again={refetch} />
      ) : !passkeys ? (
        <Waiting what="your passkeys" rows={1} />
      ) : passkeys.length === 0 ? (
        <Empty title="No passkeys yet" action={hasPasskeys() ? add : undefined}>
          {hasPasskeys()
            ? 'Your device keeps it, or your password manager. Your password goes on working beside it.'
            : 'Browsers make them for names and over https alone: open this instance by its name.'}
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
                    'not used yet'
                  )}
                </p>
              </div>
              <div className="flex gap-2">
                <Button aria-label={`Rename ${passkey.name}`} onClick={() => renaming.show(passkey)}>
                  Rename
                </Button>
                <Button
                  look="danger-plain"
                  aria-label={`Remove ${passkey.name}`}
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
        title={`Remove ${removing.on?.name ?? ''}?`}
        verb="Remove it"
        run={async () => {
          await guard(() => uk.passkeys.delete({ id: removing.on!.id }))
          await again()
          say('The passkey no longer signs in')
        }}
      >
        <p>It no longer signs in to this account. Your device may go on offering it until you remove it there too.</p>
      </Confirm>
    </Section>
  )
}

function AddDialog({ open, onOpen, guard }: Opened & { guard: Guard }) {
  const [name, setName] = useState(() => sayAgent(navigator.userAgent))
  const sending = useSend(
    (named: string) => guard(() => addPasskey(named)),
    async () => {
      onOpen(false)
      await again()
      say('You can sign in with the passkey from now on')
    },
  )
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title="Add a passkey"
      about="Your browser asks where to keep it."
      sending={sending}
      fields={['name']}
      verb="Go on"
      onSend={() => void sending.send(name)}
    >
      <TextField
        label="Name"
        hint="So that you know it again in the list."
        value={name}
        onValue={setName}
        error={sending.at('name')}
      />
    </FormDialog>
  )
}

function Rename({ passkey: { id, name }, ...opened }: { passkey: Passkey } & Opened) {
  return (
    <NameDialog
      {...opened}
      title={`Rename ${name}`}
      verb="Rename"
      before={name}
      call={(next) => uk.passkeys.update({ id, name: next })}
      done={again}
    />
  )
}
