import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { uk } from '../shared/api.ts'
import { previewQuery } from '../shared/invitations/queries.ts'
import { keptToken } from '../shared/invitations/token.ts'
import { forgetEverything } from '../shared/session.ts'
import { TextField } from '../ui/field.tsx'
import { waysQuery } from '../shared/sign-in/queries.ts'
import { useSend } from '../ui/calls/send.ts'
import { EntryForm } from './entry-form.tsx'
import { OtherWays } from './other-ways.tsx'

export function SignIn() {
  const search = useSearch({ from: '/entry/sign-in' })
  const navigate = useNavigate()
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const enter = async (): Promise<void> => {
    await forgetEverything()
    await navigate({ to: search.next ?? '/' })
  }
  const sending = useSend(uk.auth.sign_in, enter)
  const { data: ways } = useQuery(waysQuery)
  const { data: invitation } = useQuery(previewQuery(keptToken()))
  useEffect(() => {
    if (invitation) setEmail((typed) => typed || invitation.email)
  }, [invitation])
  return (
    <>
      <EntryForm
        title="Sign in"
        about={
          <p>
            New here?{' '}
            <Link to="/sign-up" search={search} className="link">
              Create account
            </Link>
          </p>
        }
        sending={sending}
        fields={['email', 'password']}
        verb="Sign in"
        onSend={() => void sending.send({ email, password })}
        after={
          <p className="text-[0.8125rem] text-quiet">
            {ways?.recovery ? (
              <Link to="/recovery" className="link">
                Forgot your password?
              </Link>
            ) : (
              <>
                Forgot your password? The administrator of this server can reset it with{' '}
                <code>uk admin reset-password</code>.
              </>
            )}
          </p>
        }
      >
        <TextField
          label="Email"
          type="email"
          autoComplete="username webauthn"
          autoFocus
          value={email}
          onValue={setEmail}
          error={sending.at('email')}
        />
        <TextField
          label="Password"
          type="password"
          autoComplete="current-password"
          value={password}
          onValue={setPassword}
          error={sending.at('password')}
        />
      </EntryForm>
      <OtherWays next={search.next ?? '/'} onIn={enter} />
    </>
  )
}
