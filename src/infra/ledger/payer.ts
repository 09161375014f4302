import type { Id } from '#core/ids.ts'
import type { Budget } from '#core/money.ts'
import { type HeldTo, type Principal, rulesFor } from '#core/principal.ts'
import type { Payer } from './ledger.ts'

/**
 * The payer for a caller's work in a workspace, with all budgets and model rules that apply. Runs and operations pay
 * like the caller who started them. `guestOf`: limits of a caller who isn't a member and can't see amounts.
 */
export function payerOf(
  principal: Principal,
  workspaceId: Id,
  {
    budgets = [],
    guestOf,
    ...more
  }: Pick<Payer, 'chatId' | 'runId' | 'messageId' | 'budgets'> & { guestOf?: HeldTo | undefined } = {},
): Payer {
  const { accountId, tier, credential } = principal
  const key =
    credential.kind === 'key'
      ? { id: credential.id, cap: credential.spendCap }
      : credential.kind === 'server'
        ? (credential.payingKey ?? null)
        : null
  const place = guestOf ?? principal.memberships.get(workspaceId)
  const rules = rulesFor(principal, workspaceId, place)
  const within = credential.kind === 'server' ? (credential.run?.budgets ?? []) : []
  const overheard = more.runId !== undefined || (credential.kind === 'server' && credential.run !== undefined)
  const all: readonly Budget[] = [
    ...(place?.budget ? [{ kind: 'workspace' as const, subject: workspaceId, ...place.budget }] : []),
    ...(place?.ownBudget ? [{ kind: 'member' as const, ...place.ownBudget }] : []),
    ...within,
    ...budgets,
  ]
  return {
    accountId,
    tier,
    key,
    workspaceId,
    ...more,
    ...(overheard && { overheard }),
    ...(isInvited(principal) && { invited: true }),
    ...(guestOf && { guest: true }),
    ...(all.length > 0 && { budgets: all }),
    ...(rules && { rules }),
  }
}

function isInvited({ memberships }: Principal): boolean {
  for (const { role, status } of memberships.values()) if (role !== 'owner' && status === 'active') return true
  return false
}
