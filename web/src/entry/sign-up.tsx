import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { uk } from '../shared/api.ts'
import { previewQuery } from '../shared/invitations/queries.ts'
import { keptToken } from '../shared/invitations/token.ts'
import { forgetEverything } from '../shared/session.ts'
import { TextField } from '../ui/field.tsx'
import { useSend } from '../ui/calls/send.ts'
import { EntryForm } from './entry-form.tsx'

/** The token that the server requires to sign up. */
type Required = 'nothing' | 'setup' | 'invitation'

export function SignUp() {
  const search = useSearch({ from: '/entry/sign-up' })
  const navigate = useNavigate()
  const [name, setName] = useState('')
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const linkToken = keptToken()
  const [token, setToken] = useState(linkToken ?? '')
  // The invitation link prefills the email address and holds the token.
  const { data: invitation } = useQuery(previewQuery(linkToken))
  useEffect(() => {
    if (invitation) setEmail((typed) => typed || invitation.email)
  }, [invitation])
  const sending = useSend(uk.auth.sign_up, async () => {
    await forgetEverything()
    await navigate({ to: search.next ?? '/' })
  })
  const { at, code } = sending
  // Shown once the server requires it, and kept from then on.
  const [required, setRequired] = useState<Required>(token ? 'invitation' : 'nothing')
  useEffect(() => {
    if (code === 'setup_required') setRequired('setup')
    if (code === 'policy_denied') setRequired('invitation')
  }, [code])
  return (
    <EntryForm
      title="Create account"
      about={
        <>
          {invitation?.kind === 'workspace' && (
            <p>Create an account with the invited email address to join {invitation.workspace_name}.</p>
          )}
          <p>
            Already have an account?{' '}
            <Link to="/sign-in" search={search} className="link">
              Sign in
            </Link>
          </p>
        </>
      }
      sending={sending}
      fields={['name', 'email', 'password', 'setup_token', 'invitation_token']}
      verb="Create account"
      onSend={() =>
        void sending.send({
          name,
          email,
          password,
          ...(required === 'setup' && { setup_token: token.trim() }),
          ...(required === 'invitation' && { invitation_token: token.trim() }),
        })
      }
    >
      <TextField label="Name" autoComplete="name" autoFocus value={name} onValue={setName} error={at('name')} />
      <TextField
        label="Email"
        type="email"
        autoComplete="username"
        value={email}
        onValue={setEmail}
        error={at('email')}
      />
      <TextField
        label="Password"
        type="password"
        autoComplete="new-password"
        hint="At least 8 characters. A short sentence is easy to remember."
        value={password}
        onValue={setPassword}
        error={at('password')}
      />
      {required !== 'nothing' && !(required === 'invitation' && invitation) && (
        <TokenField required={required} value={token} onValue={setToken} error={at(`${required}_token`)} />
      )}
    </EntryForm>
  )
}

function TokenField({
  required,
  value,
  onValue,
  error,
}: {
  required: 'setup' | 'invitation'
  value: string
  onValue: (value: string) => void
  error: string | null
}) {
  return (
    <TextField
      label={required === 'setup' ? 'Setup token' : 'Invitation token'}
      mono
      autoComplete="off"
      spellCheck={false}
      hint={
        required === 'setup' ? (
          <>
            The first account becomes the administrator. The server printed this token when it started and stores it in
            the file <code>setup-token</code> in its data directory.
          </>
        ) : (
          'From your invitation. It only works for the address it was sent to.'
        )
      }
      value={value}
      onValue={onValue}
      error={error}
    />
  )
}
