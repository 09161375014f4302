import type { Context } from '#infra/context.ts'
import { behalfOf, hasScope } from '#core/principal.ts'
import { Refusal, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { type Capability, scopes } from '#core/scopes.ts'
import { checkMayUse, accessPaths } from '../access.ts'
import { computerStore } from '../store.ts'

/** Revoked permissions end a use within 5 seconds. */
const CHECK_MS = 2_000

export async function checkPermitted(
  { db, principal }: Context,
  computerId: Id,
  capability: Capability,
): Promise<void> {
  const row = await computerStore.get(db, computerId)
  if (row === null || accessPaths(principal, row).length === 0)
    return refuse('not_found', { message: 'The computer was deleted, or you no longer have access to it.' })
  checkMayUse(principal, row, capability)
}

/** `signal` aborts with `until`, or with a refusal once permission is lost. */
export function watchPermission(
  ctx: Context,
  computerId: Id,
  capability: Capability,
  until: AbortSignal,
): AsyncDisposable & { signal: AbortSignal } {
  const permissionLost = new AbortController()
  const { credential, accountId } = ctx.principal
  async function look(): Promise<void> {
    const present = await ctx.engine.actAs({
      accountId,
      scopes: scopes.filter((scope) => hasScope(ctx.principal, scope)),
      workspaceId: credential.kind === 'session' ? null : credential.workspaceId,
      // Refuses if the key was revoked.
      payingKeyId: behalfOf(ctx.principal).key_id,
      lenders: credential.kind === 'server' ? (credential.lenders ?? []) : [],
      signal: ctx.signal,
    })
    if (present === null) return refuse('not_found', { message: 'The account or API key no longer exists.' })
    await checkPermitted(present, computerId, capability)
  }
  let checking = Promise.resolve()
  const timer = setInterval(() => {
    checking = checking
      .then(look)
      // An unavailable database doesn't revoke permissions.
      .catch((error: unknown) => void (error instanceof Refusal && error.status !== 503 && permissionLost.abort(error)))
  }, CHECK_MS)
  return {
    signal: AbortSignal.any([until, permissionLost.signal]),
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await checking
    },
  }
}
