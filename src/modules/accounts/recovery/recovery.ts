import { sql } from 'kysely'
import { revokeKeysOf } from '#modules/api-keys/service.ts'
import { writeAudit } from '#authz/audit.ts'
import { rightsChanged } from '#authz/rights.ts'
import type { Context, Engine } from '#infra/context.ts'
import type { JobHandler } from '#infra/jobs/jobs.ts'
import { canMail, sendMail } from '#infra/mail/mail.ts'
import { tokenMail } from '#infra/mail/token-mail.ts'
import { refuse } from '#core/errors.ts'
import { type Id, newId } from '#core/ids.ts'
import { identityStore } from '../identities/identity-store.ts'
import { passkeyStore } from '../passkeys/passkey-store.ts'
import { networkSubject, refundLogin, takeLogin, takeRecovery } from '../sign-in/attempts.ts'
import { challengeStore, makeChallenge, takeChallenge } from '../sign-in/challenges.ts'
import { hashPassword } from '../sign-in/password.ts'
import { startSession } from '../sign-in/sessions.ts'
import { type AccountRow, accountStore, sessionStore } from '../store.ts'
import type { EarlierDoors, HasDoors } from './doors.ts'

const LINK_SECONDS = 3_600
/** Minimum time between two emails, so no mailbox is flooded. */
const PAUSE_MS = 300_000

interface RecoveryJob {
  id: string
  /** Sealed, because jobs are stored. */
  email: string
}

/** A job looks up the account, so the response and its timing are the same for every address. */
export async function requestRecovery(ctx: Context, email: string): Promise<void> {
  if (!canMail(ctx.engine))
    refuse('not_ready', { message: 'This server can’t send email. Its administrator can set SMTP_URL.' })
  await takeRecovery(ctx)
  const id = newId()
  const job: RecoveryJob = { id, email: ctx.engine.secrets.seal(email, id) }
  await ctx.engine.jobs.add(ctx, 'accounts.recover', { ...job })
}

export const recoveryJobs = (engine: Engine): Record<string, JobHandler> => ({
  async 'accounts.recover'({ id, email: sealedEmail }: RecoveryJob) {
    const email = engine.secrets.open(sealedEmail, id)
    await engine.postgres.db.transaction().execute(async (db) => {
      const account = await accountStore.byEmail(db, email)
      if (!account || !mayRecover(account)) return
      // Serializes an account's jobs, so the second sees the first email.
      await sql`select pg_advisory_xact_lock(7520203, hashtext(${account.id}))`.execute(db)
      const since = new Date(Date.now() - PAUSE_MS)
      if ((await challengeStore.count(db, 'recovery', account.id, since)) > 0) return
      await challengeStore.forget(db, 'recovery', account.id)
      const ctx = { db, engine, now: () => new Date() }
      const { token } = await makeChallenge(ctx, 'recovery', { accountId: account.id, seconds: LINK_SECONDS })
      await sendMail({ engine, db }, recoveryMail(account, `${engine.origin()}/app/recovery#token=${token}`, token))
    })
  },
})

/**
 * False if only the identity provider admitted the account with an unverified address, which may belong to someone
 * else.
 */
const mayRecover = ({ email_verified_at, password_hash, administrator }: AccountRow): boolean =>
  email_verified_at !== null || password_hash !== null || administrator

const recoveryMail = ({ email }: AccountRow, link: string, token: string) =>
  tokenMail({
    to: email,
    subject: 'Reset your password',
    intro: 'We received a request to reset the password of your account.',
    open: { words: 'Reset password', link },
    command: 'uk ways-in recover',
    token,
    further: [
      'The link can be used once and expires in 1 hour. Resetting your password signs out all your sessions. If you didn’t ask for this, ignore this email. Your password hasn’t changed.',
    ],
  })

export async function recover(ctx: Context<HasDoors>, token: string, password: string): Promise<AccountRow> {
  const subjects = [networkSubject(ctx)]
  await takeLogin(ctx, subjects)
  const password_hash = await hashPassword(password)
  const account = await ctx.transaction(async (ctx) => {
    const challenge = await takeChallenge(ctx, 'recovery', token)
    if (challenge?.accountId == null)
      return refuse('link_expired', {
        message: 'This link was already used or has expired. Request a new one.',
      })
    const { email_verified_at, administrator } = await accountStore.lock(ctx.db, challenge.accountId)
    const first = email_verified_at === null && !administrator
    const earlierDoors = first ? await endEarlierWays(ctx, challenge.accountId) : null
    const row = await accountStore.setPassword(ctx.db, challenge.accountId, password_hash)
    await sessionStore.endOthers(ctx.db, row.id, null)
    await rightsChanged(ctx.db, [row.id])
    const owner = { ...ctx, principal: { ...ctx.principal, accountId: row.id } }
    await writeAudit(owner, {
      action: 'account.recovered',
      workspaceId: null,
      subject: { type: 'account', id: row.id },
      details: { first, ...earlierDoors },
    })
    await ctx.emit({
      type: 'account.recovered',
      channels: [`user:${row.id}`],
      resource: { type: 'account', id: row.id },
      data: { id: row.id, first, ...earlierDoors },
    })
    await startSession(ctx, row.id)
    return row
  })
  await ctx.engine.rights.refresh()
  await refundLogin(ctx, subjects)
  return account
}

/**
 * Removes passkeys, identities, keys and shares created before the address was verified: someone else may have created
 * the account to wait for its owner.
 */
async function endEarlierWays(ctx: Context<HasDoors>, accountId: Id): Promise<EarlierDoors> {
  await passkeyStore.removeAll(ctx.db, accountId)
  await identityStore.removeAll(ctx.db, accountId)
  const keys = await revokeKeysOf(ctx, accountId)
  await sql`delete from push_subscriptions where account_id = ${accountId}`.execute(ctx.db)
  const { closed, to_review } = await ctx.engine.closeEarlierDoors(ctx, accountId)
  return { closed: { ...(keys > 0 && { keys }), ...closed }, to_review }
}
