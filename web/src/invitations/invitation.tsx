import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import { queryClient, uk } from '../shared/api.ts'
import { refusal } from '../ui/calls/errors.ts'
import { forgetEverything, sessionQuery } from '../shared/session.ts'
import { Button } from '../ui/button.tsx'
import { Failure, Refused } from '../ui/notice.tsx'
import { useSend } from '../ui/calls/send.ts'
import { Ago } from '../ui/text/time.tsx'
import { type Preview, previewQuery } from '../shared/invitations/queries.ts'
import { dropToken, keptToken } from '../shared/invitations/token.ts'

export function InvitationPage() {
  const token = keptToken()
  const { data: preview, error, refetch } = useQuery(previewQuery(token))
  useEffect(() => {
    document.title = 'Invitation · Ukiyo'
  }, [])
  if (token === null || refusal(error)?.status === 404)
    return (
      <Closed title="Invalid invitation link">
        The invitation was revoked, or the link is incomplete. Ask the sender for a new one.
      </Closed>
    )
  if (error)
    return (
      <>
        <h1 className="mb-4 font-serif text-3xl leading-tight">Invitation</h1>
        <Failure what="The invitation" error={error} again={refetch} />
      </>
    )
  if (!preview)
    return (
      <p role="status" className="text-quiet">
        Loading invitation …
      </p>
    )
  return <Invited token={token} preview={preview} />
}

function Invited({ token, preview }: { token: string; preview: Preview }) {
  const { data: session } = useQuery(sessionQuery)
  const by = preview.invited_by ?? 'A deleted user'
  if (preview.status === 'expired')
    return (
      <Closed title="This invitation has expired">
        {by} invited you to {nameOf(preview)}. Invitations expire after seven days. Ask for a new one.
      </Closed>
    )
  if (preview.status === 'revoked')
    return (
      <Closed title="This invitation was revoked">
        {by} invited you to {nameOf(preview)}. Check your email for a newer link, or ask for a new one.
      </Closed>
    )
  return (
    <>
      <h1 className="font-serif text-3xl leading-tight">
        {preview.status === 'accepted' ? 'Invitation already accepted' : nameOf(preview)}
      </h1>
      <p className="mt-2 mb-6 text-quiet">
        <Offered preview={preview} by={by} />
      </p>
      {session === undefined ? null : session === null ? (
        <Knock preview={preview} />
      ) : (
        <Join token={token} preview={preview} email={session.account.email} />
      )}
    </>
  )
}

function Offered({ preview, by }: { preview: Preview; by: string }) {
  const { kind, role, access, resource_type, email, expires_at, status } = preview
  const whom = <strong className="font-medium break-words text-ink">{email}</strong>
  if (status === 'accepted')
    return (
      <>
        {by} invited {whom} to {nameOf(preview)}, and the invitation was accepted. If that was you, continue.
      </>
    )
  if (kind === 'share')
    return (
      <>
        {by} shared {resource_type === 'agent' ? 'an' : 'a'} {resource_type} with {whom} ({access} access).
      </>
    )
  return (
    <>
      {by} invited {whom} to this workspace as {role}
      {expires_at !== null && (
        <>
          . The invitation expires <Ago time={expires_at} />
        </>
      )}
      .
    </>
  )
}

const nameOf = ({ kind, workspace_name, title, resource_type }: Preview): string =>
  (kind === 'workspace' ? workspace_name : title) ?? `a ${resource_type}`

/** For signed-out users. Signing in or up brings them back here and accepts the invitation. */
function Knock({ preview: { status } }: { preview: Preview }) {
  const navigate = useNavigate()
  const search = { next: '/invitation?join=true' }
  return (
    <div className="space-y-3">
      {status === 'pending' && (
        <Button look="primary" className="w-full" onClick={() => void navigate({ to: '/sign-up', search })}>
          Create account
        </Button>
      )}
      <Button className="w-full" onClick={() => void navigate({ to: '/sign-in', search })}>
        Sign in
      </Button>
    </div>
  )
}

function Join({ token, preview, email }: { token: string; preview: Preview; email: string }) {
  const { join } = useSearch({ from: '/door/invitation' })
  const navigate = useNavigate()
  const isTheirs = preview.email.toLowerCase() === email.toLowerCase()
  const accept = useSend(uk.invitations.accept, async (taken) => {
    dropToken()
    // A new workspace, and the email address may be verified now.
    await forgetEverything()
    if ('member' in taken) return navigate({ to: '/workspaces/$id', params: { id: taken.workspace_id }, replace: true })
    const { resource_type: type, resource_id: id } = taken
    if (type === 'chat') return navigate({ to: '/chats/$id', params: { id }, replace: true })
    if (type === 'agent') return navigate({ to: '/agents/$id', params: { id }, replace: true })
    if (type === 'file') return navigate({ to: '/drive/file/$id', params: { id }, replace: true })
    if (type === 'folder') return navigate({ to: '/drive/f/$folder', params: { folder: id }, replace: true })
    return navigate({ to: '/shared-with-me', replace: true })
  })
  // Accepts without asking again after signing in or up for this invitation.
  const started = useRef(false)
  const { send } = accept
  const goesOn = join === true && isTheirs && preview.status === 'pending'
  useEffect(() => {
    if (!goesOn || started.current) return
    started.current = true
    void send({ token })
  }, [goesOn, send, token])
  const leave = useSend(uk.auth.sign_out, () => {
    queryClient.clear()
    return navigate({ to: '/sign-in', search: { next: '/invitation?join=true' } })
  })
  const verb =
    preview.status === 'accepted' ? 'Continue' : preview.kind === 'share' ? 'Accept' : `Join ${nameOf(preview)}`
  return (
    <div className="space-y-3">
      {!isTheirs && preview.status === 'pending' && (
        <p className="rounded-xs border border-ochre/45 bg-sheet px-3 py-2 text-sm">
          This invitation was sent to <strong className="font-medium break-words">{preview.email}</strong>, but you’re
          signed in as <strong className="font-medium break-words">{email}</strong>.
        </p>
      )}
      <Refused>{accept.rest() ?? leave.rest()}</Refused>
      <Button
        look={isTheirs ? 'primary' : 'plain'}
        className="w-full whitespace-normal!"
        pending={accept.pending}
        onClick={() => void accept.send({ token })}
      >
        {isTheirs || preview.status === 'accepted' ? verb : `${verb} as ${email}`}
      </Button>
      {!isTheirs && (
        <Button
          look={preview.status === 'pending' ? 'primary' : 'plain'}
          className="w-full"
          pending={leave.pending}
          onClick={() => void leave.send({})}
        >
          Switch account
        </Button>
      )}
    </div>
  )
}

function Closed({ title, children }: { title: string; children: ReactNode }) {
  const navigate = useNavigate()
  return (
    <>
      <h1 className="font-serif text-3xl leading-tight">{title}</h1>
      <p className="mt-2 mb-6 text-quiet">{children}</p>
      <Button
        className="w-full"
        onClick={() => {
          dropToken()
          void navigate({ to: '/' })
        }}
      >
        Go to Home
      </Button>
    </>
  )
}
