import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { uk } from '../api.ts'
import { previewQuery } from '../invitations/queries.ts'
import { keptToken } from '../invitations/token.ts'
import { forgetEverything } from '../session.ts'
import { Button } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { waysQuery } from '../security/queries.ts'
import { Refused } from '../ui/notice.tsx'
import { useSend } from '../ui/send.ts'
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
  const { send, pending, at, rest, form } = useSend(uk.auth.sign_in, enter)
  const { data: ways } = useQuery(waysQuery)
  const { data: invitation } = useQuery(previewQuery(keptToken()))
  useEffect(() => {
    if (invitation) setEmail((typed) => typed || invitation.email)
  }, [invitation])
  useEffect(() => {
    document.title = 'Sign in · Ukiyo'
  }, [])
  return (
    <>
      <form
        ref={form}
        noValidate
        className="space-y-4"
        onSubmit={(event) => {
          event.preventDefault()
          void send({ email, password })
        }}
      >
        <div className="mb-6">
          <h1 className="font-serif text-3xl leading-tight">Sign in</h1>
          <p className="mt-1 text-quiet">
            New here?{' '}
            <Link to="/sign-up" search={search} className="link">
              Make an account
            </Link>
          </p>
        </div>
        <Refused>{rest('email', 'password')}</Refused>
        <TextField
          label="E-mail"
          type="email"
          autoComplete="username webauthn"
          autoFocus
          value={email}
          onValue={setEmail}
          error={at('email')}
        />
        <TextField
          label="Password"
          type="password"
          autoComplete="current-password"
          value={password}
          onValue={setPassword}
          error={at('password')}
        />
        <Button type="submit" look="primary" className="w-full" pending={pending}>
          Sign in
        </Button>
        <p className="text-[0.8125rem] text-quiet">
          {ways?.recovery ? (
            <Link to="/recovery" className="link">
              Forgotten your password?
            </Link>
          ) : (
            <>
              Forgotten your password? Whoever runs this server can set a new one with{' '}
              <code>uk admin reset-password</code>.
            </>
          )}
        </p>
      </form>
      <OtherWays next={search.next ?? '/'} onIn={enter} />
    </>
  )
}
