import { createPersonalWorkspace, isInvited } from '#authz/members.ts'
import type { Context } from '#infra/context.ts'
import { canMail } from '#infra/mail/mail.ts'
import { sqlState } from '#infra/postgres/client.ts'
import { refuse } from '#core/errors.ts'
import { newId } from '#core/ids.ts'
import { fromUsd } from '#core/money.ts'
import { type AccountRow, accountStore } from '../store.ts'

export async function requireInvitation(ctx: Context, token: string | undefined, email: string): Promise<void> {
  if (token && (await isInvited(ctx.db, token, email))) return
  refuse('policy_denied', {
    message:
      'This instance requires an invitation. Ask a member to invite you, and sign up with the invited email address.',
  })
}

export interface NewAccount {
  email: string
  /** Verified by a trusted party. */
  verified: boolean
  name: string
  passwordHash: string | null
  first: boolean
}

/** Runs in the transaction that checked permission to join. */
export async function createAccount(
  ctx: Context,
  { email, verified, name, passwordHash, first }: NewAccount,
): Promise<AccountRow> {
  const id = newId()
  const personal_workspace_id = newId()
  const credits = first ? 0n : fromUsd(ctx.engine.config.signUpCreditsUsd)
  // If the server can send email, credits wait for a verified address.
  const waits = credits > 0n && !verified && canMail(ctx.engine)
  const row = await accountStore
    .insert(ctx.db, {
      id,
      email,
      email_verified_at: verified ? ctx.now() : null,
      name,
      password_hash: passwordHash,
      tier: first ? 'unlimited' : 'standard',
      administrator: first,
      personal_workspace_id,
      promised_nano: waits ? credits : null,
    })
    .catch((error: unknown) => {
      if (sqlState(error) !== '23505') throw error
      return refuse('already_exists', {
        param: 'email',
        message: 'An account with this email address already exists. Sign in instead.',
      })
    })
  await createPersonalWorkspace(ctx.db, personal_workspace_id, id)
  if (credits > 0n && !waits) await ctx.engine.ledger.grant(ctx.db, id, credits, 'sign-up', null)
  await ctx.emit({
    type: 'account.created',
    channels: [`user:${id}`],
    resource: { type: 'account', id },
    data: { id },
  })
  return row
}
