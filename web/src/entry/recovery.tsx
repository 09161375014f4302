import { Link, useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { uk } from '../shared/api.ts'
import { forgetEverything } from '../shared/session.ts'
import { TextField } from '../ui/field.tsx'
import { useSend } from '../ui/calls/send.ts'
import { EntryForm } from './entry-form.tsx'

/**
 * The token is in the fragment, which browsers don't send to servers. It is removed from the address at once, so that
 * it isn't in the history.
 */
const tokenInAddress = (): string | null => /^#token=([\w-]{1,200})$/.exec(location.hash)?.[1] ?? null

export function Recovery() {
  const [token, setToken] = useState(tokenInAddress)
  useEffect(() => {
    const take = (): void => {
      const brought = tokenInAddress()
      if (brought === null) return
      setToken(brought)
      history.replaceState(history.state, '', location.pathname)
    }
    take()
    // If the page is already open, following the link only changes the fragment.
    window.addEventListener('hashchange', take)
    return () => window.removeEventListener('hashchange', take)
  }, [])
  return token === null ? <AskForMail /> : <NewPassword key={token} token={token} />
}

function AskForMail() {
  const [email, setEmail] = useState('')
  const [asked, setAsked] = useState<string | null>(null)
  const sending = useSend(uk.ways_in.request_recovery, (_, sent) => setAsked(sent.email))
  if (asked !== null)
    return (
      <div role="status">
        <h1 className="font-serif text-3xl leading-tight">Check your email</h1>
        <p className="mt-2 text-quiet">
          If there is an account for <strong className="font-medium break-words text-ink">{asked}</strong>, we sent an
          email with a link. The link expires in one hour.
        </p>
        <p className="mt-4">
          <Link to="/sign-in" className="link">
            Back to sign in
          </Link>
        </p>
      </div>
    )
  return (
    <EntryForm
      title="Forgot your password?"
      about={<p>Enter your email address, and we’ll send you a link to set a new one.</p>}
      sending={sending}
      fields={['email']}
      verb="Send link"
      onSend={() => void sending.send({ email })}
      after={
        <p>
          <Link to="/sign-in" className="link">
            Back to sign in
          </Link>
        </p>
      }
    >
      <TextField
        label="Email"
        type="email"
        autoComplete="username"
        autoFocus
        value={email}
        onValue={setEmail}
        error={sending.at('email')}
      />
    </EntryForm>
  )
}

function NewPassword({ token }: { token: string }) {
  const navigate = useNavigate()
  const [new_password, setPassword] = useState('')
  const sending = useSend(uk.ways_in.recover, async () => {
    await forgetEverything()
    await navigate({ to: '/', replace: true })
  })
  return (
    <EntryForm
      title="Set a new password"
      about={
        <p>
          This ends all sessions of the account. API keys and passkeys keep working if the email address was verified;
          otherwise they are revoked too.
        </p>
      }
      sending={sending}
      fields={['new_password']}
      verb="Set password and sign in"
      onSend={() => void sending.send({ token, new_password })}
    >
      <TextField
        label="New password"
        type="password"
        autoComplete="new-password"
        autoFocus
        hint="At least 8 characters. A short sentence is easy to remember."
        value={new_password}
        onValue={setPassword}
        error={sending.at('new_password')}
      />
    </EntryForm>
  )
}
