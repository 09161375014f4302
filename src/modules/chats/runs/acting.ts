import type { Context, Engine } from '#infra/context.ts'
import { sharedPlace } from '#authz/shares.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { Budget } from '#core/money.ts'
import { checkPlace } from '#authz/place.ts'
import { type Lender, type Membership, type Principal, membershipIn } from '#core/principal.ts'
import { scopes as allScopes } from '#core/scopes.ts'
import type { RunRow } from './run-store.ts'

/** Creates a context that acts for the run's sender. Null if the sender's account no longer exists. */
export const actingFor = <H>(
  engine: Engine<H>,
  run: RunRow,
  workspaceId: Id | null,
  {
    budgets,
    consented,
    lenders,
    signal,
  }: { budgets: readonly Budget[]; consented: boolean; lenders?: readonly Lender[]; signal: AbortSignal },
): Promise<Context<H> | null> =>
  engine.actAs({
    accountId: run.account_id,
    scopes: run.scopes ?? allScopes,
    workspaceId,
    payingKeyId: run.key_id,
    run: { id: run.id, budgets },
    automationId: run.automation_id ?? undefined,
    consented,
    ...(lenders && { lenders }),
    signal,
  })

/**
 * True for runs started by a person's message, who can answer approval requests. False for automations, goals and
 * delegated tasks.
 */
export const isWatched = ({
  automation_run_id,
  goal_id,
  parent_run_id,
}: Pick<RunRow, 'automation_run_id' | 'goal_id' | 'parent_run_id'>): boolean =>
  automation_run_id === null && goal_id === null && parent_run_id === null

/**
 * Rechecks the sender's access to the chat, by membership or share, because it may have changed since the request.
 * Throws `insufficient_role` if they can no longer run it.
 */
export async function placeNow(
  { db, principal }: Context,
  { chat_id, workspace_id }: Pick<RunRow, 'chat_id' | 'workspace_id'>,
): Promise<Membership> {
  const place =
    membershipIn(principal, workspace_id) ?? (await sharedPlace(db, principal, 'chat', { id: chat_id, workspace_id }))
  if (place === null)
    return refuse('insufficient_role', {
      message: 'The user who started this run is no longer in this workspace, and the chat isn’t shared with them.',
    })
  checkPlace(place, 'chat:run')
  return place
}

/** Like `actAs`, for a principal whose permissions were just loaded. */
export function onBehalfOf(principal: Principal): Principal {
  const { credential } = principal
  switch (credential.kind) {
    case 'server':
      return principal
    case 'session':
      return { ...principal, credential: { kind: 'server', scopes: new Set(allScopes), workspaceId: null } }
    case 'key': {
      const { id, scopes, workspaceId, spendCap: cap, allowedModels } = credential
      const payingKey = { id, cap, workspaceId, ...(allowedModels && { allowedModels }) }
      return { ...principal, credential: { kind: 'server', scopes, workspaceId, payingKey } }
    }
  }
}
