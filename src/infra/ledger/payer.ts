import type { Id } from '#core/ids.ts'
import type { Budget } from '#core/money.ts'
import { type HeldTo, type Principal, rulesFor } from '#core/principal.ts'
import type { Payer } from './ledger.ts'

/**
 * The payer of what this caller does in a workspace, under that workspace's budget, its own there, those of the run that it
 * acts for, and those that are named, and held to the rules there. A run or an operation pays like whoever started it.
 * `guestOf`: what holds a caller who is no member there, and to whom its sums are not told.
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
