import { useNavigate } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { uk } from '../shared/api.ts'
import { takeLeaving } from '../shared/sign-in/leaving.ts'
import { forgetEverything } from '../shared/session.ts'
import { Button } from '../ui/button.tsx'
import { Refused } from '../ui/notice.tsx'
import { useSend } from '../ui/calls/send.ts'

/** The identity provider redirects here. Its parameters are removed from the address at once. */
export function SignedIn() {
  const navigate = useNavigate()
  const { send, rest, failed } = useSend(
    async (query: string) => {
      const leaving = takeLeaving()
      if (leaving === null || query === '') return null
      const { secret, wish } = leaving
      if (wish === 'link') await uk.identities.link({ secret, query })
      else await uk.identities.sign_in({ secret, query })
      await forgetEverything()
      return leaving
    },
    (leaving) => navigate({ to: leaving?.next ?? '/sign-in', replace: true }),
  )
  const isStarted = useRef(false)
  useEffect(() => {
    document.title = 'Signing in · Ukiyo'
    if (isStarted.current) return
    isStarted.current = true
    const { search } = location
    history.replaceState(history.state, '', location.pathname)
    void send(search)
  }, [send])
  return (
    <>
      <h1 className="font-serif text-3xl leading-tight">{failed ? 'Sign-in failed' : 'Signing in …'}</h1>
      <div className="mt-4 space-y-4">
        <Refused>{rest()}</Refused>
        {failed && (
          <Button className="w-full" onClick={() => void navigate({ to: '/sign-in', replace: true })}>
            Back to sign in
          </Button>
        )}
      </div>
    </>
  )
}
