import type { Acting } from '#infra/context.ts'
import { distinctLenders, narrowedTo } from '#core/lenders.ts'
import type { Lender, Authority, Principal } from '#core/principal.ts'
import { scopes as allScopes } from '#core/scopes.ts'

export async function withinRightsOf(
  authority: Pick<Authority, 'onBehalf'>,
  principal: Principal,
  lenders: readonly Lender[],
): Promise<Principal> {
  const others = distinctLenders(lenders)
  const principals = await Promise.all(
    others.map(async ({ account_id, scopes, held_to }) =>
      account_id === null ? null : authority.onBehalf(account_id, scopes ?? allScopes, held_to),
    ),
  )
  const restricted = principals.reduce<Principal>(narrowedTo, principal)
  const { credential } = restricted
  return credential.kind === 'server' && others.length > 0
    ? { ...restricted, credential: { ...credential, lenders: others } }
    : restricted
}

export function withinRun(principal: Principal, run: Acting['run'], automationId: Acting['automationId']): Principal {
  const { credential } = principal
  if (credential.kind !== 'server' || (run === undefined && automationId === undefined)) return principal
  const of = { ...(run && { run }), ...(automationId !== undefined && { automationId }) }
  return { ...principal, credential: { ...credential, ...of } }
}
