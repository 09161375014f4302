import type { Payer } from '#infra/ledger/ledger.ts'
import { payerOf } from '#infra/ledger/payer.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { type Principal, membershipIn } from '#core/principal.ts'
import { atLeast } from '#core/scopes.ts'
import { countedAs } from '#pipeline/admit.ts'

export interface Caller {
  principal: Principal
  /** The key's, so that one key of an account can't starve the others. */
  limitId: Id
  payer: Payer
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

export function checkMayRun({ mayRun }: Caller): void {
  if (!mayRun)
    refuse('insufficient_role', {
      message: 'The owner of this key isn’t allowed to run models in the key’s workspace.',
    })
}
