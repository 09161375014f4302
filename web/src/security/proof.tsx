import { type ReactNode, useRef, useState } from 'react'
import { uk } from '../shared/api.ts'
import { ReadableError, refusal } from '../ui/calls/errors.ts'
import { useAccount } from '../shared/session.ts'
import { Button } from '../ui/button.tsx'
import { FormDialog } from '../ui/dialogs/form-dialog.tsx'
import { TextField } from '../ui/field.tsx'
import { Refused } from '../ui/notice.tsx'
import { useSend } from '../ui/calls/send.ts'
import { hasPasskeys, proveWithPasskey } from '../shared/sign-in/passkey.ts'

/**
 * Runs an action that needs recent authentication. If the server requires it, a dialog asks for it, and the action runs
 * again.
 */
export type Guard = <T>(work: () => Promise<T>) => Promise<T>

export function useProof(): { guard: Guard; dialog: ReactNode } {
  const [open, setOpen] = useState(false)
  const waiting = useRef<PromiseWithResolvers<void> | null>(null)
  const guard: Guard = async (work) => {
    try {
      return await work()
    } catch (error) {
      if (refusal(error)?.code !== 'proof_required') throw error
      waiting.current = Promise.withResolvers<void>()
      setOpen(true)
      await waiting.current.promise
      return work()
    }
  }
  const end = (proved: boolean): void => {
    setOpen(false)
    if (proved) waiting.current?.resolve()
    else waiting.current?.reject(new ReadableError('Nothing was changed because you didn’t confirm your identity.'))
    waiting.current = null
  }
  return { guard, dialog: <ProofDialog open={open} onEnd={end} /> }
}

function ProofDialog({ open, onEnd }: { open: boolean; onEnd: (proved: boolean) => void }) {
  const { email } = useAccount()
  const [password, setPassword] = useState('')
  const byPassword = useSend(uk.ways_in.prove, () => end(true))
  const byPasskey = useSend(proveWithPasskey, () => end(true))
  const end = (proved: boolean): void => {
    setPassword('')
    byPassword.reset()
    byPasskey.reset()
    onEnd(proved)
  }
  return (
    <FormDialog
      open={open}
      onOpen={(next) => !next && end(false)}
      title="Confirm your identity"
      about="Required before you change how you sign in. Valid for ten minutes."
      sending={byPassword}
      fields={['password']}
      verb="Confirm identity"
      onSend={() => void byPassword.send({ password })}
    >
      <input type="text" autoComplete="username" value={email} readOnly hidden />
      <TextField
        label="Your password"
        type="password"
        autoComplete="current-password"
        value={password}
        onValue={setPassword}
        error={byPassword.at('password')}
      />
      {hasPasskeys() && (
        <>
          <Button icon="key" pending={byPasskey.pending} onClick={() => void byPasskey.send(undefined)}>
            Use a passkey instead
          </Button>
          <Refused>{byPasskey.rest()}</Refused>
        </>
      )}
    </FormDialog>
  )
}
