import type { Context } from '#infra/context.ts'
import { behalfOf, hasScope } from '#core/principal.ts'
import { Refusal, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { type Capability, scopes } from '#core/scopes.ts'
import { checkMayUse, waysTo } from '../access.ts'
import { computerStore } from '../store.ts'

/** The time between two looks at the rights: a revoked right ends a use within 5 seconds. */
const LOOK_MS = 2_000

/** Refuses what this caller may not do with a computer now. */
export async function checkPermitted(
  { db, principal }: Context,
  computerId: Id,
  capability: Capability,
): Promise<void> {
  const row = await computerStore.get(db, computerId)
  if (row === null || waysTo(principal, row).length === 0)
    return refuse('not_found', { message: 'The computer was deleted, or you no longer have access to it.' })
  checkMayUse(principal, row, capability)
}

/**
 * Watches the rights of a lasting use of a computer in somebody's name. `signal` fires with `until`, and with the
 * refusal once they may do it no longer.
 */
export function whilePermitted(
  ctx: Context,
  computerId: Id,
  capability: Capability,
  until: AbortSignal,
): AsyncDisposable & { signal: AbortSignal } {
  const lost = new AbortController()
  const { credential, accountId } = ctx.principal
  async function look(): Promise<void> {
    const present = await ctx.engine.actAs({
      accountId,
      scopes: scopes.filter((scope) => hasScope(ctx.principal, scope)),
      workspaceId: credential.kind === 'session' ? null : credential.workspaceId,
      // A key that was revoked acts for nobody.
      payingKeyId: behalfOf(ctx.principal).key_id,
      lenders: credential.kind === 'server' ? (credential.lenders ?? []) : [],
      signal: ctx.signal,
    })
    if (present === null) return refuse('not_found', { message: 'The account or API key no longer exists.' })
    await checkPermitted(present, computerId, capability)
  }
  let looking = Promise.resolve()
  const timer = setInterval(() => {
    looking = looking
      .then(look)
      // A database that does not answer takes no right away.
      .catch((error: unknown) => void (error instanceof Refusal && error.status !== 503 && lost.abort(error)))
  }, LOOK_MS)
  return {
    signal: AbortSignal.any([until, lost.signal]),
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await looking
    },
  }
}
