import type { Id } from '#kernel/ids.ts'
import type { Budget } from '#kernel/money.ts'
import { type Principal, rulesFor } from '#kernel/principal.ts'
import type { Payer } from './ledger.ts'

/**
 * The payer of what this caller does in a workspace, under that workspace's budget, its own there, those of the run that it
 * acts for, and those that are named, and held to the rules there. A run or an operation pays like whoever started it.
 */
export function payerOf(
  principal: Principal,
  workspaceId: Id,
  { budgets = [], ...more }: Pick<Payer, 'chatId' | 'runId' | 'messageId' | 'budgets'> = {},
): Payer {
  const { accountId, tier, credential } = principal
  const key =
    credential.kind === 'key'
      ? { id: credential.id, cap: credential.spendCap }
      : credential.kind === 'server'
        ? (credential.payingKey ?? null)
        : null
  const place = principal.memberships.get(workspaceId)
  const rules = rulesFor(principal, workspaceId)
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
    ...(all.length > 0 && { budgets: all }),
    ...(rules && { rules }),
  }
}
