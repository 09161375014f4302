import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { uk } from '../shared/api.ts'
import { keptToken } from '../shared/invitations/token.ts'
import { leaveFor } from '../shared/sign-in/leaving.ts'
import {
  type PasskeyAssertion,
  hasPasskeys,
  offersPasskeys,
  pickPasskey,
  stopOffering,
} from '../shared/sign-in/passkey.ts'
import { waysQuery } from '../shared/sign-in/queries.ts'
import { Button } from '../ui/button.tsx'
import { Refused } from '../ui/notice.tsx'
import { useSend } from '../ui/calls/send.ts'

/** Other sign-in methods: a passkey, which browsers also suggest in the email field, and the identity provider. */
export function OtherWays({ next, onIn }: { next: string; onIn: () => Promise<void> }) {
  const { data: ways } = useQuery(waysQuery)
  const passkey = useSend(
    async (picked: PasskeyAssertion | null) =>
      uk.passkeys.sign_in({ credential: picked ?? (await pickPasskey('asked')) }),
    onIn,
  )
  const provider = useSend(
    () => uk.identities.start_sign_in({ ...(keptToken() !== null && { invitation_token: keptToken()! }) }),
    (begun) => leaveFor(begun, { wish: 'sign-in', next }),
  )
  const enter = useRef(passkey.send)
  enter.current = passkey.send
  useEffect(() => {
    let hasLeft = false
    const offer = async (): Promise<void> => {
      if (!(await offersPasskeys()) || hasLeft) return
      // Errors of the browser's own suggestion stay hidden until the person picks a passkey.
      const picked = await pickPasskey('offered').catch(() => null)
      if (picked !== null && !hasLeft) await enter.current(picked)
    }
    offer().catch(() => {})
    return () => {
      hasLeft = true
      if (hasPasskeys()) void stopOffering()
    }
  }, [])
  if (!hasPasskeys() && !ways?.identity_provider) return null
  return (
    <div className="mt-6 space-y-3 border-t border-line pt-6">
      <Refused>{passkey.rest() || provider.rest()}</Refused>
      {hasPasskeys() && (
        <Button icon="key" className="w-full" pending={passkey.pending} onClick={() => void passkey.send(null)}>
          Sign in with a passkey
        </Button>
      )}
      {ways?.identity_provider && (
        <Button
          icon="person"
          className="w-full"
          pending={provider.pending}
          onClick={() => void provider.send(undefined)}
        >
          Continue with {ways.identity_provider.name}
        </Button>
      )}
    </div>
  )
}
