import type { Payer } from '#engine/ledger/ledger.ts'
import { payerOf } from '#engine/ledger/payer.ts'
import { refuse } from '#kernel/errors.ts'
import type { Id } from '#kernel/ids.ts'
import { type Principal, hasScope, membershipIn } from '#kernel/principal.ts'
import { atLeast } from '#kernel/scopes.ts'

/** A principal as the gateways need to know it. */
export interface Caller {
  principal: Principal
  /** Whose rate limit counts: the key's, so that one of an account's keys cannot starve the others. */
  limitId: Id
  payer: Payer
  /** May run models. */
  mayRun: boolean
}

const known = new WeakMap<Principal, Caller>()

/** Worked out once per principal, which lives until a right of its account changes. */
export function callerOf(principal: Principal): Caller {
  const before = known.get(principal)
  if (before) return before
  const { credential, accountId, personalWorkspaceId } = principal
  const workspaceId =
    credential.kind === 'session' ? personalWorkspaceId : (credential.workspaceId ?? personalWorkspaceId)
  const caller = {
    principal,
    limitId: credential.kind === 'key' ? credential.id : accountId,
    payer: payerOf(principal, workspaceId),
    mayRun: hasScope(principal, 'gateway:run') && mayRunIn(principal, workspaceId),
  }
  known.set(principal, caller)
  return caller
}

function mayRunIn(principal: Principal, workspaceId: Id): boolean {
  const membership = membershipIn(principal, workspaceId)
  if (membership === null || membership.status !== 'active') return false
  return (
    atLeast(membership.role, 'member') && (membership.permissions === null || membership.permissions.has('gateway:run'))
  )
}

/** Refuses with 403 what the key, or its owner in its workspace, may not do. */
export function checkMayRun({ mayRun, principal }: Caller): void {
  if (mayRun) return
  if (!hasScope(principal, 'gateway:run'))
    refuse('missing_scope', {
      message: 'The gateways need a key with the scope `gateway:run`.',
      details: { required_scope: 'gateway:run' },
    })
  refuse('insufficient_role', { message: "The owner of this key may not run models in the key's workspace." })
}
