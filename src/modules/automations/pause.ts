/** An automation runs with its account's permissions, so someone with fewer can't change its agent unnoticed. */
import type { Context } from '#infra/context.ts'
import { writeOutboxAll } from '#infra/outbox/outbox.ts'
import type { Db } from '#infra/postgres/client.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { type Membership, type Principal, hasScope, membershipIn } from '#core/principal.ts'
import { type Scope, atLeast, scopes as allScopes } from '#core/scopes.ts'
import type { Span } from '#core/time.ts'
import { automationEvent } from './events.ts'
import { type AutomationRow, automationStore, needsApproval } from './store.ts'

/** Call it in the transaction that changes the agent. */
export const agentChanged = async (ctx: Context, agentId: Id): Promise<void> =>
  pauseUnlessPermitted(ctx, await automationStore.behindAgent(ctx.db, agentId))

/** Call it in the transaction that changes the chat's agent. */
export const chatChanged = async (ctx: Context, chatId: Id): Promise<void> =>
  pauseUnlessPermitted(ctx, await automationStore.inChat(ctx.db, chatId))

/** Pauses automations whose account has permissions the caller lacks, until someone with all of them resumes. */
async function pauseUnlessPermitted(ctx: Context, rows: readonly AutomationRow[]): Promise<void> {
  const checks = new Map<string, Promise<boolean>>()
  for (const row of rows) {
    const key = JSON.stringify([row.account_id, row.scopes, row.held_to, row.workspace_id])
    const check = checks.get(key) ?? hasRightsOf(ctx, row)
    checks.set(key, check)
    if (await check) continue
    await automationStore.update(ctx.db, row.id, { paused_reason: 'agent_changed', paused_at: ctx.now() })
    await ctx.emit(automationEvent({ ...row, paused_reason: 'agent_changed' }, 'paused'))
  }
}

/** Pauses automations created while someone else had control of the account. Returns their number. */
export async function pauseAutomationsOf(db: Db, accountId: Id, period: Span): Promise<number> {
  const rows = await automationStore.heldBy(db, accountId, period)
  const paused_reason = 'account_recovered'
  for (const { id } of rows) await automationStore.update(db, id, { paused_reason, paused_at: new Date() })
  await writeOutboxAll(
    db,
    rows.map((row) => automationEvent({ ...row, paused_reason }, 'paused')),
    null,
  )
  return rows.length
}

export async function hasRightsOf(
  { engine, principal, signal }: Context,
  row: Pick<AutomationRow, 'account_id' | 'scopes' | 'held_to' | 'workspace_id'>,
): Promise<boolean> {
  const owner = await engine.actAs({
    accountId: row.account_id,
    scopes: row.scopes ?? allScopes,
    workspaceId: row.held_to,
    payingKeyId: null,
    signal,
  })
  const place = owner && membershipIn(owner.principal, row.workspace_id)
  // An account without access may regain it later, with unknown permissions.
  if (!place) return false
  const mine = membershipIn(principal, row.workspace_id)
  if (mine === null || !atLeast(mine.role, place.role)) return false
  return allScopes.every((scope) => !may(owner.principal, place, scope) || may(principal, mine, scope))
}

const may = (principal: Principal, { permissions }: Membership, scope: Scope): boolean =>
  hasScope(principal, scope) && (permissions === null || permissions.has(scope))

export const isPausedByAgent = async (db: Db, runIds: readonly Id[]): Promise<boolean> =>
  (await automationStore.ofRuns(db, runIds)).some(needsApproval)

export async function checkRightsOf(ctx: Context, row: AutomationRow): Promise<void> {
  if (!needsApproval(row) || (await hasRightsOf(ctx, row))) return
  refuse('insufficient_role', {
    message:
      row.paused_reason === 'account_recovered'
        ? 'The automation was paused when its account was recovered by the owner of the email address. You have fewer permissions than that account. Its account must resume it, or change its `action` so that it runs with your permissions.'
        : 'The automation was paused because its agent was changed by someone with fewer permissions than its account, and so have you. Its account must resume it, or change its `action` so that it runs with your permissions.',
    details: { paused_reason: row.paused_reason },
  })
}
