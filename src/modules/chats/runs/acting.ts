import type { Context, Engine } from '#infra/context.ts'
import { sharedPlace } from '#authz/shares.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { Budget } from '#core/money.ts'
import { checkPlace } from '#authz/place.ts'
import { type Lender, type Membership, type Principal, membershipIn } from '#core/principal.ts'
import { scopes as allScopes } from '#core/scopes.ts'
import type { RunRow } from './run-store.ts'

/** The server acting for the sender of a run's message, within that run. Null when they are gone. */
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

/** A person sent its message and may be asked: no automation, no goal and no agent's tool began it. */
export const isWatched = ({
  automation_run_id,
  goal_id,
  parent_run_id,
}: Pick<RunRow, 'automation_run_id' | 'goal_id' | 'parent_run_id'>): boolean =>
  automation_run_id === null && goal_id === null && parent_run_id === null

/**
 * The place, by membership or by a share, of a person who asked something of a chat a while ago. Refuses where they may
 * not run it any more.
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

/** The server acting for a caller whose rights were read just now, as `actAs` acts for one whose were not. */
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
