import { writeAudit } from '#authz/audit.ts'
import { type Context, implement } from '#infra/context.ts'
import { every } from '#infra/jobs/schedules.ts'
import type { Db } from '#infra/postgres/client.ts'
import { retainRightsChanges, rightsChanged } from '#authz/rights.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { fromUsd, nanoOrNull, toUsd } from '#core/money.ts'
import { cursorOf, pageOf, positionOf } from '#core/paging.ts'
import { isTimeZone, iso } from '#core/time.ts'
import { emailSubject, networkSubject, refundLogin, takeLogin, takeSignUp } from './sign-in/attempts.ts'
import { admin, auth, me, settings } from './contract.ts'
import { findAccount, accountsForAdmin } from './credits/admin-accounts.ts'
import { answerRequest, listRequests, ownRequests, requestCredits } from './credits/credit-requests.ts'
import { challengeStore } from './sign-in/challenges.ts'
import { createAccount, requireInvitation } from './sign-in/join.ts'
import { hashPassword, passwordMatches } from './sign-in/password.ts'
import { requireProof, sessionId } from './sign-in/proof.ts'
import { MAX_SESSIONS, SESSION_IDLE_SECONDS, SESSION_MAX_SECONDS, startSession } from './sign-in/sessions.ts'
import { isSetupToken, spendSetupToken } from './sign-in/setup.ts'
import { showAccount, showSession, showSettings } from './show.ts'
import { type AccountRow, accountStore, loginStore, sessionStore } from './store.ts'
import { usageHistory, usageSummary } from './usage.ts'

export { networkSubject as ofNetwork, refundLogin, takeLogin } from './sign-in/attempts.ts'

export const authService = implement(auth, {
  async sign_up(ctx, { email, password, name, setup_token, invitation_token }) {
    await takeSignUp(ctx)
    const password_hash = await hashPassword(password)
    const account = await ctx.transaction(async (ctx) => {
      const first = await accountStore.lockFirst(ctx.db)
      if (first) {
        if (!ctx.caller.loopback && !(setup_token && (await isSetupToken(ctx.db, setup_token))))
          refuse('setup_required')
        await spendSetupToken(ctx)
      } else if (ctx.engine.config.signUp === 'invite') {
        await requireInvitation(ctx, invitation_token, email)
      }
      const row = await createAccount(ctx, { email, verified: false, name, passwordHash: password_hash, first })
      await startSession(ctx, row.id)
      return row
    })
    return showAccount(account)
  },

  async sign_in(ctx, { email, password }) {
    const subjects = [networkSubject(ctx), emailSubject(email)]
    await takeLogin(ctx, subjects)
    const account = await accountStore.byEmail(ctx.db, email)
    if (!(await passwordMatches(account?.password_hash ?? null, password))) refuse('invalid_credentials')
    await refundLogin(ctx, subjects)
    await startSession(ctx, account!.id)
    return showAccount(account!)
  },

  async sign_out(ctx) {
    await endSession(ctx, sessionId(ctx))
    ctx.answer.session = null
  },

  async session(ctx) {
    const session = await sessionStore.get(ctx.db, ctx.principal.accountId, sessionId(ctx))
    return showSession(session ?? refuse('session_expired'), await present(ctx), sessionId(ctx))
  },

  async sessions(ctx, { cursor, limit }) {
    const { accountId } = ctx.principal
    const before = positionOf('sessions', accountId, cursor)
    const rows = await sessionStore.list(ctx.db, accountId, (before?.[0] as string) ?? null, limit + 1)
    const account = await present(ctx)
    return pageOf(
      rows,
      limit,
      ({ id }) => cursorOf('sessions', accountId, [id]),
      (row) => showSession(row, account, sessionId(ctx)),
    )
  },

  async end_session(ctx, { id }) {
    if (!(await endSession(ctx, id))) refuse('not_found', { param: 'id' })
    if (id === sessionId(ctx)) ctx.answer.session = null
    return { id }
  },

  async change_password(ctx, { current_password, new_password }) {
    const account = await present(ctx)
    if (account.password_hash === null) await requireProof(ctx)
    else {
      if (current_password === undefined)
        refuse('missing_parameter', { param: 'current_password', message: '`current_password` is required.' })
      const subjects = [emailSubject(account.email)]
      await takeLogin(ctx, subjects)
      if (!(await passwordMatches(account.password_hash, current_password)))
        refuse('invalid_credentials', { param: 'current_password', message: 'The current password is wrong.' })
      await refundLogin(ctx, subjects)
    }
    const updatedAccount = await setPassword(ctx, account.id, new_password, sessionId(ctx))
    return showAccount(updatedAccount)
  },
})

export const meService = implement(me, {
  async usage(ctx, { view, ...filters }) {
    return view === 'history' ? usageHistory(ctx, filters) : usageSummary(ctx, await present(ctx))
  },
  get: async (ctx) => showAccount(await present(ctx)),
  request_credits: requestCredits,
  credit_requests: ownRequests,
  async limits(ctx) {
    const account = await present(ctx)
    return {
      id: account.id,
      created_at: iso(account.created_at),
      tier: account.tier,
      limits: ctx.limits(),
      session: { idle_seconds: SESSION_IDLE_SECONDS, max_seconds: SESSION_MAX_SECONDS, max_sessions: MAX_SESSIONS },
    }
  },
})

export const settingsService = implement(settings, {
  get: async (ctx) => showSettings(await present(ctx)),
  async update(ctx, changes) {
    if (changes.time_zone && !isTimeZone(changes.time_zone))
      refuse('invalid_time_zone', {
        param: 'time_zone',
        message: `\`${changes.time_zone}\` isn’t an IANA time zone, such as Europe/Berlin.`,
      })
    return ctx.transaction(async (ctx) => {
      const row =
        (await accountStore.mergeSettings(ctx.db, ctx.principal.accountId, changes, ctx.unchangedSince)) ??
        refuse('precondition_failed')
      await ctx.emit({
        type: 'settings.updated',
        channels: [`user:${row.id}`],
        resource: { type: 'account', id: row.id },
        data: { ...changes },
      })
      return showSettings(row)
    })
  },
})

export const adminService = implement(admin, {
  async accounts(ctx, { q, cursor, limit }) {
    requireAdministrator(ctx)
    return accountsForAdmin(ctx, { q, cursor, limit })
  },
  async credits(ctx, { id: accountRef, amount_usd, note }) {
    requireAdministrator(ctx)
    const { id } = await findAccount(ctx, accountRef)
    return ctx.transaction(async (ctx) => {
      const balance = await ctx.engine.ledger.grant(ctx.db, id, fromUsd(amount_usd), note, ctx.principal.accountId)
      await ctx.emit({
        type: 'credits.granted',
        channels: [`user:${id}`],
        resource: { type: 'account', id },
        data: { amount_usd, note },
      })
      return { id, created_at: iso(ctx.now()), account_id: id, balance_usd: toUsd(balance) }
    })
  },
  credit_requests(ctx, { status, cursor, limit }) {
    requireAdministrator(ctx)
    return listRequests(ctx, { accountId: null, status, cursor, limit })
  },
  grant_request(ctx, { id, amount_usd, note }) {
    requireAdministrator(ctx)
    return answerRequest(ctx, id, { status: 'granted', amount_usd, note })
  },
  refuse_request(ctx, { id, note }) {
    requireAdministrator(ctx)
    return answerRequest(ctx, id, { status: 'refused', note })
  },
  async refund(ctx, { id, amount_usd, note }) {
    requireAdministrator(ctx)
    // A call that just ended may not be recorded yet.
    await ctx.engine.ledger.flush()
    return ctx.transaction(async (ctx) => {
      const by = ctx.principal.accountId
      const back = await ctx.engine.ledger.refund(ctx.db, id, nanoOrNull(amount_usd), note, by)
      const { accountId, workspaceId, amount, refunded, charged, balance } = back
      await writeAudit(ctx, {
        action: 'call.refunded',
        workspaceId,
        subject: { type: 'call', id },
        details: { account_id: accountId, amount_usd: toUsd(amount), refunded_usd: toUsd(refunded), note },
      })
      await ctx.emit({
        type: 'call.refunded',
        channels: [`user:${accountId}`],
        resource: { type: 'call', id },
        data: { call_id: id, amount_usd: toUsd(amount), note },
      })
      return {
        id,
        created_at: iso(ctx.now()),
        account_id: accountId,
        amount_usd: toUsd(amount),
        charged_usd: toUsd(charged),
        refunded_usd: toUsd(refunded),
        balance_usd: toUsd(balance),
      }
    })
  },
})

export const accountSchedules = ({ postgres: { db } }: Pick<Context['engine'], 'postgres'>) => [
  every('accounts.retain', 3_600, async () => {
    await sessionStore.retain(db, SESSION_IDLE_SECONDS)
    await loginStore.retain(db)
    await challengeStore.retain(db)
    await retainRightsChanges(db)
  }),
]

/** Ends every session except `keep`. */
export const setPassword = async (
  ctx: Context,
  accountId: string,
  password: string,
  keep: string | null,
): Promise<AccountRow> => {
  const password_hash = await hashPassword(password)
  const updatedRow = await ctx.transaction(async (ctx) => {
    // Revokes earlier recovery links.
    await challengeStore.forget(ctx.db, 'recovery', accountId)
    const row = await accountStore.setPassword(ctx.db, accountId, password_hash)
    await sessionStore.endOthers(ctx.db, accountId, keep)
    await rightsChanged(ctx.db, [accountId])
    return row
  })
  await ctx.engine.rights.refresh()
  return updatedRow
}

export const callersAccount = (ctx: Context): Promise<AccountRow> => present(ctx)

/** Marks the address as verified and grants promised credits. Idempotent. */
export const verifyEmail = (ctx: Context, accountId: string): Promise<void> =>
  ctx.transaction(async (ctx) => {
    const promisedCredits = await accountStore.verifyEmail(ctx.db, accountId)
    if (promisedCredits !== null) await ctx.engine.ledger.grant(ctx.db, accountId, promisedCredits, 'sign-up', null)
  })

export interface Person {
  id: Id
  name: string
  email: string
  mailable: boolean
  time_zone: string | null
}

const showPerson = ({ id, name, email, email_verified_at, administrator, settings }: AccountRow): Person => ({
  id,
  name,
  email,
  mailable: email_verified_at !== null || administrator,
  time_zone: (settings as { time_zone?: string | null }).time_zone ?? null,
})

export async function personOf(db: Db, id: Id): Promise<Person | null> {
  const row = await accountStore.get(db, id)
  return row ? showPerson(row) : null
}

/** Only for a verified address. */
export async function personBehind(db: Db, email: string): Promise<Person | null> {
  const row = await accountStore.byEmail(db, email)
  return row && row.email_verified_at !== null ? showPerson(row) : null
}

async function present(ctx: Context): Promise<AccountRow> {
  return (await accountStore.get(ctx.db, ctx.principal.accountId)) ?? refuse('session_expired')
}

export async function endSession(ctx: Context, id: string): Promise<boolean> {
  const hasEnded = await ctx.transaction(async (ctx) => {
    await rightsChanged(ctx.db, [ctx.principal.accountId])
    return sessionStore.end(ctx.db, ctx.principal.accountId, id)
  })
  await ctx.engine.rights.refresh()
  return hasEnded
}

function requireAdministrator({ principal }: Context): void {
  if (!principal.administrator)
    refuse('insufficient_role', { message: 'Only an administrator of this instance can do this.' })
}
