/** Accounts that limit a call's permissions besides the caller: those who chose the agent's tools. */
import type { Id } from './ids.ts'
import { type Lender, type Membership, type Principal, behalfOf, hasScope, membershipIn } from './principal.ts'
import { type Scope, atLeast } from './scopes.ts'

const OWN: ReadonlySet<Scope> = new Set([
  'settings:read',
  'settings:write',
  'notification:read',
  'notification:write',
  'usage:read',
])

export const isLentByOthers = ({ accountId, credential }: Pick<Principal, 'accountId' | 'credential'>): boolean =>
  credential.kind === 'server' && (credential.lenders ?? []).some(({ account_id }) => account_id !== accountId)

/** The accounts behind a caller's settings: its own and, within a run, those that limit the run's tools. */
export function lendersOf(principal: Principal): Lender[] {
  const { account_id, scopes, held_to } = behalfOf(principal)
  const { credential } = principal
  return distinctLenders([
    { account_id, scopes, held_to },
    ...(credential.kind === 'server' ? (credential.lenders ?? []) : []),
  ])
}

export const distinctLenders = (lenders: readonly Lender[]): Lender[] => [
  ...new Map(lenders.map((one) => [JSON.stringify([one.account_id, one.scopes, one.held_to]), one])).values(),
]

/** Restricts a principal to permissions the lender also has. A deleted lender (null) has none. */
export function narrowedTo(principal: Principal, lender: Principal | null): Principal {
  const { credential } = principal
  if (credential.kind !== 'server') return principal
  const another = lender?.accountId !== principal.accountId
  const scopes = [...credential.scopes].filter(
    (scope) => lender !== null && hasScope(lender, scope) && !(another && OWN.has(scope)),
  )
  const memberships = [...principal.memberships].flatMap(([id, mine]): [Id, Membership][] => {
    const theirs = lender && membershipIn(lender, id)
    return theirs ? [[id, weaker(mine, theirs)]] : []
  })
  return {
    ...principal,
    administrator: principal.administrator && lender?.administrator === true,
    memberships: new Map(memberships),
    credential: { ...credential, scopes: new Set(scopes) },
  }
}

const weaker = (mine: Membership, theirs: Membership): Membership => ({
  ...mine,
  role: atLeast(mine.role, theirs.role) ? theirs.role : mine.role,
  permissions:
    mine.permissions === null || theirs.permissions === null
      ? (mine.permissions ?? theirs.permissions)
      : mine.permissions.intersection(theirs.permissions),
})
