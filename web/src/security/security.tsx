import { useQuery } from '@tanstack/react-query'
import { Page } from '../ui/page.tsx'
import { Identities } from './identities.tsx'
import { Passkeys } from './passkeys.tsx'
import { Password } from './password.tsx'
import { useProof } from './proof.tsx'
import { waysQuery } from '../shared/sign-in/queries.ts'
import { Sessions } from './sessions.tsx'

export function Security() {
  const { data: ways } = useQuery(waysQuery)
  const { guard, dialog } = useProof()
  return (
    <Page title="Security" lead="Your sign-in methods and active sessions.">
      <Passkeys guard={guard} />
      {ways?.identity_provider && <Identities name={ways.identity_provider.name} guard={guard} />}
      <Sessions />
      <Password />
      {dialog}
    </Page>
  )
}
