import { Link, useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { uk } from '../api.ts'
import { forgetEverything } from '../session.ts'
import { TextField } from '../ui/field.tsx'
import { useSend } from '../ui/send.ts'
import { EntryForm } from './entry-form.tsx'

/** Behind `#`, which browsers send to nobody; it is taken out of the address at once, so that it is in no history. */
const tokenInAddress = (): string | null => /^#token=([\w-]{1,200})$/.exec(location.hash)?.[1] ?? null

/** The way back in for who has forgotten: asks for the mail, and takes what its link brings. */
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
    // Where the page is open already, a browser loads no other one for the link.
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
        <h1 className="font-serif text-3xl leading-tight">Look into your mail</h1>
        <p className="mt-2 text-quiet">
          If there is an account with <strong className="font-medium break-words text-ink">{asked}</strong>, a mail is
          on its way to it. Its link is good for an hour.
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
      title="Forgotten your password?"
      about={<p>Say your address, and set a new one with the link that comes there.</p>}
      sending={sending}
      fields={['email']}
      verb="Send the mail"
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
        label="E-mail"
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
          It ends every session of the account. Your keys and passkeys go on working, unless nobody has confirmed the
          address before: then they end too.
        </p>
      }
      sending={sending}
      fields={['new_password']}
      verb="Set the password and sign in"
      onSend={() => void sending.send({ token, new_password })}
    >
      <TextField
        label="New password"
        type="password"
        autoComplete="new-password"
        autoFocus
        hint="At least 8 characters. A sentence is easier to remember than a riddle."
        value={new_password}
        onValue={setPassword}
        error={sending.at('new_password')}
      />
    </EntryForm>
  )
}
