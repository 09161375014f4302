import type { Id } from '#kernel/ids.ts'
import type { Principal } from '#kernel/principal.ts'
import type { Payer } from './ledger.ts'

/** Who pays for what this caller does in a workspace. A run or an operation pays like whoever started it. */
export function payerOf(
  principal: Principal,
  workspaceId: Id,
  more: Pick<Payer, 'chatId' | 'runId' | 'messageId' | 'budgets'> = {},
): Payer {
  const { accountId, tier, credential } = principal
  const key =
    credential.kind === 'key'
      ? { id: credential.id, cap: credential.spendCap }
      : credential.kind === 'server'
        ? (credential.payingKey ?? null)
        : null
  return { accountId, tier, key, workspaceId, ...more }
}
