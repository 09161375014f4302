import type { Payer } from '#infra/ledger/ledger.ts'
import { payerOf } from '#infra/ledger/payer.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { type Principal, membershipIn } from '#core/principal.ts'
import { atLeast } from '#core/scopes.ts'
import { countedAs } from '#pipeline/admit.ts'

/** What the gateway knows about a principal. */
export interface Caller {
  principal: Principal
  /** The rate limit's ID: the key's, so that one key of an account can't starve the others. */
  limitId: Id
  payer: Payer
  /** True if the account may run models in the key's workspace. */
  mayRun: boolean
}

const callers = new WeakMap<Principal, Caller>()

/** Cached per principal, which is replaced when a right of its account changes. */
export function callerOf(principal: Principal): Caller {
  const before = callers.get(principal)
  if (before) return before
  const { credential, personalWorkspaceId } = principal
  const workspaceId =
    credential.kind === 'session' ? personalWorkspaceId : (credential.workspaceId ?? personalWorkspaceId)
  const caller = {
    principal,
    limitId: countedAs(principal),
    payer: payerOf(principal, workspaceId),
    mayRun: mayRunIn(principal, workspaceId),
  }
  callers.set(principal, caller)
  return caller
}

function mayRunIn(principal: Principal, workspaceId: Id): boolean {
  const membership = membershipIn(principal, workspaceId)
  if (membership === null || membership.status !== 'active') return false
  return (
    atLeast(membership.role, 'member') && (membership.permissions === null || membership.permissions.has('gateway:run'))
  )
}

/** Refuses with 403 if the key's owner may not run models in its workspace. */
export function checkMayRun({ mayRun }: Caller): void {
  if (!mayRun)
    refuse('insufficient_role', {
      message: 'The owner of this key isn’t allowed to run models in the key’s workspace.',
    })
}
