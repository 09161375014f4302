import { useQuery } from '@tanstack/react-query'
import { queryClient, uk } from '../shared/api.ts'
import { Button } from '../ui/button.tsx'
import { Confirm, useOpen } from '../ui/dialogs/dialog.tsx'
import { say } from '../ui/toast/toast.tsx'
import { Failure, Refused, Waiting } from '../ui/notice.tsx'
import { Rows, Section } from '../ui/page.tsx'
import { useSend } from '../ui/calls/send.ts'
import { Ago } from '../ui/text/time.tsx'
import { leaveFor } from '../shared/sign-in/leaving.ts'
import type { Guard } from './proof.tsx'
import { identitiesQuery } from './queries.ts'

export function Identities({ name, guard }: { name: string; guard: Guard }) {
  const { data: identities, error, refetch } = useQuery(identitiesQuery)
  const removing = useOpen<{ id: string; email: string | null }>()
  const linking = useSend(
    () => guard(() => uk.identities.start_link()),
    (begun) => leaveFor(begun, { wish: 'link', next: '/settings/security' }),
  )
  return (
    <Section
      title={name}
      about={`Sign in with your ${name} account.`}
      action={
        <Button icon="plus" pending={linking.pending} onClick={() => void linking.send(undefined)}>
          Link account
        </Button>
      }
    >
      <div className="mb-3 empty:hidden">
        <Refused>{linking.rest()}</Refused>
      </div>
      {error && !identities ? (
        <Failure what="Linked accounts" error={error} again={refetch} />
      ) : !identities ? (
        <Waiting what="linked accounts" rows={1} />
      ) : identities.length === 0 ? (
        <p className="border border-line bg-sheet px-4 py-4 text-sm text-quiet">No linked accounts yet.</p>
      ) : (
        <Rows label={`Accounts at ${name}`}>
          {identities.map((identity) => (
            <li key={identity.id} className="flex flex-wrap items-center gap-x-6 gap-y-2 px-4 py-3.5">
              <div className="min-w-0 flex-1 basis-60">
                <p className="font-medium break-words">{identity.email ?? 'An account without an address'}</p>
                <p className="text-[0.8125rem] break-words text-quiet">
                  {identity.issuer} · linked <Ago time={identity.created_at} />
                  {identity.last_used_at && (
                    <>
                      {' '}
                      · used <Ago time={identity.last_used_at} />
                    </>
                  )}
                </p>
              </div>
              <Button
                look="danger-plain"
                aria-label={`Unlink account ${identity.email ?? ''}`}
                onClick={() => removing.show(identity)}
              >
                Unlink
              </Button>
            </li>
          ))}
        </Rows>
      )}
      <Confirm
        open={removing.open}
        onOpen={removing.onOpen}
        title={`Unlink account ${removing.on?.email ?? ''}?`}
        verb="Unlink account"
        run={async () => {
          await guard(() => uk.identities.unlink({ id: removing.on!.id }))
          await queryClient.invalidateQueries({ queryKey: ['identities'] })
          say('Account unlinked')
        }}
      >
        <p>
          You can no longer sign in with it, and sessions started with it end. Your account at {name} isn’t affected.
        </p>
      </Confirm>
    </Section>
  )
}
