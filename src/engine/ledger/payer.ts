import type { Id } from '#kernel/ids.ts'
import type { Principal } from '#kernel/principal.ts'
import type { Budget, Payer } from './ledger.ts'

/**
 * Who pays for what this caller does in a workspace, under that workspace's budget and those that are named. A run or an
 * operation pays like whoever started it.
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
  const cap = principal.memberships.get(workspaceId)?.budget
  const all: readonly Budget[] =
    cap === undefined ? budgets : [{ kind: 'workspace', subject: workspaceId, ...cap }, ...budgets]
  return { accountId, tier, key, workspaceId, ...more, ...(all.length > 0 && { budgets: all }) }
}
